// Reduce-scatter algorithms for N ranks: each rank gets the reduction of one block. The functions
// are pure, and the registry lists them.
//
// A function returns the list of rank `rank` of a call: its sends, receives and reductions. `shape`
// has all that the list depends on besides: ranks, root, segments, radix and nodes.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Each rank gets the contributions to its block from all others, one a step: N - 1 rounds of a
// message. Those of ranks below it and of ranks above it are summed apart, so that operands stay in
// order.
TaskList reduce_scatter_pairwise(const Shape& shape, int rank);
// Each block is reduced on its way round a ring: N - 1 rounds, two peers. Each block begins at
// another rank, so this does not serve reductions that do not commute.
TaskList reduce_scatter_ring(const Shape& shape, int rank);
// Halves of what is left go to ranks that are half as far each time: log2 of the groups rounds
// (collectives/algorithms/groups.h), and two more if there are groups of two. Far ranks come first,
// so this does not serve reductions that do not commute.
TaskList reduce_scatter_halving(const Shape& shape, int rank);
// The message goes up a binomial tree as a whole, and down as blocks: twice its depth in rounds.
TaskList reduce_scatter_reduce_scatter(const Shape& shape, int rank);

}  // namespace scela::collectives
