// Allreduce algorithms for N ranks (mixed-mode thesis, section 1.6 of its digest, names recursive
// doubling). The functions are pure, and the registry lists them.
//
// If N is no power of two, ranks are cut into groups of one or two
// (collectives/algorithms/groups.h). The second rank of two gives its contribution to the first,
// and gets the result. Only the first ranks of groups take part in what the comments say.
//
// A function returns the task list (collectives/core/task_list.h) of the rank `rank` of a call: its
// sends, receives and reductions, in order. `shape` has all that the list depends on besides:
// ranks, root, segments, radix and nodes (collectives/core/shape.h). N is the number of ranks.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// In each round, pairs of groups exchange their reductions and combine them: log2 of the groups
// rounds, and two more if there are groups of two. Neighbours exchange first, so that operands stay
// in order.
TaskList allreduce_recursive_doubling(const Shape& shape, int rank);
// Rabenseifner's algorithm: a reduce-scatter by halving, then an allgather by doubling. The message
// has as many parts as there are groups. It takes twice the rounds, and each part travels no more
// often than it must. Neighbours exchange first here too, so that operands stay in order. It does
// not matter at which rank a part ends, since all ranks get all parts.
TaskList allreduce_rabenseifner(const Shape& shape, int rank);
// Returns the number of parts into which allreduce_rabenseifner() cuts a message
// (Algorithm::parts).
std::uint32_t rabenseifner_parts(const Shape& shape);
// Reduces up a binomial tree to rank 0, which broadcasts the result down the tree.
TaskList allreduce_reduce_bcast(const Shape& shape, int rank);
// Cuts the message into N parts. Each part is reduced on its way round a ring of ranks, and goes
// round again: 2 * (N - 1) rounds, two peers. Each part begins at another rank, so this does not
// serve reductions that do not commute.
TaskList allreduce_ring(const Shape& shape, int rank);
// Returns the number of parts into which allreduce_ring() cuts a message (Algorithm::parts).
std::uint32_t ring_parts(const Shape& shape);

// Reduces up a tree of each node to its leader, then by recursive doubling among the leaders, and
// broadcasts the result down the trees. Operands change places (offload thesis, section 4.4).
TaskList allreduce_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
