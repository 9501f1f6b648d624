// The directory of this node and job, for sockets and files of the ranks. A lock on it shows that
// the agent is alive. The shell, the code around the agent's core that makes system calls, uses
// this part on its loop.
#pragma once

#include <string>

#include "common/os/fd.h"
#include "nla/node/shell_context.h"

namespace scela::nla {

class NodeDirectory {
 public:
  // `context` is borrowed.
  explicit NodeDirectory(const ShellContext& context) : context_(context) {}

  // Returns the path, or an empty string if make() has not made the directory.
  const std::string& path() const { return path_; }
  // Makes the directory, if this object has not made it yet. Returns an empty string, or the reason
  // why it cannot be made. Blocks as local files do.
  std::string make();
  // Removes the directory, and those that earlier jobs could not remove here: the agent and
  // guardian of such a job were killed at once, or the machine lost its power. Does nothing if
  // there is no directory.
  void remove();

 private:
  const ShellContext& context_;
  std::string path_;
  Fd hold_;  // shows that this agent is alive
};

}  // namespace scela::nla
