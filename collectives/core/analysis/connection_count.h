// The census of peers: which ranks exchange messages, counted from the lists alone. It says how
// many connections and queue pairs a communicator needs. All operations of a communicator share one
// set of them. (Offload thesis, section 4.3.2: all ranks call in the same order, so messages need
// no tag.)
//
// So the census of several operations counts a peer once. collectives/choice/needs.cpp uses it. An
// object belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "collectives/core/node_map.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

// The queue pairs of a connection: for eager messages, for readiness to receive (CTS), and for long
// messages (section 4.4).
inline constexpr std::uint32_t kQueuePairsPerPeer = 3;

// Peers of each rank over all lists that were added. Ranks are numbered 0 to `ranks` - 1.
class Census {
 public:
  // Makes a census of `ranks` ranks without any peers.
  explicit Census(int ranks);
  // Adds the messages of the rank `rank` in one more operation, of which `list` is its list.
  void add(int rank, const TaskList& list);

  // Returns the ranks to which `rank` sends. A peer in both to() and from() is one connection.
  const std::set<int>& to(int rank) const { return at(rank).to; }
  // Returns the ranks from which `rank` receives.
  const std::set<int>& from(int rank) const { return at(rank).from; }
  // Returns the ranks that are in to() or in from().
  std::set<int> peers(int rank) const;
  // Returns the peers that are on other nodes.
  std::set<int> peers_off_node(int rank, const NodeMap& nodes) const;

 private:
  struct Rank {
    std::set<int> to;
    std::set<int> from;
  };
  const Rank& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  std::vector<Rank> ranks_;
};

}  // namespace scela::collectives
