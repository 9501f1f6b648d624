// Reductions to a root. Up a tree each rank brackets `own op first child op second child ...`,
// where children are in order; so operands are exchanged only where a tree's places are not the
// order of ranks, which is when its root is not rank 0. For a reduction that does not commute the
// tree's root is then rank 0, who sends the result to the root.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Up a tree (tree.h), in segments: a rank passes a segment on before it waits for the next. N - 1
// messages a segment; N where the result is sent to the root.
TaskList reduce_chain(const Shape& shape, int rank);
TaskList reduce_binary(const Shape& shape, int rank);
TaskList reduce_binomial(const Shape& shape, int rank);
TaskList reduce_k_nomial(const Shape& shape, int rank);
// All send to the root, who takes what comes from root - 1, root - 2, ... 0, then from root + 1,
// ... N - 1, with memory for two contributions: in order, whoever the root is.
TaskList reduce_flat(const Shape& shape, int rank);
// The same, but a rank sends when the root tells it to, who tells one when it has all of the one
// before (N1): N - 1 messages more, of no bytes.
TaskList reduce_sequential(const Shape& shape, int rank);

// Up a binomial tree of each node to its leader, and up one of the leaders to the root, who is the
// leader of its node. Operands change places.
TaskList reduce_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
