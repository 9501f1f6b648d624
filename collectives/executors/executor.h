// An executor moves the runs of a communicator. The caller moves them in start() (inline) or in
// each of its calls (polled), or a thread or an adapter's engine does it. The list and the bytes
// are the same for each of them. Communicators use it. Only the thread executor may be called by
// several threads at once (factory.h).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/executors/run/run.h"
#include "collectives/executors/run/transport.h"
#include "collectives/executors/run_contexts.h"

namespace scela::collectives {

class Executor {
 public:
  using Timeout = Transport::Timeout;

  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  // All runs must be over before the executor is destroyed.
  virtual ~Executor() = default;

  virtual std::string_view name() const = 0;  // "inline", "polled", "thread", "engine"
  // Starts a run that was bound. The run belongs to the executor until it is over.
  virtual void start(Run& run) = 0;
  // Starts the run and blocks until it is over.
  virtual void run(Run& run);
  // Moves all runs that the caller has to move. Returns true if this run is over. Never blocks.
  virtual bool test(Run& run) = 0;
  // Blocks until a run is over, and returns its index. Returns runs.size() if none is over before
  // the limit, or if all entries are null. Null entries are passed over.
  virtual std::size_t wait_any(std::span<Run* const> runs, Timeout limit = {}) = 0;
  // Moves all runs that the caller has to move. Never blocks.
  virtual void progress() = 0;
  // Serves a wait for more than this executor's runs (comm-channel/include/request_body.h). It adds
  // messages to the vector, of which one is over when progress() has something to do. One is also
  // over when a run has ended that was not over before this call. The messages are valid until the
  // executor's next call. Returns false if the executor cannot name them; the caller then looks now
  // and then.
  virtual bool add_requests(std::vector<Request*>&) { return false; }
  // Ends the run with this fault, unless it is over. The caller then waits for the run. Other ranks
  // may wait for this rank afterwards. If they are to be told instead, the run itself must fail
  // (collectives/executors/run/run.h).
  virtual void cancel(Run& run, Fault why) = 0;
  // Returns the contexts of the runs, which live as long as the executor.
  virtual RunContexts& contexts() = 0;
  // Returns text for people: where the runs are executed.
  virtual std::string describe() const = 0;

  // Blocks until the run is over. Returns false if it is not over before the limit.
  virtual bool wait(Run& run, Timeout limit);
  bool wait(Run& run) { return wait(run, {}); }
};

}  // namespace scela::collectives
