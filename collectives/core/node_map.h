// Which node each rank is on.
#pragma once

#include <span>
#include <vector>

namespace scela::collectives {

// Nodes are numbered from 0, in the order of their first ranks, whatever they were called; their
// ranks need not follow each other. So ranks that call nodes by other numbers have the same map.
class NodeMap {
 public:
  explicit NodeMap(std::span<const int> node_by_rank);

  int ranks() const { return static_cast<int>(of_.size()); }
  int nodes() const { return static_cast<int>(members_.size()); }
  int of(int rank) const { return of_[static_cast<std::size_t>(rank)]; }
  // In the order of their ranks.
  const std::vector<int>& members(int node) const {
    return members_[static_cast<std::size_t>(node)];
  }
  friend bool operator==(const NodeMap&, const NodeMap&) = default;

 private:
  std::vector<int> of_;                    // by rank
  std::vector<std::vector<int>> members_;  // by node
};

}  // namespace scela::collectives
