// Alltoalls, N ranks (digest of Kaiser, Hoefler et al., N2: Bruck, pairwise, ring, flat). In place,
// all that the rank gives is copied to scratch first, in the order of the ranks that follow it.
//
// The v form of Bruck's would need the sizes of blocks that are other ranks': its blocks are equal.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// All at once: one round, N - 1 messages a rank.
TaskList alltoall_flat(const Shape& shape, int rank);
// In step i to the rank i ahead, while one from i behind comes: N - 1 rounds, one message a rank.
TaskList alltoall_ring(const Shape& shape, int rank);
// In each step two ranks exchange with each other: N - 1 steps; N for odd counts, where each rank
// is left out once.
TaskList alltoall_pairwise(const Shape& shape, int rank);
// ceil(log_b N) rounds of b - 1 messages, b the radix: each block moves by the digits, base b, of
// how far it has to go.
TaskList alltoall_bruck(const Shape& shape, int rank);

// A leader of each node has all that its ranks give, leaders exchange pair by pair, and give each
// of theirs what it gets (offload thesis, section 4.4): 2 (N - L) + L (L - 1) messages, L nodes.
TaskList alltoall_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
