#include "pmi/client/process_mapping.h"

#include <charconv>

namespace scela::pmi::client {

namespace {

struct Block {
  int first_node = 0;
  int nodes = 0;
  int ranks_each = 0;
};

bool skip(std::string_view& text, char wanted) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

bool number(std::string_view& text, int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

std::vector<Block> blocks_of(std::string_view text) {
  std::vector<Block> blocks;
  constexpr std::string_view kVector = "vector";
  if (!skip(text, '(') || text.substr(0, kVector.size()) != kVector) return {};
  text.remove_prefix(kVector.size());
  while (skip(text, ',')) {
    Block block;
    if (!skip(text, '(') || !number(text, block.first_node)) return {};
    if (!skip(text, ',') || !number(text, block.nodes)) return {};
    if (!skip(text, ',') || !number(text, block.ranks_each) || !skip(text, ')')) return {};
    if (block.nodes > 0 && block.ranks_each > 0) blocks.push_back(block);
  }
  if (!skip(text, ')')) return {};
  return blocks;
}

}  // namespace

std::vector<int> nodes_of_ranks(std::string_view mapping, int size) {
  const std::vector<Block> blocks = blocks_of(mapping);
  std::vector<int> node_of;
  while (!blocks.empty() && static_cast<int>(node_of.size()) < size) {
    for (const Block& block : blocks) {
      for (int node = 0; node < block.nodes && static_cast<int>(node_of.size()) < size; ++node) {
        for (int i = 0; i < block.ranks_each && static_cast<int>(node_of.size()) < size; ++i)
          node_of.push_back(block.first_node + node);
      }
    }
  }
  return node_of;
}

std::vector<int> ranks_beside(std::string_view mapping, int rank, int size) {
  const std::vector<int> node_of = nodes_of_ranks(mapping, size);
  std::vector<int> beside;
  if (rank < 0 || rank >= static_cast<int>(node_of.size())) return beside;
  for (int other = 0; other < size; ++other) {
    if (node_of[static_cast<std::size_t>(other)] == node_of[static_cast<std::size_t>(rank)]) {
      beside.push_back(other);
    }
  }
  return beside;
}

}  // namespace scela::pmi::client
