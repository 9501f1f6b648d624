// Scatters: gathers backwards. Ranks that others receive through keep what they pass on in scratch,
// ordered by place (tree.h), their own first. The v form is the same list.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Down a tree: N - 1 messages, and one more where the ranks of a subtree right below the root pass
// the last rank.
TaskList scatter_flat(const Shape& shape, int rank);
TaskList scatter_chain(const Shape& shape, int rank);
TaskList scatter_binary(const Shape& shape, int rank);
TaskList scatter_binomial(const Shape& shape, int rank);
TaskList scatter_k_nomial(const Shape& shape, int rank);
// Flat, but the root begins with a rank when the one before it has its block.
TaskList scatter_sequential(const Shape& shape, int rank);

// To the first rank of each node all of its blocks, who passes them on; the root's node gets them
// from the root at once.
TaskList scatter_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
