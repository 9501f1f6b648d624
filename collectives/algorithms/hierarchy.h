// Ranks as nodes with a leader each, for algorithms in which only leaders exchange messages with
// other nodes (offload thesis, section 4.4). Hierarchical algorithms use it. An object does not
// change, and any thread may read it.
#pragma once

#include <memory>
#include <vector>

#include "collectives/algorithms/tree.h"
#include "collectives/core/node_map.h"
#include "collectives/core/shape.h"

namespace scela::collectives {

// Returns `ranks`, which must ascend, as runs of consecutive ranks (Stretch: first and count;
// tree.h).
std::vector<Stretch> runs_of(const std::vector<int>& ranks);
// Returns the runs of `ranks` without `rank`.
std::vector<Stretch> runs_without(const std::vector<int>& ranks, int rank);

// The nodes of a shape and the leader of each. A node's leader is its first rank; on the root's
// node it is the root.
class Hierarchy {
 public:
  // Says that the operation has no root.
  static constexpr int kNoRoot = -1;
  // `root` is a rank or kNoRoot. If the shape has no nodes, all ranks are on one.
  Hierarchy(const Shape& shape, int root);

  // Returns the node of each rank.
  const NodeMap& nodes() const { return *nodes_; }
  // Returns the node of a rank. Nodes are numbered from 0.
  int node_of(int rank) const { return nodes_->of(rank); }
  // Returns the ranks of a node in ascending order.
  const std::vector<int>& members(int node) const { return nodes_->members(node); }
  // Returns the leaders, indexed by node.
  const std::vector<int>& leaders() const { return leaders_; }
  // Returns the leader of a node.
  int leader(int node) const { return leaders_[static_cast<std::size_t>(node)]; }
  // Returns the rank's index among the members of its node, from 0.
  int number(int rank) const;

 private:
  std::shared_ptr<const NodeMap> nodes_;
  std::vector<int> leaders_;
};

// The place of a rank in a tree of two levels: a binomial tree of leaders, each of which is the top
// of a binomial tree of its node's ranks.
struct Branch {
  int parent = kNoParent;  // a rank; kNoParent (tree.h): the top
  // The ranks to which it sends first come first. A leader's children that are leaders come before
  // those of its node. Within each of the two trees, larger subtrees come first.
  std::vector<int> children;
};
// Returns the place of `rank` in these trees; the top is `root`. `hierarchy` must have been made
// with the same root.
Branch branch(const Hierarchy& hierarchy, int root, int rank);

}  // namespace scela::collectives
