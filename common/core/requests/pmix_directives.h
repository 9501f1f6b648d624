// Messages of a rank to the PMIx server of its node (scela-pmix) for which PMIx has no call. They
// are directives of PMIx_Job_control, without targets, with the value true. The call returns once
// the agent of the node has handled the message. comm-channel/ sends them, and pmix/ receives them.
#pragma once

namespace scela {

// The rank has left the job, as PMIx_Finalize announces it, but keeps its connection. It may end
// now in any way that a process may end after PMIx_Finalize, or rejoin the job.
constexpr char kPmixLeaveJob[] = "scela.leave";
// The rank takes part again, as PMIx_Init announces it.
constexpr char kPmixRejoinJob[] = "scela.rejoin";

}  // namespace scela
