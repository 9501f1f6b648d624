// Reduce-scatter algorithms for N ranks: each rank gets the reduction of one block. The functions
// are pure, and the registry lists them.
//
// A function returns the task list (collectives/core/task_list.h) of the rank `rank` of a call: its
// sends, receives and reductions, in order. `shape` has all that the list depends on besides:
// ranks, root, segments, radix and nodes (collectives/core/shape.h). N is the number of ranks.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// In each of N - 1 rounds a rank sends one rank the contribution to that rank's block, and receives
// one to its own. Contributions of ranks below it and of ranks above it are reduced apart, so that
// operands stay in order.
TaskList reduce_scatter_pairwise(const Shape& shape, int rank);
// Each block is reduced on its way round a ring of ranks: N - 1 rounds, two peers. Each block
// begins at another rank, so this does not serve reductions that do not commute.
TaskList reduce_scatter_ring(const Shape& shape, int rank);
// Recursive halving: in each round a rank exchanges half of the blocks that it still reduces with a
// rank at half the distance of the round before. There are log2 of the groups rounds
// (collectives/algorithms/groups.h), and two more if there are groups of two. Far ranks come first,
// so this does not serve reductions that do not commute.
TaskList reduce_scatter_halving(const Shape& shape, int rank);
// Reduces the whole message up a binomial tree, and scatters its blocks down: twice the tree's
// depth in rounds.
TaskList reduce_scatter_reduce_scatter(const Shape& shape, int rank);

}  // namespace scela::collectives
