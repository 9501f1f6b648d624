// The shape of the agents' tree: its degree, and how a slice of the host list is handed to
// children.
//
// Pure arithmetic. An agent that was handed the slice [first, end) of the host list runs on host
// `first` and splits [first + 1, end) into at most `degree` contiguous slices of nearly equal size,
// one per child. The root (scela-run) runs on no host: it splits the whole list. Knows no links and
// no failures.
//
// Source: founding thesis, section 2.2.2 (NLA interconnection layer); decision D4.
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/result.h"

namespace scela {

// Connections one process serves in parallel without loss; 128 measured (thesis section 2.4.2).
inline constexpr std::uint32_t kMaxConnections = 128;
// Levels of agents below the root.
inline constexpr std::uint32_t kMaxDepth = 3;

struct TreeLimits {
  std::uint32_t max_connections = kMaxConnections;
  std::uint32_t max_depth = kMaxDepth;
};

struct Slice {
  std::uint32_t first = 0;
  std::uint32_t end = 0;  // exclusive
  std::uint32_t size() const { return end - first; }
  bool contains(std::uint32_t node) const { return node >= first && node < end; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

// The smallest degree k with k + k^2 + ... + k^max_depth >= nodes, if an agent with
// `ranks_per_node` ranks can hold k + 1 + ranks_per_node connections; otherwise max_connections - 1
// - ranks_per_node, and the tree grows deeper. Ranks that leave an agent no room for a child at all
// make the tree flat: its agents have none, and the root, which has no ranks, holds them all. Error
// (usage): not even that is possible; the text names the numbers and the options.
Result<std::uint32_t> choose_degree(std::uint32_t nodes, std::uint32_t ranks_per_node,
                                    const TreeLimits& limits);

// Splits [whole.first, whole.end) into min(degree, size) contiguous slices, larger ones first,
// whose sizes differ by at most one. Requires degree > 0.
std::vector<Slice> split(Slice whole, std::uint32_t degree);

// Levels of agents in a slice handed to one agent: 1 for a single node.
std::uint32_t height(Slice slice, std::uint32_t degree);

// Parent of every node in a healthy tree, kRootParent for the root's children; for display.
inline constexpr std::uint32_t kRootParent = UINT32_MAX;
std::vector<std::uint32_t> parents(std::uint32_t nodes, std::uint32_t degree);

}  // namespace scela
