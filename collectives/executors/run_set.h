// The runs that one thread moves, over one transport.
//
// A run that fails for a rank that has ended, or was called otherwise than this one, may not be all
// that waits for it: others have begun what this rank never will, and a rank that has no message
// with the one at fault waits for it. So its context is given up: all its ranks are told, all its
// runs fail with the same name, those that are begun later too, and nothing of it is received any
// more.
//
// A rank that frees its communicator tells only the next rank how many operations it has begun in
// the context. That one knows when it begins more itself: the context is given up then, but for the
// operations that all have begun. If it does not, it tells the next when it frees its own. So
// a rank that goes on alone is found, and a program whose ranks all free sends one message a rank,
// for which no rank waits.
//
// A run for which this process has no memory ends here, and its context is given up likewise.
//
// Ranks that call different operations may each wait for a message that the others do not send, and
// none of them would hear of it. So a run that waits for long tells the next rank what it is: that
// rank compares it with what itself has begun, or will begin, as the same operation.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "collectives/executors/run.h"
#include "collectives/executors/transport.h"
#include "common/core/spare_memory.h"

namespace scela::collectives {

class RunSet {
 public:
  explicit RunSet(Transport& transport);

  // Begins it, and lets it get as far as it can. Of a caller who waits for it here and now: a while
  // may be waited for each of its messages.
  enum class Caller : bool { goes_on, waits };
  void add(Run& run, Caller caller = Caller::goes_on);
  // Lets each get as far as it can. Whether one has ended.
  bool advance();
  // Blocks until one may get on, or the transport is woken, or the limit is over: false then.
  bool wait(Transport::Limit limit);
  // The same without a limit, where nobody wakes the transport.
  void wait_undisturbed();
  // What wait() would wait for; false: it cannot be said (Transport::add_requests).
  bool add_requests(std::vector<channel::Request*>& all);
  // Of one that is there: Run::cancel().
  void cancel(Run& run, Fault why);
  // Nothing more can be done in this context, by these ranks: they are told.
  void give_up(const GivenUp& what, std::span<const int> peers) { give_up(what, peers, nullptr); }
  const GivenUp* given_up(ContextId context) const;
  // All that are, the last one last.
  const std::deque<GivenUp>& all_given_up() const { return given_up_; }
  // As Executor has them.
  void leave(const GivenUp& what, std::span<const int> ranks);
  void count(ContextId context, std::uint64_t number, std::span<const int> ranks,
             std::uint16_t kind = 0);
  void forget(ContextId context);
  bool empty() const { return count_ == 0; }
  // Whether somebody must call now and then, also where there is no run.
  bool drops() const { return !given_up_.empty(); }

 private:
  // The ranks of a context, as its runs have them.
  struct Group {
    ContextId context = 0;
    std::vector<int> ranks;
    std::uint64_t begun = 0;  // operations
    // Of the last of them, by their numbers modulo; 0: not known.
    std::array<std::uint16_t, 64> kinds{};

    std::uint16_t kind_of(std::uint64_t number) const;
  };

  void begin(Run& run, Caller caller);
  bool get_on(Run& run);
  bool advance(Run& run, Run::Ends* ends);
  void has_no_memory_for(Run& run);
  void gather_tickets();
  bool look_at(std::size_t place);
  bool look_at_some(std::size_t& from);
  void pack();
  Group& remember(ContextId context, std::span<const int> ranks);
  void hear();
  std::uint64_t begun_in(ContextId context) const;
  void keep_begun(ContextId context, std::uint64_t begun);
  void drop(const Run* over);
  void heard_of_one_that_left(const GivenUp& what);
  void compare(const Group& group, const GivenUp& what);
  void ask_for_stalled();
  // But of the one that is over: it is its owner's again.
  void give_up(const GivenUp& what, std::span<const int> peers, const Run* over);
  static void abandon(Run& run, const GivenUp& what);

  Transport& transport_;
  // In the order in which they were begun; null: one that was there is over.
  std::vector<Run*> runs_;
  std::size_t count_ = 0;      // of those that are not null
  std::size_t first_ = 0;      // before it all are null
  std::size_t cursor_ = 0;     // where the next look goes on
  std::vector<Group> groups_;  // the last that was used last
  // Operations begun in contexts that are no group any more: UINT64_MAX where no more can follow.
  std::map<ContextId, std::uint64_t> begun_before_;
  std::deque<GivenUp> given_up_;
  std::vector<GivenUp> undropped_;      // of whose contexts something is received yet
  std::map<ContextId, GivenUp> left_;   // by context: the one before this rank
  std::map<ContextId, GivenUp> calls_;  // what it waits in, where this rank has not begun it yet
  std::chrono::nanoseconds looked_{};   // for runs that wait for long
  Run::Ends ends_;                      // of the run that gets on
  std::vector<Transport::Ticket> tickets_;  // of a wait
  SpareMemory spare_;
  std::uint32_t unheard_ = 0;  // runs whose caller waits, since hear()
};

}  // namespace scela::collectives
