// The topologies of the nodes of a subtree, where the job asks: told with Hello, gathered with
// Ready, needed by who places ranks. Nodes alike are one entry, so that a cluster of one kind of
// machine is one, however large: its bytes travel over each link once. Nothing here reads them.
//
// Children are not trusted: none takes the room of another, and what a node has said in its own
// Hello is not said otherwise by those above it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
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
// A line of the settings that all agents have (msg::Start): they are to tell.
inline constexpr std::string_view kAskTopologies = "topology=1\n";

// False: no node says that, whose agent keeps to the protocol.
bool are_topologies(const TopologyList& list, std::string_view settings);

class Topologies {
 public:
  // `child`: who is the next on the way to the node. `told`: as Hello has it; empty says nothing.
  void hello(std::uint32_t child, std::uint32_t node, const std::string& told);
  // Of nodes below that child.
  void add(std::uint32_t child, const TopologyList& list);
  // At most kMostTopologyBytes, of which each child has an equal share; what one leaves is for the
  // others.
  TopologyList list() const;

 private:
  using Kinds = std::map<std::string, RankSet>;

  std::map<std::uint32_t, Kinds> kinds_;  // by child
  RankSet told_;                          // nodes that are in it
};

}  // namespace scela::nla
