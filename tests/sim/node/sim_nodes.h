// The simulated nodes: each has an agent and its links, and they form the tree.
//
// Node 0 is the root, which is the launcher's agent. A node is added when its agent begins to run,
// and its number stays. One thread uses this part.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "nla/core/tree/agent.h"
#include "tests/sim/sim_job_run.h"
#include "tests/sim/world/sim_network.h"

namespace scela::sim {

enum class NodeState : std::uint8_t {
  running,   // the agent handles events
  frozen,    // the agent is stopped, and its guardian has not ended it yet
  dead,      // the agent has died
  finished,  // the agent has ended by itself
};

// How far an agent without a parent is from having one again.
enum class Adoption : std::uint8_t {
  none,      // it has a parent, or has given up
  awaiting,  // it waits for another agent to adopt it
  attached,  // another agent has attached, and is not its parent yet
};

// Messages that an agent sent before it ended.
enum class LastMessages : std::uint8_t {
  arrive,  // they arrive before the end of the link is seen
  lost,    // those that are under way are lost
};

struct Node {
  std::uint32_t host = kRootHost;
  std::uint32_t up = kNobody;           // link
  std::vector<std::uint32_t> past_ups;  // of parents that were lost
  Adoption adoption = Adoption::none;
  bool orphaned = false;  // it has lost a parent at some time
  NodeState state = NodeState::running;
  std::unique_ptr<nla::Agent> agent;
  std::vector<std::uint32_t> children;  // links, by LinkId - 1
  bool disturbed = false;               // a fault hit it
};

class Nodes {
 public:
  Nodes(Run& run, Network& network);

  // Adds the node of an agent that begins to run. Its parent is at the other end of link `up`.
  // Returns its number.
  std::uint32_t add(std::uint32_t host, std::uint32_t up);
  Node& operator[](std::uint32_t node) { return nodes_[node]; }
  const Node& operator[](std::uint32_t node) const { return nodes_[node]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  Node& root() { return nodes_.front(); }
  bool running(std::uint32_t node) const { return nodes_[node].state == NodeState::running; }

  // The agent dies. Its links stay as they are until end_links().
  void die(std::uint32_t node);
  bool root_killed() const { return root_killed_; }
  // The agent has ended: so do those of its links that are not broken.
  void end_links(std::uint32_t node, LastMessages messages);

  // Returns the name of a node for messages of failures.
  std::string name(std::uint32_t node) const;
  // Returns the node of the agent that serves a host now, or kNobody. An orphan that has not
  // noticed yet does not count.
  std::uint32_t agent_on(std::uint32_t host) const;
  // Returns true if a fault hit this node or something between it and the root.
  bool severed(std::uint32_t node) const;
  // Returns true if `ancestor` is this node or above it.
  bool below(std::uint32_t node, std::uint32_t ancestor) const;
  // Returns this node and those above it that have lost a parent at some time.
  std::vector<std::uint32_t> orphans_above(std::uint32_t node) const;
  // Returns true if a fault hit the start of this host's agent, or a node of the host is severed.
  bool host_had_fault(std::uint32_t host) const;

 private:
  Run& run_;
  Network& network_;
  std::deque<Node> nodes_;
  bool root_killed_ = false;
};

}  // namespace scela::sim
