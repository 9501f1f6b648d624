// Maps ranks to nodes: makes a RankMap from nodes with slots and the rank counts of the programs.
// launcher/plan/plan.cpp uses it; launcher/plan/job_hosts.h and launcher/core/report/job_report.h
// use its types.
//
// np is the number of ranks of a program (-n), ppn its number of ranks per node (--ppn). A slot is
// room for one rank. A segment is a program with its ranks.
//
// Rules (also in scela-run(1)):
// - Stated slots are limits. Nodes are filled in order. If some nodes of the list have stated
//   slots, a node without them has one slot, as in mpiexec.
// - Without stated slots there is no limit. Ranks are spread in blocks, and the first nodes get one
//   rank more.
// - ppn is the maximum number of a program's ranks on each node; nodes are filled in order.
// - If np is absent, it is ppn per node, else the number of free slots, else one per node.
// - Programs follow each other: the next one continues on the slots after the previous one.
// - oversubscribe turns the limits into block sizes: ranks that do not fit start again at the first
//   node.
// - by_node takes one rank of a program on each node in turn, within the same limits.
// - Ranks are numbered in the order in which they are placed. `numbered` can change this to node
//   after node, or to one rank per node in turn.
//
// The functions are pure, and linear in nodes plus blocks. They know neither the real cores of a
// host nor the tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/core/placement/rank_map.h"
#include "common/core/result.h"

namespace scela {

inline constexpr std::uint32_t kMaxRanks = 1u << 24;  // of a job; guards against a mistyped -n

// A node that ranks may be placed on.
struct MapNode {
  std::string name;
  std::optional<std::uint32_t> slots;  // absent: not stated
};

// A program of the job, before its ranks are placed.
struct MapSegment {
  // The number of ranks, and the maximum per node, as the user stated them. Both are at least 1, or
  // absent.
  std::optional<std::uint32_t> np;
  std::optional<std::uint32_t> ppn;
  // Indices of the nodes that the program may use, in order. If empty, it may use all nodes.
  std::vector<std::uint32_t> nodes;
};

// The input of map_ranks(). The rules above explain it.
struct MapRequest {
  std::vector<MapNode> nodes;        // at least one, in host-list order
  std::vector<MapSegment> segments;  // in the order of the command line
  bool oversubscribe = false;        // ranks beyond the slots are allowed
  bool by_node = false;              // one rank on each node in turn
  bool counted = false;              // slots follow from reported processors
  // Says how the ranks of each program are numbered. as_placed: by placement. node_after_node: all
  // ranks of a node follow each other. in_turn: one rank per node in turn.
  enum class Numbered : std::uint8_t { as_placed, node_after_node, in_turn };
  Numbered numbered = Numbered::as_placed;
};

// The ranks of one program: [first, first + count).
struct SegmentRanks {
  Rank first = 0;
  Rank count = 0;
  friend bool operator==(const SegmentRanks&, const SegmentRanks&) = default;
};

// The result of map_ranks().
struct Mapping {
  RankMap map;                         // node numbers are positions in `nodes`
  std::vector<SegmentRanks> segments;  // one per segment of the request
};

// Places the ranks of all segments. Returns an error (kind usage) if a program has no ranks or too
// many, if they do not fit, or if there are no nodes. The error names the ranks, the slots and what
// to change.
Result<Mapping> map_ranks(const MapRequest& request);

}  // namespace scela
