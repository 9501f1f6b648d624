// What a rank tells the PMIx server of its node (scela-pmix) and PMIx has no call for: directives
// of PMIx_Job_control, without targets, whose value is true. The call returns once the agent knows.
#pragma once

namespace scela {

// The rank has left the job, as PMIx_Finalize says it, and keeps its connection: it may end now in
// any way that a process may end after PMIx_Finalize, or rejoin the job.
constexpr char kPmixLeaveJob[] = "scela.leave";
// The rank takes part again, as PMIx_Init says it.
constexpr char kPmixRejoinJob[] = "scela.rejoin";

}  // namespace scela
