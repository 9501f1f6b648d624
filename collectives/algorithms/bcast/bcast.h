// Broadcasts. The message is segments that travel one behind the other: a rank passes a segment on
// before it waits for the next, and has two receives posted.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Down a tree (tree.h). N - 1 messages a segment; the longest way is the tree's depth.
TaskList bcast_flat(const Shape& shape, int rank);
TaskList bcast_chain(const Shape& shape, int rank);
TaskList bcast_binary(const Shape& shape, int rank);
TaskList bcast_binomial(const Shape& shape, int rank);
TaskList bcast_k_nomial(const Shape& shape, int rank);
// Flat, but the root begins with a rank when the one before it has all.
TaskList bcast_sequential(const Shape& shape, int rank);
// The message is cut into as many parts as there are ranks. They are scattered down a binomial
// tree, and travel on round a ring, but not to ranks that the scatter has given them to.
// N - 1 messages down the tree. Round the ring each rank but the root gets what is missing:
// N * (N - 1) less the sizes of all subtrees but the root's.
TaskList bcast_scatter_allgather(const Shape& shape, int rank);

// Down a binomial tree of the nodes' leaders, and from each of those down one of its node. The root
// is the leader of its node. N - 1 messages a segment, one less than nodes of them between nodes.
TaskList bcast_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
