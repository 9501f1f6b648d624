// Algorithms that reduce to a root, for N ranks. Up a tree each rank brackets `own op first child
// op second child ...`, with its children in order. So operands change places only if a tree's
// places are not the order of ranks, which is so if its root is not rank 0. For a reduction that
// does not commute the tree's root is rank 0, which sends the result to the operation's root. The
// functions are pure, and the registry lists them.
//
// A function returns the task list (collectives/core/task_list.h) of the rank `rank` of a call: its
// sends, receives and reductions, in order. `shape` has all that the list depends on besides:
// ranks, root, segments, radix and nodes (collectives/core/shape.h). N is the number of ranks.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// The next four reduce up the tree in the name (collectives/algorithms/tree.h), in segments: a rank
// passes a segment on before it waits for the next. There are N - 1 messages a segment; N if rank 0
// sends the result to the root.
TaskList reduce_chain(const Shape& shape, int rank);
TaskList reduce_binary(const Shape& shape, int rank);
TaskList reduce_binomial(const Shape& shape, int rank);
TaskList reduce_k_nomial(const Shape& shape, int rank);
// All ranks send to the root. The root combines the contributions of root - 1, root - 2, ... 0,
// then those of root + 1, ... N - 1, with memory for two. So operands stay in order for any root.
TaskList reduce_flat(const Shape& shape, int rank);
// As flat, but a rank sends when the root asks for its contribution by a message of no bytes. The
// root asks a rank when it has that of the rank before (N1): N - 1 more messages.
TaskList reduce_sequential(const Shape& shape, int rank);

// Reduces up a binomial tree of each node to its leader, and up a tree of the leaders to the root.
// The root is the leader of its node. Operands change places.
TaskList reduce_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
