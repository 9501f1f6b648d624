#include "collectives/core/node_map.h"

#include <unordered_map>

namespace scela::collectives {

NodeMap::NodeMap(std::span<const int> node_by_rank) {
  std::unordered_map<int, int> numbers;
  for (const int node : node_by_rank) {
    const auto found = numbers.try_emplace(node, static_cast<int>(numbers.size())).first;
    if (found->second == nodes()) members_.emplace_back();
    members_[static_cast<std::size_t>(found->second)].push_back(ranks());
    of_.push_back(found->second);
  }
}

}  // namespace scela::collectives
