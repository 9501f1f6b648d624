// Which rank runs where: from nodes with slots and the programs' rank counts to a RankMap.
//
// Rules (they stand in scela-run(1) too):
//  - Stated slots are limits. Nodes are filled in order; a node without a count in a list that
//  states any
//    counts as one slot, as in mpiexec.
//  - Without stated slots there is no limit: ranks are spread in blocks, the first nodes get one
//  more.
//  - ppn puts at most so many of a program's ranks on each node, in order.
//  - An absent np is ppn per node, else the free slots, else one per node.
//  - Programs follow each other: the next one continues on the slots after the previous one.
//  - oversubscribe turns the limits into block sizes: what does not fit starts again at the first
//  node.
//  - by_node takes one rank of a program on each node in turn, within the same limits.
//  - Ranks are numbered in the order in which they are placed; numbered says otherwise: node after
//  node, or in turn over the nodes.
// Pure; linear in nodes plus blocks. Knows no host's real cores and no tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/core/rank_map.h"
#include "common/core/result.h"

namespace scela {

struct MapNode {
  std::string name;
  std::optional<std::uint32_t> slots;  // absent: not stated
};

struct MapSegment {
  std::optional<std::uint32_t> np;
  std::optional<std::uint32_t> ppn;
  std::vector<std::uint32_t> nodes;  // indices the program may use, in order; empty: all
};

struct MapRequest {
  std::vector<MapNode> nodes;  // at least one, in host-list order
  std::vector<MapSegment> segments;
  bool oversubscribe = false;
  bool by_node = false;
  bool counted = false;  // slots are what hosts have room for, not what somebody has said
  enum class Numbered : std::uint8_t { as_placed, node_after_node, in_turn };
  Numbered numbered = Numbered::as_placed;
};

// The ranks of one program: [first, first + count).
struct SegmentRanks {
  Rank first = 0;
  Rank count = 0;
  friend bool operator==(const SegmentRanks&, const SegmentRanks&) = default;
};

struct Mapping {
  RankMap map;
  std::vector<SegmentRanks> segments;  // one per segment of the request
};

// Error kind usage: too many ranks (names ranks, slots and the way out), zero ranks, no nodes.
Result<Mapping> map_ranks(const MapRequest& request);

}  // namespace scela
