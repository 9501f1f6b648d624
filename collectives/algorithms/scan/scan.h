// Scan algorithms for N ranks: rank r gets x0 op ... op xr. Operands stay in order, so the
// algorithms serve any reduction. The functions are pure, and the registry lists them.
//
// A function returns the task list (collectives/core/task_list.h) of the rank `rank` of a call: its
// sends, receives and reductions, in order. `shape` has all that the list depends on besides:
// ranks, root, segments, radix and nodes (collectives/core/shape.h). N is the number of ranks.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Each rank sends its result to the rank above, in segments: a rank passes a segment on before it
// waits for the next. It brackets from the left. There are N - 1 messages a segment, one behind the
// other.
TaskList scan_chain(const Shape& shape, int rank);
// In round i = 0, 1, ... a rank sends what it has, the sum of the 2^i ranks up to itself, to the
// rank 2^i ahead. There are ceil(log2 N) rounds with N - 2^i messages in each. Of these messages,
// floor(log2 N) follow each other.
TaskList scan_recursive_doubling(const Shape& shape, int rank);

}  // namespace scela::collectives
