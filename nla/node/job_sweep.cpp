#include "nla/node/job_sweep.h"

#include <chrono>

#include "common/core/text.h"
#include "common/os/private_dir.h"
#include "nla/adopt/adoption.h"
#include "nla/core/tree/remote_shell.h"

namespace scela::nla {

void sweep_job(const std::string& job_id, std::string_view node) {
  const std::string directory = node_directory("", job_id, node);
  if (!is_directory_locked(directory)) static_cast<void>(remove_tree(directory));
  for (const char* base : {"/tmp", "/dev/shm"})
    remove_abandoned(base, cat(kShippedName, job_id, "-"), "", std::chrono::seconds(0));
}

}  // namespace scela::nla
