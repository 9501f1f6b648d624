// The connections that ranks need, computed from the lists of a choice alone: nothing is run (O25,
// O39; offload thesis, section 4.5.2 and Tables 4.2 and 4.3). scela-perf uses it. needs_of() is
// pure, and any thread may call it.
#pragma once

#include <cstdint>

#include "collectives/choice/choice.h"

namespace scela::collectives {

// The maxima over all ranks, and over all roots of operations with a root, since connections and
// queue pairs are kept from one call to the next.
struct Needs {
  double peers = 0;  // mean over the ranks
  std::uint32_t max_peers = 0;
  std::uint32_t max_peers_off_node = 0;
  // The number of ranks with a peer off their node: one for each node if only leaders have one.
  std::uint32_t ranks_off_node = 0;
  std::uint32_t max_queue_pairs = 0;           // kQueuePairsPerPeer for each peer
  std::uint32_t max_queue_pairs_off_node = 0;  // same, if ranks of a node need none
  std::uint32_t max_tasks = 0;                 // tasks of one list with one segment
};

// Returns the needs of a row for a question. Its algorithm must be able to do what is asked
// (can()). The ranks of a node are taken to be consecutive. All nodes have the same number of
// ranks, except the last ones.
Needs needs_of(const Row& row, const Question& question);

}  // namespace scela::collectives
