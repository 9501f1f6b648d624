// Barriers: nobody's list ends before everybody's has begun. Messages have no bytes.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// The largest power of two of ranks exchanges in pairs, at twice the distance in each round; each
// of the others is stood in for by one of them, whom it tells that it came and who tells it when
// all have. Offload thesis, section 2.6.1, Table 2.2 (powers of two only). With m the largest power
// of two up to N: log2 m rounds and two for the others; m * log2 m + 2 * (N - m) messages.
TaskList barrier_recursive_doubling(const Shape& shape, int rank);
// In each round a rank sends to radix - 1 ranks ahead, and hears from as many behind, each standing
// for radix times as many as in the round before. ceil(log N) rounds, base radix, for any N
// (offload thesis, section 4.2.2: the peers of Bruck's allgather, k = radix - 1 ports).
TaskList barrier_dissemination(const Shape& shape, int rank);

// A leader of each node hears from its ranks, leaders disseminate, each tells its ranks (offload
// thesis, section 4.4: arrival flags).
TaskList barrier_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
