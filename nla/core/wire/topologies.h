// The topologies (processors, cores, sockets) of the nodes of a subtree, if the job asks for them.
// They come with msg::Hello, the first message of each agent. They are gathered with msg::Ready,
// which says that a subtree is complete, and go to the part of scela-run that places ranks. Equal
// nodes share one entry. So a cluster of one kind of machine is one entry, however large, and its
// bytes travel over each link once. This part does not read the topologies.
//
// The same class gathers the rendezvous points of training jobs (nla/core/job/meeting_ports.h),
// which only some nodes report.
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

// Pairs of a topology, as Topology::bytes() encodes it, and the numbers of the nodes that have it.
// Nodes that did not report one are in no pair.
using TopologyList = std::vector<std::pair<std::string, RankSet>>;
// The most bytes of a list, at 10 bytes for a range of nodes. Nodes beyond it are left out, as if
// they had reported nothing.
inline constexpr std::size_t kMaxTopologyBytes = std::size_t{120} << 10;
// The most bytes of one node's topology: more than that of any regular machine.
inline constexpr std::size_t kMaxOwnTopology = std::size_t{16} << 10;
// If the settings of all agents (msg::Start::settings) have this line, the agents send their
// topologies.
inline constexpr std::string_view kAskTopologies = "topology=1\n";

// The most bytes of a rendezvous point, or of the reason why a node has none. A point is an IPv6
// address with an interface, a blank and a port: 80 bytes at most.
inline constexpr std::size_t kMaxRendezvous = 512;
// If the settings of all agents have a line that begins so, some agents send a rendezvous point.
inline constexpr std::string_view kAskRendezvous = "rendezvous=";

// Checks a list from a child. Returns true if it is empty. Otherwise returns true if `settings` ask
// for topologies, no node occurs twice, and each topology has 1 to kMaxOwnTopology bytes.
bool are_topologies(const TopologyList& list, std::string_view settings);
// Checks a list of rendezvous points in the same way: `settings` must ask for them, and each text
// has 1 to kMaxRendezvous bytes.
bool are_rendezvous(const TopologyList& list, std::string_view settings);

// Holds what the nodes below one agent have reported.
class Topologies {
 public:
  // Takes the topology that a node sent in its own Hello; empty: it sent none. `child` is the link
  // of the child that leads to the node. It replaces what others have said of the node.
  void hello(std::uint32_t child, std::uint32_t node, const std::string& told);
  // Adds topologies of nodes below that child. Nodes that are known already keep theirs.
  void add(std::uint32_t child, const TopologyList& list);
  // Returns the list for msg::Ready, of at most kMaxTopologyBytes. Each child has an equal share,
  // and what one leaves is for the others.
  TopologyList list() const;

 private:
  // Topologies, each with the nodes that have it.
  using Kinds = std::map<std::string, RankSet>;

  std::map<std::uint32_t, Kinds> kinds_;  // by child
  RankSet told_;                          // nodes in it
};

}  // namespace scela::nla
