// The executors there are, and all that others need to give them something to run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "collectives/executors/executor.h"
#include "collectives/executors/plan.h"
#include "collectives/executors/reduction.h"
#include "collectives/executors/run.h"
#include "collectives/executors/run_pool.h"
#include "collectives/executors/transport.h"
#include "common/core/result.h"
#include "common/core/topology.h"

namespace scela::channel {
class Channel;
}

namespace scela::collectives {

// "inline", "polled", "thread", "engine" (collectives/offload/factory.h makes that).
enum class ExecutorKind : std::uint8_t { at_once, polled, thread, engine };
std::string_view name_of(ExecutorKind kind);
std::optional<ExecutorKind> executor_kind_of(std::string_view name);

// The caller's thread moves all its runs whenever it calls. For one thread at a time.
std::unique_ptr<Executor> make_polled(std::unique_ptr<Transport> transport);
// start() returns when the run is over. Meanwhile the runs of `polled` get on as well: others may
// wait for those before they come to this one.
std::unique_ptr<Executor> make_inline(Executor& polled);

// Where a node's ranks run, to find idle cores for their threads.
struct ThreadPlacement {
  std::vector<CpuSet> ranks;  // of this node, in order; empty: threads are not bound
  std::size_t own = 0;        // which of them this process is
};
// A thread that moves all its runs, bound to the nearest idle core (P1; placement.h). Any thread
// may call. `transport` is the thread's own: over a channel, that needs Threads::multiple. `bell`
// is the caller's, who is woken by it where he waits for other things besides (add_requests); none:
// he cannot be.
Result<std::unique_ptr<Executor>> make_thread(std::unique_ptr<Transport> transport,
                                              const ThreadPlacement& placement = {},
                                              std::unique_ptr<Transport> bell = nullptr);

// Over a channel. It keeps what the channel is made of: once the program has closed the channel,
// messages end with a fault that says so.
std::unique_ptr<Transport> make_channel_transport(channel::Channel& channel);

}  // namespace scela::collectives
