#include "nla/node/node_directory.h"

#include <chrono>
#include <utility>

#include "common/os/private_dir.h"
#include "nla/core/tree/remote_shell.h"
#include "nla/guard/guardian.h"
#include "nla/io/constants.h"

namespace scela::nla {

std::string NodeDirectory::make() {
  if (!path_.empty()) return {};
  std::string path = context_.directory_of(context_.node);
  // The guardian must know before it exists.
  tell_directory(context_.guardian_socket, path);
  Result<void> made = make_private_directory(path);
  if (!made) return made.error().text();
  path_ = std::move(path);
  hold_ = lock_directory(path_);
  return {};
}

void NodeDirectory::remove() {
  if (path_.empty()) return;
  static_cast<void>(remove_tree(path_));
  hold_.reset();
  const std::string& job_id = context_.job_id;
  const std::size_t slash = path_.rfind('/');
  const std::string name = path_.substr(slash + 1);
  const std::size_t at = name.find(job_id);
  remove_abandoned(path_.substr(0, slash), name.substr(0, at), name.substr(at + job_id.size()),
                   std::chrono::seconds(kAbandonedS));
  // Agents are only sent to other machines. Of the simulated nodes here, one looks for them.
  if (!context_.remote && context_.node_index != 0) return;
  for (const char* base : {"/tmp", "/dev/shm", "/var/tmp"})
    remove_abandoned(base, kShippedName, "", std::chrono::seconds(kAbandonedS));
}

}  // namespace scela::nla
