#include "common/core/placement/rank_map.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela {

void RankMap::append(std::uint32_t node, std::uint32_t ranks) {
  if (ranks == 0) return;
  size_ += ranks;
  if (!blocks_.empty()) {
    Block& last = blocks_.back();
    if (last.ranks_per_node == ranks && last.first_node + last.nodes == node) {
      ++last.nodes;
      return;
    }
  }
  blocks_.push_back({node, 1, ranks});
}

RankSet RankMap::ranks_of(std::uint32_t first_node, std::uint32_t end_node) const {
  RankSet out;
  Rank base = 0;
  for (const Block& block : blocks_) {
    const std::uint32_t from = std::max(first_node, block.first_node);
    const std::uint32_t to = std::min(end_node, block.first_node + block.nodes);
    if (from < to) {
      out.add(RankSet::run(base + (from - block.first_node) * block.ranks_per_node,
                           (to - from) * block.ranks_per_node));
    }
    base += block.nodes * block.ranks_per_node;
  }
  return out;
}

std::optional<std::uint32_t> RankMap::node_of(Rank rank) const {
  Rank base = 0;
  for (const Block& block : blocks_) {
    const Rank ranks = block.nodes * block.ranks_per_node;
    if (rank - base < ranks) return block.first_node + (rank - base) / block.ranks_per_node;
    base += ranks;
  }
  return std::nullopt;
}

std::string RankMap::process_mapping() const {
  std::string out = "(vector";
  for (const Block& block : blocks_) {
    out += cat(",(", block.first_node, ",", block.nodes, ",", block.ranks_per_node, ")");
  }
  return out + ")";
}

RankMap RankMap::from_blocks(std::vector<Block> blocks) {
  RankMap map;
  for (const Block& block : blocks)
    map.size_ += block.nodes * block.ranks_per_node;
  map.blocks_ = std::move(blocks);
  return map;
}

}  // namespace scela
