// The nodes of a tree of agent cores: each has an agent, its links, and what its agent has done to
// it. Tests read them. One thread uses this part.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "nla/core/tree/agent.h"

namespace scela::nla::testing {

struct TreeNode {
  enum class State : std::uint8_t {
    running,
    dead,  // its agent has crashed
    left,  // its agent has finished
  };

  explicit TreeNode(Role role) : agent(role) {}

  Agent agent;
  int parent = -1;  // number of the node
  LinkId link_at_parent = 0;
  std::map<LinkId, int> children;
  State state = State::running;
  std::uint32_t host = UINT32_MAX;
  RankSet running;
  std::set<Timer> timers;
  std::vector<int> signals;
  bool awaiting = false;  // to be adopted
  std::vector<WindowSize> windows;
  RankSet failed;            // as ranks of this node are told
  std::vector<Action> news;  // what its ranks' server is told, in order
};

// Node 0 is the root. A node keeps its number.
class TreeNodes {
 public:
  TreeNodes() { nodes_.push_back(std::make_unique<TreeNode>(Role::root)); }

  // Adds a node with an agent that runs. Returns its number.
  int add(std::uint32_t host) {
    nodes_.push_back(std::make_unique<TreeNode>(Role::agent));
    nodes_.back()->host = host;
    return static_cast<int>(nodes_.size() - 1);
  }
  TreeNode& at(int node) { return *nodes_[static_cast<std::size_t>(node)]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  bool all_left() const {
    return std::none_of(nodes_.begin(), nodes_.end(),
                        [](const auto& node) { return node->state == TreeNode::State::running; });
  }
  // Returns the node of the agent that serves a host, or -1.
  int agent_of(std::uint32_t host) const {
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      if (nodes_[i]->host == host && nodes_[i]->state != TreeNode::State::dead)
        return static_cast<int>(i);
    }
    return -1;
  }
  // Returns the node on which the rank runs, or -1.
  int node_of(Rank rank) const {
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      if (nodes_[i]->running.contains(rank)) return static_cast<int>(i);
    }
    return -1;
  }

 private:
  std::vector<std::unique_ptr<TreeNode>> nodes_;
};

}  // namespace scela::nla::testing
