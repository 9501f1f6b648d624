// The agent's executable file as it is told from others: by its build id and its machine. Spawners
// and scela-nla use it. Its bytes for nodes that lack it are in a file of their own
// (nla/pack/agent_package.h).
#pragma once

#include <string>

#include "common/core/result.h"

namespace scela::nla {

// The executable file of scela-nla.
class AgentFile {
 public:
  // Opens the file `path` on this machine ("/proc/self/exe" in an agent). `remote` is its path on
  // other nodes, or empty if they do not have it. Error (io): the file cannot be opened. Error
  // (launch): it is no 64-bit ELF executable with a build id.
  static Result<AgentFile> open(const std::string& path, std::string remote);

  // Returns the path on other nodes; empty: they do not have the file.
  const std::string& remote() const { return remote_; }
  const std::string& build() const { return build_; }      // hexadecimal
  const std::string& machine() const { return machine_; }  // as `uname -m` says it

 private:
  std::string remote_;
  std::string build_;
  std::string machine_;
};

}  // namespace scela::nla
