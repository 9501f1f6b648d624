// The topologies of the nodes of a subtree, if the job asks for them. They come with Hello, are
// gathered with Ready, and go to the part that places ranks. Equal nodes share one entry. So a
// cluster of one kind of machine is one entry, however large, and its bytes travel over each link
// once. This part does not read the topologies.
//
// Children are not trusted. No child takes the room of another, and those above a node cannot
// change what the node has said in its own Hello. The agent's core uses this part, and one thread
// at a time calls it.
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

// Pairs of Topology::bytes() of a machine and the numbers of the nodes that have it. Nodes that do
// not say are in no pair.
using TopologyList = std::vector<std::pair<std::string, RankSet>>;
// The most bytes that one message holds, at 10 bytes for a range of nodes. Nodes beyond it count as
// saying nothing.
inline constexpr std::size_t kMaxTopologyBytes = std::size_t{120} << 10;
// The most bytes of one node's topology: more than that of any regular machine.
inline constexpr std::size_t kMaxOwnTopology = std::size_t{16} << 10;
// If the settings of all agents (msg::Start) have this line, the agents tell their topologies.
inline constexpr std::string_view kAskTopologies = "topology=1\n";

// Returns false if no agent that keeps to the protocol says that.
bool are_topologies(const TopologyList& list, std::string_view settings);

class Topologies {
 public:
  // A node has said Hello. `child` is the link of the next agent on the way to the node. `told` is
  // as Hello has it; empty says nothing. It replaces what others have said of the node.
  void hello(std::uint32_t child, std::uint32_t node, const std::string& told);
  // Adds topologies of nodes below that child. Nodes that are known already keep theirs.
  void add(std::uint32_t child, const TopologyList& list);
  // Returns at most kMaxTopologyBytes. Each child has an equal share, and what one leaves is for
  // the others.
  TopologyList list() const;

 private:
  using Kinds = std::map<std::string, RankSet>;

  std::map<std::uint32_t, Kinds> kinds_;  // by child
  RankSet told_;                          // nodes in it
};

}  // namespace scela::nla
