// The shape of the agents' tree: its degree, and how a slice of the host list is handed to
// children. The degree is the largest number of children of an agent. A slice is a range of the
// host list: the hosts that one agent and the agents below it run on. Hosts are numbered from 0 in
// the order of the list. launcher/ and nla/ use it.
//
// The functions are pure arithmetic. An agent that was handed the slice [first, end) of the host
// list runs on host `first`. It splits [first + 1, end) into at most `degree` contiguous slices of
// nearly equal size, one for each child. The root (scela-run) runs on no host and splits the whole
// list. This part knows no links and no failures.
//
// Source: founding thesis, section 2.2.2 (NLA interconnection layer); decision D4.
#pragma once

#include <cstdint>
#include <vector>

#include "common/core/result.h"

namespace scela {

// Connections that one process serves in parallel without loss; the thesis measured 128 (section
// 2.4.2).
inline constexpr std::uint32_t kMaxConnections = 128;
// Levels of agents below the root.
inline constexpr std::uint32_t kMaxDepth = 3;

// The limits within which a degree is chosen.
struct TreeLimits {
  // The most connections of one agent: to its parent, its children and its ranks.
  std::uint32_t max_connections = kMaxConnections;
  std::uint32_t max_depth = kMaxDepth;  // levels of agents below the root
};

// The time that the start of a tree takes, in microseconds.
struct StartCosts {
  // From the begin of a child's start until that child starts its own children.
  std::uint32_t level_us = 0;
  // The time in which a parent does nothing but start one child. It starts its children at the same
  // time, but these parts of the work follow one another.
  std::uint32_t child_us = 0;
};

// The hosts [first, end) of the list.
struct Slice {
  std::uint32_t first = 0;
  std::uint32_t end = 0;                              // exclusive
  std::uint32_t size() const { return end - first; }  // number of hosts
  bool contains(std::uint32_t node) const { return node >= first && node < end; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

// Returns the degree of a tree of `nodes` agents, of which each has `ranks_per_node` ranks. It is
// the smallest k with k + k^2 + ... + k^max_depth >= nodes, if an agent can hold k + 1 +
// ranks_per_node connections. Otherwise it is max_connections - 1 - ranks_per_node, and the tree
// grows deeper.
//
// If the ranks leave an agent no room for a child, the tree is flat. Its agents have no children,
// and the root, which has no ranks, holds all of them. Error (usage): not even a flat tree is
// possible; the text names the numbers and the options.
Result<std::uint32_t> choose_degree(std::uint32_t nodes, std::uint32_t ranks_per_node,
                                    const TreeLimits& limits);

// Returns the number of levels of agents, from 1 to limits.max_depth, with which `nodes` agents are
// started fastest: level_us for each level, and child_us for each child of one agent on each level.
// The degree is then the smallest that choose_degree() returns for so many levels. A number of
// levels counts only if an agent can hold that degree. If none counts, returns limits.max_depth. Of
// two that take equally long, returns the smaller one.
std::uint32_t choose_depth(std::uint32_t nodes, std::uint32_t ranks_per_node,
                           const TreeLimits& limits, const StartCosts& costs);

// Splits [whole.first, whole.end) into min(degree, size) contiguous slices, in ascending order,
// larger ones first. Their sizes differ by at most one. Requires degree > 0.
std::vector<Slice> split(Slice whole, std::uint32_t degree);

// Returns the number of levels of agents in a slice that is handed to one agent: 1 for a single
// node, 0 for an empty slice.
std::uint32_t height(Slice slice, std::uint32_t degree);

// Returns the number of each node's parent in a tree in which no agent has failed, and kRootParent
// for the root's children. It serves display only.
inline constexpr std::uint32_t kRootParent = UINT32_MAX;
std::vector<std::uint32_t> parents(std::uint32_t nodes, std::uint32_t degree);

}  // namespace scela
