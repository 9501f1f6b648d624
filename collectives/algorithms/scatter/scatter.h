// Scatter algorithms for N ranks: gathers backwards. A rank through which others receive keeps
// their blocks in scratch, ordered by place (collectives/algorithms/tree.h), its own block first.
// The v form is the same list. The functions are pure, and the registry lists them.
//
// A function returns the task list (collectives/core/task_list.h) of the rank `rank` of a call: its
// sends, receives and reductions, in order. `shape` has all that the list depends on besides:
// ranks, root, segments, radix and nodes (collectives/core/shape.h). N is the number of ranks.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// The next five send down the tree in the name (collectives/algorithms/tree.h): N - 1 messages.
// There is one more if a subtree right below the root passes the last rank and goes on with rank 0.
TaskList scatter_flat(const Shape& shape, int rank);
TaskList scatter_chain(const Shape& shape, int rank);
TaskList scatter_binary(const Shape& shape, int rank);
TaskList scatter_binomial(const Shape& shape, int rank);
TaskList scatter_k_nomial(const Shape& shape, int rank);
// As flat, but the root sends to a rank only when the rank before has its block.
TaskList scatter_sequential(const Shape& shape, int rank);

// The root sends all blocks of a node to the node's first rank, which sends each rank its block.
// The ranks of the root's node get theirs from the root directly.
TaskList scatter_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
