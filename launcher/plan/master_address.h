// Chooses where the ranks of a training job meet (--env-style). The session calls it when the
// places of the ranks are final. Pure but for reading numeric addresses.
#pragma once

#include "common/core/result.h"
#include "launcher/plan/plan.h"
#include "nla/core/tree/actions.h"

namespace scela {

// Sets Training::master to what the agent of rank 0's node has reported, and the list of nodes, if
// the job has styles. `told` has the reports of the agents (action::AllReady). Returns an error
// (kind launch) if that agent has reported none, or nothing that is an address and a port.
Result<void> use_rendezvous(Plan& plan, const nla::TopologyList& told);

}  // namespace scela
