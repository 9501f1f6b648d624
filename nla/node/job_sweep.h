// Removes what a job has left on this node when agent and guardian were killed at once. scela-nla
// does so for scela-run (`--sweep`), which knows of the nodes that are not clean
// (launcher/hosts/bulk/bulk_end.h). One call, from the only thread; it blocks on the file system.
#pragma once

#include <string>
#include <string_view>

namespace scela::nla {

// Removes the directories of this job on the node with this name: that of sockets and files, and
// those of shared memory. A directory that a process of the job still holds stays.
void sweep_job(const std::string& job_id, std::string_view node);

}  // namespace scela::nla
