// The runs that one thread moves, over one transport.
//
// A run that fails for a rank that has ended may not be all that waits for it: others have begun
// what this rank never will, and it is waited for by who has no message with the dead. So its
// context is given up: all its ranks are told, all its runs fail with the same name, those that are
// begun later too, and nothing of it is received any more.
//
// A rank that frees its communicator tells only the next rank how many operations it has begun in
// the context. That one knows when it begins more itself: the context is given up then, but for the
// operations that all have begun. If it does
// not, it tells the next when it frees its own. So whoever goes on alone is found, and a program
// whose ranks all free sends one message a rank, without anybody waiting for one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "collectives/executors/run.h"
#include "collectives/executors/transport.h"

namespace scela::collectives {

class RunSet {
 public:
  explicit RunSet(Transport& transport) : transport_(transport) {}

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
  const GivenUp* given_up(std::uint32_t context) const;
  // All that are, the last one last.
  const std::deque<GivenUp>& all_given_up() const { return given_up_; }
  // As Executor has them.
  void leave(const GivenUp& what, std::span<const int> ranks);
  void count(std::uint32_t context, std::uint64_t number, std::span<const int> ranks);
  void forget(std::uint32_t context);
  bool empty() const { return runs_.empty(); }
  // Whether somebody must call now and then, also where there is no run.
  bool drops() const { return !given_up_.empty(); }

 private:
  // The ranks of a context, as its runs have them.
  struct Group {
    std::uint32_t context = 0;
    std::vector<int> ranks;
    std::uint64_t begun = 0;  // operations
  };

  bool get_on(Run& run);
  Group& remember(std::uint32_t context, std::span<const int> ranks);
  void hear();
  void drop(const Run* over);
  void heard_of_one_that_left(const GivenUp& what);
  // But of the one that is over: it is its owner's again.
  void give_up(const GivenUp& what, std::span<const int> peers, const Run* over);
  static void abandon(Run& run, const GivenUp& what);

  Transport& transport_;
  std::vector<Run*> runs_;
  std::vector<Group> groups_;  // the last that was used last
  std::deque<GivenUp> given_up_;
  std::vector<GivenUp> undropped_;          // of whose contexts something is received yet
  std::map<std::uint32_t, GivenUp> left_;   // by context: the one before this rank
  Run::Ends ends_;                          // of the run that gets on
  std::vector<Transport::Ticket> tickets_;  // of a wait
  std::uint32_t unheard_ = 0;               // runs of callers who wait
};

}  // namespace scela::collectives
