// The processes that the ranks of this node have left behind, until none of them is alive. Agents
// of other nodes, and the sessions that stand for them here, are no leftovers. The shell, the code
// around the agent's core that makes system calls, uses this part on its loop.
#pragma once

#include <cstdint>
#include <optional>

#include "common/os/alarm.h"
#include "common/os/process/process_tree.h"
#include "nla/node/shell_context.h"
#include "nla/peers/child_agents.h"

namespace scela::nla {

class LeftoverProcesses {
 public:
  // `descendants` finds the descendants of this process. All references are borrowed.
  LeftoverProcesses(ShellContext& context, const Descendants& descendants,
                    const ChildAgents& children)
      : context_(context), descendants_(descendants), children_(children) {}

  // Asks the leftovers to end (SIGTERM), or if `force`, kills them repeatedly (SIGKILL).
  // event::NodeEmpty follows when they have ended, at once if there are none. If the job runs once
  // on each host and the ranks of this node have ended by themselves, a log record names the
  // leftovers first. If the user also wants to keep them, they are left alone.
  void end(bool force);
  // Call it if a child process has ended. Reports NodeEmpty if end() was called and no leftover is
  // alive.
  void child_ended() {
    if (state_ != State::not_awaited) check();
  }

 private:
  // How far the end of the leftovers has come.
  enum class State : std::uint8_t {
    not_awaited,  // ranks may run, or NodeEmpty was reported
    asked,        // they got SIGTERM, and NodeEmpty follows when they have ended
    killing,      // they get SIGKILL repeatedly
  };

  // Returns true if leftovers stay on the node: the user wants it, and the ranks of this node
  // have ended by themselves.
  bool are_kept() const;
  // Names the leftovers to the user.
  void name();
  // Reports NodeEmpty if no leftover is alive.
  void check();
  // Kills all leftovers, now and every kKillAgainMs until none is alive.
  void kill();

  ShellContext& context_;
  const Descendants& descendants_;
  const ChildAgents& children_;
  State state_ = State::not_awaited;
  std::optional<Alarm> kill_timer_;
};

}  // namespace scela::nla
