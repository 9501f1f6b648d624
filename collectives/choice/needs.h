// What ranks need connections for, by the lists of a choice alone: nothing is run (O25, O39;
// offload thesis, section 4.5.2 and Tables 4.2 and 4.3).
#pragma once

#include <cstdint>

#include "collectives/choice/choice.h"

namespace scela::collectives {

// Of all ranks with all roots, whose connections and queue pairs are kept.
struct Needs {
  double peers = 0;  // mean
  std::uint32_t peers_most = 0;
  std::uint32_t peers_off_node_most = 0;
  // Ranks that speak with somebody off their node: 1 a node where leaders do alone.
  std::uint32_t ranks_off_node = 0;
  std::uint32_t queue_pairs_most = 0;           // kQueuePairsPerPeer for each peer
  std::uint32_t queue_pairs_off_node_most = 0;  // where ranks of a node need none
  std::uint32_t tasks_most = 0;                 // of one list, its message in one segment
};

// The row's algorithm can do what is asked (can()). Ranks follow each other, as many on each node
// as on the others, but for the last ones.
Needs needs_of(const Row& row, const Question& question);

}  // namespace scela::collectives
