// Makes the executors, and includes all headers that a caller needs to give them a run.
// Communicators, offload/ and tests use it; other rooms include no other header of this room. Each
// function states the threads that may call the executor.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "collectives/executors/executor.h"
#include "collectives/executors/looking.h"
#include "collectives/executors/run/message_transport.h"
#include "collectives/executors/run/reduction.h"
#include "collectives/executors/run/run.h"
#include "collectives/executors/run/run_plan.h"
#include "collectives/executors/run/run_pool.h"
#include "common/core/placement/topology.h"
#include "common/core/result.h"

namespace scela {
class Channel;
}  // namespace scela

namespace scela::collectives {

// Names what moves the runs: the caller in start() (at_once), the caller in each call (polled), a
// progress thread, or an adapter's engine. make_engine() of collectives/offload/factory.h makes the
// last.
enum class ExecutorKind : std::uint8_t { at_once, polled, thread, engine };
// Returns "inline", "polled", "thread" or "engine".
std::string_view name_of(ExecutorKind kind);

// Makes the polled executor, which owns `transport`. The caller's thread moves all runs in each of
// its calls. One thread may call at a time.
std::unique_ptr<Executor> make_polled(std::unique_ptr<Transport> transport);
// Makes the inline executor: its start() returns when the run is over. `polled` is a polled
// executor that carries the runs out and must outlive this one. Other runs of `polled` progress
// meanwhile, since other ranks may wait for those before they start this operation. One thread may
// call at a time.
std::unique_ptr<Executor> make_inline(Executor& polled);

// The processors of this node's ranks, by which idle cores are found for their progress threads.
struct ThreadPlacement {
  std::vector<CpuSet> ranks;  // by rank of the node; empty: do not bind
  std::size_t own = 0;        // index of this process in `ranks`
};
// Makes the thread executor: a new thread moves all runs. The thread is bound to the idle core that
// is nearest to this rank (P1; thread_placement.h). Any thread may call the executor. `transport`
// is used by the new thread; over a channel it needs Threads::multiple. `doorbell` is a second
// transport of the same library. By it the thread wakes a caller that waits for other messages
// besides (add_requests). If it is null, add_requests() returns false. Returns an error if the
// thread cannot be started.
Result<std::unique_ptr<Executor>> make_thread(std::unique_ptr<Transport> transport,
                                              const ThreadPlacement& placement = {},
                                              std::unique_ptr<Transport> doorbell = nullptr);

// Makes a transport (run/message_transport.h) over a channel. It shares the channel's state, so it
// outlives `channel`. Once the program has closed the channel, messages end with a fault that says
// so.
std::unique_ptr<Transport> make_channel_transport(Channel& channel);

}  // namespace scela::collectives
