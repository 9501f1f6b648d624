// A tree of policies without agents. The tests carry between the policies at once what agents
// would.
//
// Node 0 is the root, which has no ranks. Every other node n has one rank, n - 1. The parent of a
// node has a smaller number than the node. The tree counts messages as agents send them: one a
// level for a put or a question on its way up, one a level for an aggregate, and one a child for a
// release.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/policy.h"
#include "cache/store.h"

namespace scela::cache::testing {

struct Traffic {
  std::uint64_t received = 0;  // messages from children
  std::uint64_t sent_down = 0;
  std::uint64_t pair_bytes_up = 0;  // keys and values from children
  std::uint64_t asked_below = 0;    // questions sent to children
};

class Tree {
 public:
  // `parents` has the parents of nodes 1, 2, ...
  Tree(PolicyKind kind, std::vector<std::size_t> parents, std::uint64_t limit = 0);

  void put(std::size_t node, std::string_view key, std::string_view value);
  // Runs a fence of the whole job.
  void fence();
  // Runs a fence of the ranks of these nodes, which are in ascending order. `descending` reverses
  // the order in which the nodes' pairs are joined.
  void group_fence(const std::vector<std::size_t>& members, bool descending);
  std::optional<std::string> get(std::size_t node, std::string_view key);

  const Store& table(std::size_t node) const { return policies_[node]->table(); }
  const Policy& at(std::size_t node) const { return *policies_[node]; }
  const Traffic& traffic(std::size_t node) const { return traffic_[node]; }
  std::size_t size() const { return policies_.size(); }
  const std::vector<std::size_t>& parents() const { return parents_; }

 private:
  struct Fence {
    std::vector<bool> members;  // by node
    std::vector<bool> on_way;   // those and all above them
    bool whole = false;
    bool descending = false;
    Stamp clock = 0;
  };
  void fence(Fence& fence);
  std::string gather(std::size_t node, Fence& fence);
  std::string spread(std::size_t node, std::string_view pairs);
  std::size_t way_to(std::size_t node, std::string_view key) const;

  std::vector<std::size_t> parents_;  // the root's is itself
  std::vector<std::unique_ptr<Policy>> policies_;
  std::vector<Traffic> traffic_;
};

}  // namespace scela::cache::testing
