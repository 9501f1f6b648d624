// Scans: rank r gets x0 op ... op xr. In order, so for any reduction.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// From rank to rank, in segments: a rank passes a segment on before it waits for the next. Brackets
// from the left. N - 1 messages a segment, one behind the other.
TaskList scan_chain(const Shape& shape, int rank);
// In round i = 0, 1, ... a rank sends what it has, the sum of 2^i ranks up to itself, 2^i ranks
// ahead. ceil(log2 N) rounds, N - 2^i messages in each; floor(log2 N) of them follow each other.
TaskList scan_recursive_doubling(const Shape& shape, int rank);

}  // namespace scela::collectives
