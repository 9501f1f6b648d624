// Reduce-scatters, N ranks: each gets the sum of one block.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Each rank gets the contributions to its block from all others, one a step: N - 1 rounds of a
// message. Those of ranks below and above it are summed apart, so that operands stay in order.
TaskList reduce_scatter_pairwise(const Shape& shape, int rank);
// Each block is reduced on its way round a ring: N - 1 rounds, two peers. It begins at another rank
// for each block: not for reductions that do not commute.
TaskList reduce_scatter_ring(const Shape& shape, int rank);
// Halves of what is left go to ranks that are half as far each time: log2 of the groups rounds
// (groups.h), and two more where there are groups of two. Far ranks come first: not for reductions
// that do not commute.
TaskList reduce_scatter_halving(const Shape& shape, int rank);
// Up a binomial tree as a whole, down as blocks: twice its depth in rounds.
TaskList reduce_scatter_reduce_scatter(const Shape& shape, int rank);

}  // namespace scela::collectives
