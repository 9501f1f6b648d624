// Broadcast algorithms for N ranks. The message is cut into segments that travel one behind the
// other. A rank passes a segment on before it waits for the next, and has two receives posted. The
// functions are pure, and the registry lists them.
//
// A function returns the task list (collectives/core/task_list.h) of the rank `rank` of a call: its
// sends, receives and reductions, in order. `shape` has all that the list depends on besides:
// ranks, root, segments, radix and nodes (collectives/core/shape.h). N is the number of ranks.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// The next five send down the tree in the name (collectives/algorithms/tree.h): N - 1 messages a
// segment. The longest chain of messages is the tree's depth.
TaskList bcast_flat(const Shape& shape, int rank);
TaskList bcast_chain(const Shape& shape, int rank);
TaskList bcast_binary(const Shape& shape, int rank);
TaskList bcast_binomial(const Shape& shape, int rank);
TaskList bcast_k_nomial(const Shape& shape, int rank);
// As flat, but the root sends to a rank only when the rank before has received the whole message.
TaskList bcast_sequential(const Shape& shape, int rank);
// The message is cut into as many parts as there are ranks. They are scattered down a binomial
// tree, and travel on round a ring, but not to ranks that got them in the scatter. N - 1 messages
// go down the tree. Round the ring each rank but the root gets what is missing: N * (N - 1)
// messages less the sizes of all subtrees but the root's.
TaskList bcast_scatter_allgather(const Shape& shape, int rank);

// Sends down a binomial tree of the nodes' leaders, and from each leader down a tree of its node.
// The root is the leader of its node. This takes N - 1 messages a segment. Between nodes there is
// one less than the number of nodes.
TaskList bcast_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
