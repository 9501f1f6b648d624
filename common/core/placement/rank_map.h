// The map of ranks to nodes: a list of blocks in rank order, as in PMI_process_mapping. launcher/
// makes it; agents (nla/) and the PMIx server (pmix/) read it.
//
// A block (first_node, nodes, ranks_per_node) places the next nodes*ranks_per_node ranks,
// ranks_per_node on each node from first_node on. A regular job of any size is one block, so the
// map is small enough to travel to every agent. Nodes are numbered in host-list order. A map is a
// value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/core/rank_set.h"

namespace scela {

// The map of a job's ranks.
class RankMap {
 public:
  // Places ranks_per_node ranks on each of the nodes from first_node on.
  struct Block {
    std::uint32_t first_node;
    std::uint32_t nodes;
    std::uint32_t ranks_per_node;
    friend bool operator==(const Block&, const Block&) = default;
  };

  // Appends the next `ranks` ranks of the job, on `node`. Merges them with the last block if the
  // pattern continues.
  void append(std::uint32_t node, std::uint32_t ranks);

  Rank size() const { return size_; }  // ranks in the job
  // Returns the blocks in the order of the ranks.
  const std::vector<Block>& blocks() const { return blocks_; }
  // Returns the ranks on one node.
  RankSet ranks_of(std::uint32_t node) const { return ranks_of(node, node + 1); }
  // Returns the ranks on the nodes [first_node, end_node). The cost is linear in the blocks.
  RankSet ranks_of(std::uint32_t first_node, std::uint32_t end_node) const;
  // Returns the node of a rank, or std::nullopt if the map has no such rank.
  std::optional<std::uint32_t> node_of(Rank rank) const;

  // Returns the value of the PMI key PMI_process_mapping, such as "(vector,(0,2,4))" for one block.
  std::string process_mapping() const;

  // Returns the map with these blocks. It neither checks nor merges them.
  static RankMap from_blocks(std::vector<Block> blocks);
  friend bool operator==(const RankMap&, const RankMap&) = default;

 private:
  std::vector<Block> blocks_;
  Rank size_ = 0;
};

}  // namespace scela
