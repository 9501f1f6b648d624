// An executor moves the runs of a communicator: it carries out their next steps. A Run (run/run.h)
// is one rank's part of one collective operation. It is over when it has completed, well or with an
// error. The executors differ in what moves the runs. The caller does so in start() (inline) or in
// each of its calls (polled). Otherwise a thread or an adapter's engine does it. The resulting
// bytes are the same for each of them. Communicators use executors.
//
// Only the thread executor may be called by several threads at once (factory.h).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/executors/run/message_transport.h"
#include "collectives/executors/run/run.h"
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

  // Returns "inline", "polled", "thread" or "engine".
  virtual std::string_view name() const = 0;
  // Starts a run that was bound (Run::bind). The caller must not touch the run until it is over.
  // The inline executor blocks until then; the others do not block.
  virtual void start(Run& run) = 0;
  // Starts the run and blocks until it is over. The run's error() says whether it went well.
  virtual void run(Run& run);
  // Carries out the possible steps of all runs that the caller has to move. Returns true if this
  // run is over. Never blocks.
  virtual bool test(Run& run) = 0;
  // Blocks until one of these started runs is over, and returns its index. Returns runs.size() if
  // none is over before the time `limit` has passed, or if all entries are null. Null entries are
  // passed over. Without a limit it waits for ever. All other runs that the caller has to move
  // progress as well.
  virtual std::size_t wait_any(std::span<Run* const> runs, Timeout limit = {}) = 0;
  // Carries out the possible steps of all runs that the caller has to move. Never blocks.
  virtual void progress() = 0;
  // Serves a wait for more than this executor's runs (comm-channel/include/request_body.h). Appends
  // requests of the channel to the vector. One of them completes when progress() has something to
  // do, or when a run ends that was not over before this call. The pointers are valid until the
  // executor's next call. Returns false if the executor cannot name such requests; the caller then
  // calls progress() periodically.
  virtual bool add_requests(std::vector<Request*>&) { return false; }
  // Ends a started run with the fault `why`, unless it is over. The run may end after the call
  // returns, so the caller then waits for it. This tells no other rank: ranks that need this rank's
  // messages may wait for ever. To have them told, let the run itself fail (run/run.h).
  virtual void cancel(Run& run, Fault why) = 0;
  // Returns what the executor keeps of the communicators of its runs. The object lives as long as
  // the executor.
  virtual RunContexts& contexts() = 0;
  // Returns a text for people that says where the runs are executed, such as "polled by the
  // caller".
  virtual std::string describe() const = 0;

  // Blocks until a started run is over. Returns false if it is not over before the time `limit` has
  // passed; the run goes on then. Without a limit it returns true.
  virtual bool wait(Run& run, Timeout limit);
  // Blocks until a started run is over.
  bool wait(Run& run) { return wait(run, {}); }
};

}  // namespace scela::collectives
