// The node of each rank, for algorithms that go by nodes and for the census. A map does not change
// after it is made, so any thread may read it.
#pragma once

#include <span>
#include <vector>

namespace scela::collectives {

// Nodes are numbered from 0 in the order of their first ranks, whatever numbers the caller gave
// them. So callers that number the nodes differently get equal maps. The ranks of a node need not
// be consecutive.
class NodeMap {
 public:
  // `node_by_rank` has a number for each rank, equal for ranks of one node and different for
  // others.
  explicit NodeMap(std::span<const int> node_by_rank);

  // Returns the number of ranks.
  int ranks() const { return static_cast<int>(of_.size()); }
  // Returns the number of nodes.
  int nodes() const { return static_cast<int>(members_.size()); }
  // Returns the node of a rank.
  int of(int rank) const { return of_[static_cast<std::size_t>(rank)]; }
  // Returns the node's ranks in ascending order.
  const std::vector<int>& members(int node) const {
    return members_[static_cast<std::size_t>(node)];
  }
  friend bool operator==(const NodeMap&, const NodeMap&) = default;

 private:
  std::vector<int> of_;                    // indexed by rank
  std::vector<std::vector<int>> members_;  // indexed by node
};

}  // namespace scela::collectives
