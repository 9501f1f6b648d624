// Allreduces, N ranks (mixed-mode thesis, section 1.6 of its digest, names recursive doubling).
//
// Counts that are no power of two are cut into groups of one or two ranks (groups.h): the second of
// two gives its contribution to the first, and gets the result.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Groups exchange all that they have: log2 of the groups rounds, and two more where there are
// groups of two. Neighbours first, so that operands stay in order.
TaskList allreduce_recursive_doubling(const Shape& shape, int rank);
// Rabenseifner's: reduce-scatter by halving, then allgather by doubling, parts of the message as
// many as groups: twice the rounds, a part as often as it must. Neighbours first as well, so that
// operands stay in order; whose parts end where matters to nobody, since all get all.
TaskList allreduce_rabenseifner(const Shape& shape, int rank);
std::uint32_t rabenseifner_parts(const Shape& shape);
// Up a binomial tree and down again.
TaskList allreduce_reduce_bcast(const Shape& shape, int rank);
// Each of N parts is reduced on its way round a ring, and goes round again: 2 * (N - 1) rounds, two
// peers. It begins at another rank for each part: not for reductions that do not commute.
TaskList allreduce_ring(const Shape& shape, int rank);
std::uint32_t ring_parts(const Shape& shape);

// Up a tree on each node, recursive doubling among the nodes' leaders, down the trees again.
// Operands change places. Offload thesis, section 4.4.
TaskList allreduce_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
