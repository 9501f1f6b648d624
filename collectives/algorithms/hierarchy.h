// Ranks as nodes with a leader each, for algorithms in which leaders only speak with other nodes
// (offload thesis, section 4.4).
#pragma once

#include <memory>
#include <vector>

#include "collectives/algorithms/tree.h"
#include "collectives/core/node_map.h"
#include "collectives/core/shape.h"

namespace scela::collectives {

// The ranks' runs of ranks that follow each other. `ranks` are in order.
std::vector<Stretch> runs_of(const std::vector<int>& ranks);
// The same without one of them.
std::vector<Stretch> runs_without(const std::vector<int>& ranks, int rank);

class Hierarchy {
 public:
  // A node's leader is its first rank, and the root on the root's node. kNoRoot: there is none.
  static constexpr int kNoRoot = -1;
  Hierarchy(const Shape& shape, int root);

  const NodeMap& nodes() const { return *nodes_; }
  int node_of(int rank) const { return nodes_->of(rank); }
  const std::vector<int>& members(int node) const { return nodes_->members(node); }
  // By node.
  const std::vector<int>& leaders() const { return leaders_; }
  int leader(int node) const { return leaders_[static_cast<std::size_t>(node)]; }
  // A rank's number among the members of its node.
  int number(int rank) const;

 private:
  std::shared_ptr<const NodeMap> nodes_;
  std::vector<int> leaders_;
};

// A rank in a binomial tree of leaders, each of whom is the top of a binomial tree of its node.
struct Branch {
  int parent = kNoParent;
  // Those with most ranks below them first, and leaders before the others.
  std::vector<int> children;
};
Branch branch(const Hierarchy& hierarchy, int root, int rank);

}  // namespace scela::collectives
