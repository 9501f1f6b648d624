// Who runs the lists: the caller at once (inline), the caller whenever it looks (polled), or a
// thread beside it. Same list, same bytes, whoever runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/executors/run.h"
#include "collectives/executors/transport.h"

namespace scela::collectives {

// Runs that an adapter was given. A run that was not posted whole when it was started needs steps
// of this process before it is over.
struct PostedRuns {
  std::uint64_t all = 0;
  std::uint64_t connecting = 0;  // not posted whole: peers, its own or those of one before it, were
                                 // not connected yet
  std::uint64_t in_parts = 0;    // not posted whole: the queues do not hold so much
};

class Executor {
 public:
  using Limit = Transport::Limit;

  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  // Its runs are over.
  virtual ~Executor() = default;

  virtual std::string_view name() const = 0;  // "inline", "polled", "thread", "engine"
  // A run that was bound. It is the executor's until it is over.
  virtual void start(Run& run) = 0;
  // The same of a caller who waits for it: it is over when this returns.
  virtual void run(Run& run);
  // Moves whatever the caller has to move. Whether it is over.
  virtual bool test(Run& run) = 0;
  // The index of one that is over; runs.size(): none before the limit, or there is none. Null
  // entries are passed over.
  virtual std::size_t wait_any(std::span<Run* const> runs, Limit limit = {}) = 0;
  // Moves whatever the caller has to move.
  virtual void progress() = 0;
  // For a wait for more than its runs (waits.h): adds messages of which one is over when progress()
  // has something to do, or when a run has ended that was not over before this call. They are good
  // until the executor's next call. False: it cannot say; then a wait looks now and then.
  virtual bool add_requests(std::vector<channel::Request*>&) { return false; }
  // Ends it with this fault, unless it is over: wait for that. Others may wait for this rank then;
  // where they are to be told instead, a run's own failure does that (run.h).
  virtual void cancel(Run& run, Fault why) = 0;
  // This rank cannot go on in this context, and the others do not know how to: all operations of
  // these ranks in it end with that fault, those that are started later too.
  virtual void give_up(const GivenUp& what, std::span<const int> ranks) = 0;
  // Null: this context is not known to be given up. What it points to stays.
  virtual const GivenUp* given_up(ContextId context) const = 0;
  // This rank begins nothing more in this context than what.begun operations: who begins more
  // would wait for it. The next of these ranks is told, and gives the context up if it goes on.
  virtual void leave(const GivenUp& what, std::span<const int> ranks) = 0;
  // An operation of this context that somebody else runs, the one with this number: it is not
  // begun either by a rank that has left. Its kind as Call has it: others that wait for long may
  // have begun another one.
  virtual void count(ContextId context, std::uint64_t number, std::span<const int> ranks,
                     std::uint16_t kind) = 0;
  // No more runs of this context are started: what was kept for it goes when the last is over.
  virtual void forget(ContextId context) = 0;
  // Of an adapter, for the runs of this context.
  virtual std::size_t queue_pairs(ContextId) const { return 0; }
  virtual PostedRuns posted(ContextId) const { return {}; }
  // For people: where it runs.
  virtual std::string describe() const = 0;

  // False: not over before the limit.
  virtual bool wait(Run& run, Limit limit);
  bool wait(Run& run) { return wait(run, {}); }
};

}  // namespace scela::collectives
