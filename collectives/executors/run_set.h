// A RunSet has the runs (run/run.h) that one thread moves over one transport. The polled executor
// and the progress thread each have one. Two threads must not use it at once. A "context" is a
// communicator, known by its ContextId (run/message_transport.h).
//
// A run may fail because a rank has ended or was called with something else than this rank. Then
// other operations of the context may wait for ever as well: other ranks have begun operations that
// this rank will not begin, and a rank that exchanges no message with the rank at fault waits for
// this rank. So the context is given up. This rank tells all ranks of it. All its runs fail with
// the name of the same rank, later ones included. No message of the context is received any more.
//
// A rank that frees its communicator sends a notice (AbortedContext) to the next rank only: how
// many operations it has begun in the context. If the next rank begins more itself, it gives the
// context up, except for the operations that all ranks have begun. If it does not, it sends such a
// notice to the rank behind it when it frees its own communicator. So a rank that goes on alone is
// found. If all ranks of a program free, each sends one message, and no rank waits for it.
//
// If this process has no memory for a run, the run ends here and its context is given up likewise.
//
// Ranks that call different operations may each wait for a message that the others do not send, and
// no rank would report it. So a rank with a run that waits for more than a quarter of a second
// sends the kind (Call::kind) and number of the operation to the next rank. That rank compares it
// with the operation of the same number that it has begun or will begin.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "collectives/executors/run/message_transport.h"
#include "collectives/executors/run/run.h"
#include "collectives/executors/run_contexts.h"
#include "common/core/spare_memory.h"

namespace scela::collectives {

class RunSet final : public RunContexts {
 public:
  // The transport must outlive the set and the messages of its runs.
  explicit RunSet(Transport& transport);

  // Says what the caller of add() does next: it goes on with other work, or it waits for this run,
  // so that each of its messages may be waited for briefly.
  enum class Caller : bool { goes_on, waits };
  // Begins a run that was bound, and carries out its steps as far as possible. With Caller::waits
  // it may block for up to 50 ms for each message of a short run. The run may be over on return.
  // Otherwise it belongs to the set until it is over. If memory is exhausted, the run ends with
  // that error.
  void add(Run& run, Caller caller = Caller::goes_on);
  // Acts on notices of other ranks, and carries out the steps of the runs as far as possible. If
  // there are more than 32 runs, only some of them are tried in each call. Returns true if a run
  // has ended. Never blocks.
  bool advance();
  // Blocks until a run may progress, the transport is woken (Transport::wake), or the time `limit`
  // has passed. Returns false in the last case. It may return true although no run can progress, so
  // the caller calls advance() and waits again. Each call blocks for 250 ms at most.
  bool wait(Transport::Timeout limit);
  // Blocks like wait() without a limit. The caller promises that no thread calls the transport's
  // wake().
  void wait_undisturbed();
  // Appends the channel's requests that wait() would wait for. Returns false if the transport has
  // none to name (Transport::add_requests), or if there are more than 32 runs.
  bool add_requests(std::vector<Request*>& all);
  // Ends a run of this set with the fault `why` (Run::cancel), and removes it. Does nothing if the
  // set does not have the run.
  void cancel(Run& run, Fault why);
  // These two, and leave(), count() and forget(), do what RunContexts (run_contexts.h) says.
  void give_up(const AbortedContext& what, std::span<const int> ranks) override {
    give_up(what, ranks, nullptr);
  }
  const AbortedContext* given_up(ContextId context) const override;
  // Returns all contexts that are given up, the latest at the end.
  const std::deque<AbortedContext>& all_given_up() const { return given_up_; }
  // Sends the notice to the next rank of the context (RunContexts).
  void leave(const AbortedContext& what, std::span<const int> ranks) override;
  // Counts an operation that this set does not run (RunContexts).
  void count(ContextId context, std::uint64_t number, std::span<const int> ranks,
             std::uint16_t kind) override;
  // Forgets the context, in which no more runs are started (RunContexts).
  void forget(ContextId context) override;
  // Returns true if no run is under way.
  bool empty() const { return count_ == 0; }
  // Returns true if a context is given up. The owner must then call advance() now and then even if
  // there is no run, so that messages of the context are thrown away.
  bool drops() const { return !given_up_.empty(); }

 private:
  // The ranks of a context, and the operations that this rank has begun in it.
  struct Group {
    ContextId context = 0;
    std::vector<int> ranks;   // all, as the transport numbers them
    std::uint64_t begun = 0;  // number of operations begun
    // The kinds of the last 64 operations, by number modulo 64; 0: the kind is not known.
    std::array<std::uint16_t, 64> kinds{};

    // Returns the kind of an operation, or 0 if it was not begun or is not remembered. Operations
    // are numbered from 0.
    std::uint16_t kind_of(std::uint64_t number) const;
  };

  // Does the work of add(). Throws std::bad_alloc if there is no memory for the run.
  void begin(Run& run, Caller caller);
  // Carries out a run's steps as far as possible. If the run has failed so that its context cannot
  // go on, gives the context up. Returns false if the run is over and belongs to its owner again.
  bool get_on(Run& run);
  // Calls Run::advance(). If that finds no memory, ends the run and gives its context up. Returns
  // false if the run is over.
  bool advance(Run& run, Run::Ends* ends);
  // Ends a run for which memory is exhausted, and gives up its context. The run then belongs to its
  // owner again.
  void has_no_memory_for(Run& run);
  // Sets tickets_ to the messages for which the first 32 runs wait.
  void gather_tickets();
  // Carries out the steps of the run at this index of runs_ as far as possible. Returns true if it
  // has ended now.
  bool look_at(std::size_t place);
  // Calls look_at() for up to 32 runs from index `from` of runs_ on, and sets `from` to the index
  // behind them. Returns true if one of them has ended.
  bool look_at_some(std::size_t& from);
  // Removes the null entries of runs_.
  void pack();
  // Returns the group of a context, which it makes if there is none. At most 64 groups are kept:
  // the one that was used longest ago is dropped.
  Group& remember(ContextId context, std::span<const int> ranks);
  // Takes all notices that the transport has received, and acts on them.
  void hear();
  // Returns how many operations this rank has begun in the context, 0 if that is not remembered. If
  // no more can follow, returns UINT64_MAX.
  std::uint64_t begun_in(ContextId context) const;
  // Remembers how many operations were begun in a context that loses its group.
  void keep_begun(ContextId context, std::uint64_t begun);
  // Has the transport throw away all further messages of the contexts that are given up and have no
  // operation left that goes on. Does not touch `over`, a run that belongs to its owner again; it
  // may be null.
  void drop(const Run* over);
  // Keeps the notice that the rank before this one has left. Gives the context up if this rank has
  // begun more than what.begun operations there.
  void heard_of_one_that_left(const AbortedContext& what);
  // Compares the operation what.begun of another rank with this rank's of that number. If both
  // kinds are known and differ, gives the context up with that rank at fault.
  void compare(const Group& group, const AbortedContext& what);
  // Sends the next rank a notice for each run that has waited for long (Run::word_if_stalled). Does
  // so four times a second at most.
  void ask_for_stalled();
  // Does what RunContexts::give_up() says, but does not touch `over`, a run that belongs to its
  // owner again; it may be null.
  void give_up(const AbortedContext& what, std::span<const int> peers, const Run* over);
  // Abandons the run (Run::abandon), unless its number is below what.begun.
  static void abandon(Run& run, const AbortedContext& what);

  Transport& transport_;
  // The runs in the order in which they were begun. An entry is null if its run is over.
  std::vector<Run*> runs_;
  std::size_t count_ = 0;      // entries that are not null
  std::size_t first_ = 0;      // all entries before it are null
  std::size_t cursor_ = 0;     // index at which look_at_some() goes on
  std::vector<Group> groups_;  // the one used last is at the end
  // The operations begun in contexts that have no group any more. UINT64_MAX means that no more can
  // follow.
  std::map<ContextId, std::uint64_t> begun_before_;
  std::deque<AbortedContext> given_up_;
  std::vector<AbortedContext> undropped_;      // given up, not dropped yet
  std::map<ContextId, AbortedContext> left_;   // notices of the rank before this one
  std::map<ContextId, AbortedContext> calls_;  // about operations not begun here yet
  std::chrono::nanoseconds looked_{};          // time of the last look for stalled runs
  Run::Ends ends_;                             // of the run that is carried out
  std::vector<Transport::Ticket> tickets_;     // for which wait() waits
  SpareMemory spare_;                          // released when memory is exhausted
  std::uint32_t unheard_ = 0;                  // runs begun without a call of hear()
};

}  // namespace scela::collectives
