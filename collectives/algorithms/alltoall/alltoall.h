// Alltoall algorithms for N ranks (digest of Kaiser, Hoefler et al., N2: Bruck, pairwise, ring,
// flat). In place, all that the rank gives is copied to scratch first, in the order of the ranks
// that follow it. The functions are pure, and the registry lists them.
//
// The v form of Bruck's would need the sizes of other ranks' blocks, so its blocks must be equal.
//
// A function returns the list of rank `rank` of a call: its sends, receives and reductions. `shape`
// has all that the list depends on besides: ranks, root, segments, radix and nodes.
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
// Takes ceil(log_b N) rounds of b - 1 messages, where b is the radix. Each block moves by the
// digits, base b, of how far it has to go.
TaskList alltoall_bruck(const Shape& shape, int rank);

// A leader of each node gets all that its ranks give. Leaders exchange pair by pair, and each gives
// its ranks what they get (offload thesis, section 4.4). This takes 2 (N - L) + L (L - 1) messages
// for L nodes.
TaskList alltoall_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
