// Ranks that are stopped until a debugger lets them go: at the start of their program, which the
// agent does, or in PMIx_Init, which libpmix does in the rank. Private to pmix/server.
//
// When all such ranks of a namespace have stopped, on all nodes, one server causes the event
// PMIX_READY_FOR_DEBUG. Servers learn this by a fence of their own among those ranks. The event
// PMIX_DEBUGGER_RELEASE lets ranks go: libpmix brings it to ranks in PMIx_Init, and the server
// tells its agent of the others. A rank that is let go before it waits in PMIx_Init does not wait.
#pragma once

#include <pmix.h>

#include <cstddef>

#include "common/core/rank_set.h"
#include "pmix/core/pmix_messages.h"

namespace scela::pmix {

class Infos;

// Adds what libpmix's clients must find if ranks of this node are to wait in PMIx_Init. `here` has
// the numbers in the world of the node's ranks.
void add_stop_in_init(const msg::World& world, const RankSet& here, Infos& infos);

// Takes the agent's report that a rank of this node is stopped at its start. For the main thread.
void rank_stopped(Rank rank);

// Takes a release that a process of this node has caused, or that came from another node, in any
// thread. It is only for `targets`, by the job's numbers.
void hear_release(const RankSet& targets);

// Asks libpmix to report the ranks that wait in PMIx_Init, and releases without targets. Its host
// is not told of those for this node only. The caller must have initialised libpmix before.
void watch_stopped_ranks();

}  // namespace scela::pmix
