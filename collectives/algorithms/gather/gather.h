// Gather algorithms for N ranks. N blocks without segments go to the root's output, each to its
// rank's place. A rank through which others send keeps their blocks in scratch, ordered by place
// (collectives/algorithms/tree.h), its own block first. The functions are pure, and the registry
// lists them.
//
// Digest of Kaiser, Hoefler et al., N1: binary, binomial, flat, sequential. The v form is the same
// list. Flat and sequential store nothing on the way, so they serve sizes that only the root knows.
//
// A function returns the task list (collectives/core/task_list.h) of the rank `rank` of a call: its
// sends, receives and reductions, in order. `shape` has all that the list depends on besides:
// ranks, root, segments, radix and nodes (collectives/core/shape.h). N is the number of ranks.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// The next five send up the tree in the name (collectives/algorithms/tree.h): N - 1 messages. There
// is one more if a subtree right below the root passes the last rank and goes on with rank 0, since
// its blocks then have two places in the output.
TaskList gather_flat(const Shape& shape, int rank);
TaskList gather_chain(const Shape& shape, int rank);
TaskList gather_binary(const Shape& shape, int rank);
TaskList gather_binomial(const Shape& shape, int rank);
TaskList gather_k_nomial(const Shape& shape, int rank);
// As flat, but a rank sends when the root asks for its block by a message of no bytes. The root
// asks a rank when it has the block of the rank before, so it is never flooded: 2 * (N - 1)
// messages.
TaskList gather_sequential(const Shape& shape, int rank);

// Ranks send to the first rank of their node, which sends all blocks of the node to the root. The
// ranks of the root's node send to the root directly.
TaskList gather_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
