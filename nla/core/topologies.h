// The topologies of the nodes of a subtree, where the job asks: told with Hello, gathered with
// Ready, needed by who places ranks. Nodes alike are one entry, so that a cluster of one kind of
// machine is one, however large: its bytes travel over each link once. Nothing here reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/core/rank_set.h"

namespace scela::nla {

// (Topology::bytes() of a machine, numbers of nodes that have it); nodes that do not say are in
// none.
using TopologyList = std::vector<std::pair<std::string, RankSet>>;
// What one message holds at 10 bytes for a range of nodes; nodes beyond it count as saying nothing.
inline constexpr std::size_t kMostTopologyBytes = std::size_t{120} << 10;
// Of one node: larger than that of any machine that is regular at all.
inline constexpr std::size_t kMostOwnTopology = std::size_t{16} << 10;

class Topologies {
 public:
  // `told`: as Hello has it; empty says nothing.
  void hello(std::uint32_t node, const std::string& told) {
    if (!told.empty()) nodes_[told].add(node);
  }
  void add(const TopologyList& list) {
    for (const auto& [bytes, nodes] : list)
      nodes_[bytes].add(nodes);
  }
  TopologyList list() const {
    TopologyList out;
    std::size_t size = 0;
    for (const auto& one : nodes_) {
      size += one.first.size() + 10 * (one.second.ranges().size() + 1);
      if (size <= kMostTopologyBytes) out.push_back(one);
    }
    return out;
  }

 private:
  std::map<std::string, RankSet> nodes_;
};

}  // namespace scela::nla
