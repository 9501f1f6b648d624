// The processes that ranks leave behind on their nodes, and which hold the ranks' pipes.
//
// A process begins with its rank. It ends by the task leftover_end, or with the power of its host.
// One thread uses this part.
#pragma once

#include <optional>
#include <vector>

#include "tests/sim/node/per_node.h"
#include "tests/sim/sim_job_run.h"

namespace scela::sim {

// The force with which processes are told to end.
enum class Force : std::uint8_t {
  ask,   // SIGTERM: a process may ignore it
  kill,  // SIGKILL
};

class Leftovers {
 public:
  explicit Leftovers(Run& run) : run_(run) {}

  // The rank runs on this node: so do the processes that it will leave behind.
  void begin(std::uint32_t node, Rank rank);
  // Returns true if a process that the rank has left behind lives and holds its pipes.
  bool hold_pipes_of(std::uint32_t node, Rank rank) const;
  // Returns the rank of a process that lives and that the agent can reach, or std::nullopt.
  std::optional<Rank> remaining(std::uint32_t node) const;
  // The node's agent, or its guardian, ends the processes. Each ends a little later, by a task.
  void end_by_agent(std::uint32_t node, Force force);
  void end_by_guardian(std::uint32_t node, Force force);
  // The task leftover_end. Returns false if the process is out of reach and lives on.
  bool end(std::uint32_t node, std::uint32_t position);
  // The host has lost its power.
  void end_all(std::uint32_t node);

 private:
  struct Process {
    Leftover what;
    bool alive = true;
  };
  void end_soon(std::uint32_t node, std::uint32_t position) {
    run_.after(run_.random.below(3000), TaskKind::leftover_end, node, position);
  }

  Run& run_;
  PerNode<std::vector<Process>> processes_;
};

}  // namespace scela::sim
