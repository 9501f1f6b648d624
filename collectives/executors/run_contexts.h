// The RunContexts of an executor are the communicators of its runs, each known by its ContextId
// (run/message_transport.h). The executor counts the operations that this rank has begun in each
// context, and knows whether the context is given up. A context that is given up is aborted on all
// its ranks: its operations end with one fault, and no message of it is received any more.
// Communicators use it by Executor::contexts(). The same threads may call it as the executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/executors/run/message_transport.h"

namespace scela::collectives {

// Counts of the runs of a context that an adapter was given. A run that was not posted whole at its
// start needs further calls of this process before it is over.
struct PostedRuns {
  std::uint64_t all = 0;         // all that were started
  std::uint64_t connecting = 0;  // not posted whole: peers not connected
  std::uint64_t in_parts = 0;    // not posted whole: the queues were full
};

// All functions may be called for a context in which no run was started yet.
class RunContexts {
 public:
  // Gives up the context what.context, because this rank cannot go on and the others do not know
  // its list. This rank tells `ranks`, all ranks of the context as the transport numbers them. All
  // operations in the context end with the fault of `what`, later ones included, but for the first
  // what.begun operations. Does not block. A later call for the context has an effect only if its
  // what.begun is 0 and that of the first was not.
  virtual void give_up(const AbortedContext& what, std::span<const int> ranks) = 0;
  // Returns why the context is given up, by this rank or by another. Returns null if it is not
  // known to be given up. The object that it points to stays valid as long as the executor.
  virtual const AbortedContext* given_up(ContextId context) const = 0;
  // Sends `what` to one rank: the next one behind what.rank, which is this rank, in `ranks`. If
  // what.about is About::left, this rank begins no more than what.begun operations in this context.
  // A rank that begins more would wait for it for ever, so if that next rank does, it gives the
  // context up. Does not block.
  virtual void leave(const AbortedContext& what, std::span<const int> ranks) = 0;
  // Counts an operation of this context that this executor does not run, such as an agreement.
  // `number` is how many operations this rank has begun in the context before. `kind` is as in
  // Call; 0 means that it is not known. The executor compares both with what other ranks tell: the
  // operations that they wait in, and how many they had begun when they left.
  virtual void count(ContextId context, std::uint64_t number, std::span<const int> ranks,
                     std::uint16_t kind) = 0;
  // Says that no more runs of this context are started. The data kept for it is freed once its last
  // run is over.
  virtual void forget(ContextId context) = 0;
  // Returns the number of queue pairs that an adapter has for this context, or 0.
  virtual std::size_t queue_pairs(ContextId /*context*/) const { return 0; }
  // Returns the counts for this context. They are 0 if no adapter runs its operations.
  virtual PostedRuns posted(ContextId /*context*/) const { return {}; }

 protected:
  RunContexts() = default;
  RunContexts(const RunContexts&) = default;
  RunContexts& operator=(const RunContexts&) = default;
  ~RunContexts() = default;
};

}  // namespace scela::collectives
