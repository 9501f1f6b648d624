// Exclusive scan algorithms: rank r gets x0 op ... op x(r-1). Rank 0 gets nothing: its output is
// left as it is, and has no blocks unless it is the input too. Operands stay in order, so the
// algorithms serve any reduction. The functions are pure, and the registry lists them.
//
// A function returns the list of rank `rank` of a call: its sends, receives and reductions. `shape`
// has all that the list depends on besides: ranks, root, segments, radix and nodes.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Receives the reduction of all ranks below from the rank below, in segments. That is the output.
// Combined with the rank's own contribution it goes to the rank above: N - 1 rounds.
TaskList exscan_chain(const Shape& shape, int rank);
// In round i = 0, 1, ... a rank sends what it has combined, of the 2^i ranks up to itself, to the
// rank 2^i above: ceil(log2 N) rounds. What it received, without its own contribution, is the
// output.
TaskList exscan_recursive_doubling(const Shape& shape, int rank);

}  // namespace scela::collectives
