// The end of nodes: agents that die, guardians that end what is left, and when a node is empty or
// gone.
//
// A node is empty if no process of the job is left on it that its agent can reach. It is gone if
// its agent has ended too; its parent hears of that. One thread uses this part.
#pragma once

#include "tests/sim/node/agents.h"
#include "tests/sim/node/leftovers.h"
#include "tests/sim/rank/output.h"
#include "tests/sim/rank/sim_processes.h"

namespace scela::sim {

// A guardian sees its agent stop or die at once (its parent's death signal, waitid with WSTOPPED).
inline constexpr Micros kGuardianNotice = 3000;

class NodeEnds {
 public:
  NodeEnds(Run& run, Network& network, Nodes& nodes, Processes& processes, Leftovers& leftovers,
           Agents& agents, Output& output)
      : run_(run),
        network_(network),
        nodes_(nodes),
        processes_(processes),
        leftovers_(leftovers),
        agents_(agents),
        output_(output) {}

  void on(std::uint32_t index, const nla::action::SignalRanks& action);
  void on(std::uint32_t index, const nla::action::EndLeftovers& action);

  // The agent dies, and its guardian sees it soon.
  void agent_dies(std::uint32_t index, LastMessages messages);
  void power_off(std::uint32_t index);
  // The task reap: the guardian of a dead agent ends what is left on the node.
  void reap(std::uint32_t index, Force force);
  // The task leftover_end.
  void leftover_end(std::uint32_t index, std::uint32_t position);
  // The task empty: tells the agent, which has asked for it.
  void tell_empty(std::uint32_t index);

  // Something has ended on this node: it may be empty or gone now.
  void check_empty(std::uint32_t index);
  void check_gone(std::uint32_t index);

  bool gone(std::uint32_t index) const { return of_node_[index].gone; }
  // Returns true if the agent has told its ranks to end.
  bool signalled(std::uint32_t index) const { return of_node_[index].signalled; }

 private:
  enum class Empty : std::uint8_t {
    not_asked,
    asked,      // the agent waits until the node is empty
    scheduled,  // a task tells it so
  };
  struct OfNode {
    Empty empty = Empty::not_asked;
    bool signalled = false;
    bool gone = false;
  };

  // Returns true if a process of the job is left on the node that its agent can reach.
  bool any_left(std::uint32_t index) const;
  // Tells the parent at the other end of this link that nothing is left of the node.
  void tell_parent(std::uint32_t link);

  Run& run_;
  Network& network_;
  Nodes& nodes_;
  Processes& processes_;
  Leftovers& leftovers_;
  Agents& agents_;
  Output& output_;
  PerNode<OfNode> of_node_;
};

}  // namespace scela::sim
