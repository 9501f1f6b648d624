// Exclusive scan algorithms: rank r gets x0 op ... op x(r-1). Rank 0 gets nothing: its output is
// left as it is, and has no blocks unless it is the input too. Operands stay in order, so the
// algorithms serve any reduction. The functions are pure, and the registry lists them.
//
// A function returns the task list (collectives/core/task_list.h) of the rank `rank` of a call: its
// sends, receives and reductions, in order. `shape` has all that the list depends on besides:
// ranks, root, segments, radix and nodes (collectives/core/shape.h). N is the number of ranks.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Each rank receives the reduction of all ranks below from the rank below, in segments. That is its
// output. It combines it with its own contribution and sends that to the rank above: N - 1 rounds.
TaskList exscan_chain(const Shape& shape, int rank);
// In round i = 0, 1, ... a rank sends the reduction that it has, of up to 2^i ranks up to itself,
// to the rank 2^i above: ceil(log2 N) rounds. Its output is the reduction of all that it receives,
// without its own contribution.
TaskList exscan_recursive_doubling(const Shape& shape, int rank);

}  // namespace scela::collectives
