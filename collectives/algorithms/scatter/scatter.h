// Scatter algorithms for N ranks: gathers backwards. A rank that others receive through keeps what
// it passes on in scratch, ordered by place (collectives/algorithms/tree.h), its own block first.
// The v form is the same list. The functions are pure, and the registry lists them.
//
// A function returns the list of rank `rank` of a call: its sends, receives and reductions. `shape`
// has all that the list depends on besides: ranks, root, segments, radix and nodes.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Sends down a tree: N - 1 messages, and one more if the ranks of a subtree right below the root
// pass the last rank.
TaskList scatter_flat(const Shape& shape, int rank);
TaskList scatter_chain(const Shape& shape, int rank);
TaskList scatter_binary(const Shape& shape, int rank);
TaskList scatter_binomial(const Shape& shape, int rank);
TaskList scatter_k_nomial(const Shape& shape, int rank);
// Works as flat, but the root begins with a rank when the rank before has its block.
TaskList scatter_sequential(const Shape& shape, int rank);

// The root sends all blocks of a node to its first rank, which passes them on. The ranks of the
// root's node get theirs from the root directly.
TaskList scatter_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
