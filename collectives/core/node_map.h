// The node of each rank, for algorithms that go by nodes and for the census. A map does not change
// after it is made, so any thread may read it.
#pragma once

#include <span>
#include <vector>

namespace scela::collectives {

// Nodes are numbered from 0 in the order of their first ranks, whatever numbers the caller gave
// them. A node's ranks need not follow each other. So callers that number the nodes differently get
// equal maps.
class NodeMap {
 public:
  explicit NodeMap(std::span<const int> node_by_rank);

  int ranks() const { return static_cast<int>(of_.size()); }
  int nodes() const { return static_cast<int>(members_.size()); }
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
