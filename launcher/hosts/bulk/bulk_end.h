// The end of the agents that a bulk starter (srun) has started: scela-run lets them go, and learns
// which of their nodes are clean. launcher/hosts/bulk/bulk_start.cpp uses it when the session is
// over.
//
// Each agent has a connection to scela-run (nla/dial/dial_hello.h). Its last word there says that
// nothing of the job is left on its node. The connection ends without it if agent and guardian were
// killed at once, as Slurm does with a step that is cancelled.
//
// All functions belong to the main thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/os/fd.h"
#include "launcher/io/captured_command.h"

namespace scela {

class BulkEnd {
 public:
  // The command is borrowed.
  explicit BulkEnd(CapturedCommand& command) : command_(command) {}

  // Takes the connection of the agent of a host.
  void add(std::string host, Fd socket);
  // Lets the agents go, and waits until their connections and the command have ended. Kills a
  // command that does not end: it has lost a node. Blocks for at most 14 seconds.
  void wait();
  // Returns the hosts of agents that have not said that their node is clean, if the command has
  // ended by itself, so that it can be called for these hosts again. The order is that of add().
  std::vector<std::string> unclean() const;

 private:
  struct Agent {
    std::string host;
    Fd socket;  // invalid if it has ended
    bool is_clean = false;
  };

  bool is_over() const;
  // Waits for events of the connections and the command for at most this time.
  void take_events(int limit_ms);

  CapturedCommand& command_;
  std::vector<Agent> agents_;
  bool has_ended_ = false;  // the command
  bool was_killed_ = false;
};

}  // namespace scela
