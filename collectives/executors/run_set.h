// A RunSet has the runs that one thread moves over one transport. The polled executor and the
// progress thread use it. Two threads must not use it at once.
//
// A run may fail because a rank has ended or was called with something else than this rank. Then
// other operations of the context may wait as well. Other ranks have begun operations that this
// rank never will. A rank that exchanges no message with the one at fault waits for this rank. So
// the context is given up. All its ranks are told, and all its runs fail with the same rank's name,
// later ones included. No message of the context is received any more.
//
// A rank that frees its communicator tells only the next rank how many operations it has begun in
// the context. The next rank notices if it begins more itself. It then gives the context up, except
// for the operations that all ranks have begun. If it does not begin more, it tells the next rank
// when it frees its own communicator. So a rank that goes on alone is found. If all ranks of a
// program free, each sends one message, and no rank waits for it.
//
// If this process has no memory for a run, the run ends here and its context is given up likewise.
//
// Ranks that call different operations may each wait for a message that the others do not send, and
// no rank would report it. So a rank with a run that waits for long tells the next rank the kind of
// the operation. That rank compares it with the operation of the same number that it has begun or
// will begin.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "collectives/executors/run/run.h"
#include "collectives/executors/run/transport.h"
#include "collectives/executors/run_contexts.h"
#include "common/core/spare_memory.h"

namespace scela::collectives {

class RunSet final : public RunContexts {
 public:
  explicit RunSet(Transport& transport);

  // Begins the run, and lets it progress as far as it can. With Caller::waits the caller waits for
  // this run now, so that each of its messages may be waited for briefly.
  enum class Caller : bool { goes_on, waits };
  void add(Run& run, Caller caller = Caller::goes_on);
  // Lets each run progress as far as it can. Returns true if a run has ended. Never blocks.
  bool advance();
  // Blocks until a run may progress, the transport is woken or the limit is over. Returns false if
  // the limit is over. It may return true although the runs cannot progress.
  bool wait(Transport::Timeout limit);
  // Blocks like wait() without a limit, if no thread calls the transport's wake().
  void wait_undisturbed();
  // Adds the messages that wait() would wait for. Returns false if they cannot be named
  // (Transport::add_requests).
  bool add_requests(std::vector<Request*>& all);
  // Cancels a run of this set (Run::cancel); does nothing if the set does not have it.
  void cancel(Run& run, Fault why);
  void give_up(const AbortedContext& what, std::span<const int> ranks) override {
    give_up(what, ranks, nullptr);
  }
  const AbortedContext* given_up(ContextId context) const override;
  // Returns all contexts that are given up, the latest at the end.
  const std::deque<AbortedContext>& all_given_up() const { return given_up_; }
  void leave(const AbortedContext& what, std::span<const int> ranks) override;
  void count(ContextId context, std::uint64_t number, std::span<const int> ranks,
             std::uint16_t kind) override;
  void forget(ContextId context) override;
  bool empty() const { return count_ == 0; }
  // Returns true if advance() must be called now and then, even if there is no run.
  bool drops() const { return !given_up_.empty(); }

 private:
  // The ranks of a context, as its runs number them, and the operations begun in it.
  struct Group {
    ContextId context = 0;
    std::vector<int> ranks;
    std::uint64_t begun = 0;  // operations
    // The kinds of the last 64 operations, by number modulo 64; 0: the kind is not known.
    std::array<std::uint16_t, 64> kinds{};

    // Returns the kind of an operation, or 0 if it was not begun or is not remembered.
    std::uint16_t kind_of(std::uint64_t number) const;
  };

  // Does the work of add(). Throws std::bad_alloc if there is no memory for the run.
  void begin(Run& run, Caller caller);
  // Lets a run progress, and gives its context up if it has failed for all. Returns false if the
  // run is over and belongs to its owner again.
  bool get_on(Run& run);
  // Does what Run::advance() does. Returns false as well if there is no memory for the run.
  bool advance(Run& run, Run::Ends* ends);
  // Cancels the run, which belongs to its owner again, and gives up its context.
  void has_no_memory_for(Run& run);
  // Fills tickets_ with what the first runs wait for. These are fewer than all if there are many.
  void gather_tickets();
  // Lets the run at this index of runs_ progress. Returns true if it has ended now.
  bool look_at(std::size_t place);
  // Looks at a limited number of runs from index `from` on, and moves `from` behind them. Returns
  // true if one of them has ended.
  bool look_at_some(std::size_t& from);
  // Removes the null entries of runs_.
  void pack();
  // Returns the group of a context, which it makes if there is none. The oldest group may be
  // dropped for it.
  Group& remember(ContextId context, std::span<const int> ranks);
  // Takes all words that the transport has received, and acts on them.
  void hear();
  // Returns how many operations this rank has begun in the context, as far as that is remembered.
  std::uint64_t begun_in(ContextId context) const;
  // Notes that number for a context that loses its group.
  void keep_begun(ContextId context, std::uint64_t begun);
  // Tells the transport to drop the contexts that are given up and have no operations left. It does
  // not touch `over`, a run that belongs to its owner again.
  void drop(const Run* over);
  // Keeps the word that the rank before this one has left, and gives the context up if this rank
  // has begun more operations.
  void heard_of_one_that_left(const AbortedContext& what);
  // Compares another rank's operation with this rank's of the same number. If the kinds differ, the
  // context is given up.
  void compare(const Group& group, const AbortedContext& what);
  // Tells the next rank of the runs that have waited for long. It does so now and then only.
  void ask_for_stalled();
  // Gives up the context, but does not touch `over`, a run that belongs to its owner again.
  void give_up(const AbortedContext& what, std::span<const int> peers, const Run* over);
  // Abandons the run (Run::abandon), unless it is one that goes on in a context given up.
  static void abandon(Run& run, const AbortedContext& what);

  Transport& transport_;
  // The runs in the order in which they were begun. An entry is null if its run is over.
  std::vector<Run*> runs_;
  std::size_t count_ = 0;      // entries that are not null
  std::size_t first_ = 0;      // all entries before it are null
  std::size_t cursor_ = 0;     // where the next look goes on
  std::vector<Group> groups_;  // the last was used last
  // The operations begun in contexts that have no group any more. UINT64_MAX means that no more can
  // follow.
  std::map<ContextId, std::uint64_t> begun_before_;
  std::deque<AbortedContext> given_up_;
  std::vector<AbortedContext> undropped_;      // of their contexts messages still come
  std::map<ContextId, AbortedContext> left_;   // sent by the rank before this one
  std::map<ContextId, AbortedContext> calls_;  // operations not begun here yet
  std::chrono::nanoseconds looked_{};          // last look for stalled runs
  Run::Ends ends_;                             // of the run that progresses
  std::vector<Transport::Ticket> tickets_;     // of a wait
  SpareMemory spare_;
  std::uint32_t unheard_ = 0;  // runs begun without a call of hear()
};

}  // namespace scela::collectives
