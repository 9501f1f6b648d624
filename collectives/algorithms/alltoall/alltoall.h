// Alltoall algorithms for N ranks (digest of Kaiser, Hoefler et al., N2: Bruck, pairwise, ring,
// flat). In place, all blocks that the rank gives are copied to scratch first, in the order of the
// ranks that follow it. The functions are pure, and the registry lists them.
//
// The v form of Bruck's would need the sizes of other ranks' blocks, so its blocks must be equal.
//
// A function returns the task list (collectives/core/task_list.h) of the rank `rank` of a call: its
// sends, receives and reductions, in order. `shape` has all that the list depends on besides:
// ranks, root, segments, radix and nodes (collectives/core/shape.h). N is the number of ranks.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Each rank sends to all others at once: one round, N - 1 messages a rank.
TaskList alltoall_flat(const Shape& shape, int rank);
// In step i a rank sends to the rank i ahead, while a message comes from the rank i behind: N - 1
// rounds, one message a rank.
TaskList alltoall_ring(const Shape& shape, int rank);
// In each step two ranks exchange with each other: N - 1 steps, or N for odd counts, in which each
// rank is left out once.
TaskList alltoall_pairwise(const Shape& shape, int rank);
// Bruck's algorithm: ceil(log_b N) rounds of b - 1 messages, where b is the radix. A block for the
// rank d ahead travels by the digits of d, base b: in round i by the i-th digit times b^i ranks.
TaskList alltoall_bruck(const Shape& shape, int rank);

// A leader of each node gets all blocks of its node's ranks. Leaders exchange them in pairs, and
// each sends its ranks the blocks for them (offload thesis, section 4.4). This takes 2 (N - L) + L
// (L - 1) messages for L nodes.
TaskList alltoall_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
