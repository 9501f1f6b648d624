// The programs of a debugger on this node, beside the ranks (Inspection::tool): MPIR calls them
// tool daemons. Ranks starts them when scela-run asks; they end with the job. One thread uses it.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace scela::nla {

class ToolDaemons {
 public:
  ToolDaemons() = default;
  ToolDaemons(const ToolDaemons&) = delete;
  ToolDaemons& operator=(const ToolDaemons&) = delete;

  // Starts a program in a session of its own, with /dev/null as its streams. `words` are its path
  // or its name, which PATH of `environment` leads to, and its arguments. Returns an empty string,
  // or why it was not started.
  std::string start(std::vector<std::string> words, std::vector<std::string> environment,
                    const std::string& directory);
  // Asks all of them to end. What does not, is killed with all that is left of the job.
  void let_go();
  // Takes note of a child that has ended. Returns true if it was one of them.
  bool reaped(pid_t pid) { return running_.erase(pid) > 0; }

 private:
  std::set<pid_t> running_;
};

}  // namespace scela::nla
