// Who speaks with whom, by the lists alone: what a communicator needs connections and queue pairs
// for. There is one set of them for all of its operations (offload thesis, section 4.3.2: calls
// come in the same order everywhere, so that nothing has to be told apart by a tag), so the census
// of several operations counts a peer once.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "collectives/core/node_map.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

// A connection's: for eager messages, for readiness to receive (CTS), and for long messages
// (section 4.4).
inline constexpr std::uint32_t kQueuePairsPerPeer = 3;

class Census {
 public:
  explicit Census(int ranks);
  // What `rank` does in one more operation.
  void add(int rank, const TaskList& list);

  // Those that it sends to, and those that it receives from. A peer may be of both, and is one
  // connection then.
  const std::set<int>& to(int rank) const { return at(rank).to; }
  const std::set<int>& from(int rank) const { return at(rank).from; }
  std::set<int> peers(int rank) const;
  // Peers that are not on its node.
  std::set<int> peers_off_node(int rank, const NodeMap& nodes) const;
  std::uint32_t queue_pairs(int rank) const;
  // Of the rank that has most.
  std::uint32_t most_queue_pairs() const;

 private:
  struct Rank {
    std::set<int> to;
    std::set<int> from;
  };
  const Rank& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  std::vector<Rank> ranks_;
};

}  // namespace scela::collectives
