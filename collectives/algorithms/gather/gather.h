// Gathers. N segment-less blocks go to the root's output, each to its rank's place. Ranks that
// others send through keep what they pass on in scratch, ordered by place (tree.h), their own
// first.
//
// Digest of Kaiser, Hoefler et al., N1: binary, binomial, flat, sequential. The v form is the same
// list; flat and sequential store nothing on the way, which is why they are the ones for sizes that
// only the root knows.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Up a tree: N - 1 messages, and one more where the ranks of a subtree right below the root pass
// the last rank, since what they send has two places then.
TaskList gather_flat(const Shape& shape, int rank);
TaskList gather_chain(const Shape& shape, int rank);
TaskList gather_binary(const Shape& shape, int rank);
TaskList gather_binomial(const Shape& shape, int rank);
TaskList gather_k_nomial(const Shape& shape, int rank);
// Flat, but a rank sends when the root tells it to, who tells one when it has all of the one
// before, and so is never flooded: 2 * (N - 1) messages, half of them of no bytes.
TaskList gather_sequential(const Shape& shape, int rank);

// To the first rank of each node, who sends all of it to the root; the root's node sends to the
// root at once.
TaskList gather_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
