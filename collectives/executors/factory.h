// Makes the executors, and declares all that a caller needs to give them a run. Communicators and
// tests use it. Each function states the threads that may call the executor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "collectives/executors/executor.h"
#include "collectives/executors/looking.h"
#include "collectives/executors/run/plan.h"
#include "collectives/executors/run/reduction.h"
#include "collectives/executors/run/run.h"
#include "collectives/executors/run/run_pool.h"
#include "collectives/executors/run/transport.h"
#include "common/core/result.h"
#include "common/core/topology.h"

namespace scela {
class Channel;
}  // namespace scela

namespace scela::collectives {

// The names are "inline", "polled", "thread" and "engine". collectives/offload/factory.h makes the
// engine executor.
enum class ExecutorKind : std::uint8_t { at_once, polled, thread, engine };
std::string_view name_of(ExecutorKind kind);
std::optional<ExecutorKind> executor_kind_of(std::string_view name);

// The caller's thread moves all runs in each of its calls. One thread may call at a time.
std::unique_ptr<Executor> make_polled(std::unique_ptr<Transport> transport);
// The executor's start() returns when the run is over. Meanwhile the runs of `polled` progress as
// well, since other ranks may wait for those before they come to this run. One thread may call at a
// time.
std::unique_ptr<Executor> make_inline(Executor& polled);

// The processors of a node's ranks, by which idle cores are found for their threads.
struct ThreadPlacement {
  std::vector<CpuSet> ranks;  // in node order; empty: threads not bound
  std::size_t own = 0;        // index of this process in `ranks`
};
// A thread moves all runs, bound to the nearest idle core (P1; placement.h). Any thread may call.
// `transport` belongs to the thread; over a channel it needs Threads::multiple. `doorbell` belongs
// to the caller. It wakes a caller that waits for other messages besides (add_requests). If it is
// null, such a caller cannot be woken.
Result<std::unique_ptr<Executor>> make_thread(std::unique_ptr<Transport> transport,
                                              const ThreadPlacement& placement = {},
                                              std::unique_ptr<Transport> doorbell = nullptr);

// Makes a transport over a channel, and keeps the channel's state alive. Once the program has
// closed the channel, messages end with a fault that says so.
std::unique_ptr<Transport> make_channel_transport(Channel& channel);

}  // namespace scela::collectives
