// Gather algorithms for N ranks. N blocks without segments go to the root's output, each to its
// rank's place. A rank that others send through keeps what it passes on in scratch, ordered by
// place (collectives/algorithms/tree.h), its own block first. The functions are pure, and
// the registry lists them.
//
// Digest of Kaiser, Hoefler et al., N1: binary, binomial, flat, sequential. The v form is the same
// list. Flat and sequential store nothing on the way, so they serve sizes that only the root knows.
//
// A function returns the list of rank `rank` of a call: its sends, receives and reductions. `shape`
// has all that the list depends on besides: ranks, root, segments, radix and nodes.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Sends up a tree: N - 1 messages. There is one more if the ranks of a subtree right below the root
// pass the last rank, since that subtree's blocks have two places.
TaskList gather_flat(const Shape& shape, int rank);
TaskList gather_chain(const Shape& shape, int rank);
TaskList gather_binary(const Shape& shape, int rank);
TaskList gather_binomial(const Shape& shape, int rank);
TaskList gather_k_nomial(const Shape& shape, int rank);
// Works as flat, but a rank sends when the root tells it to. The root tells a rank when it has all
// of the rank before, so it is never flooded: 2 * (N - 1) messages, half of them of no bytes.
TaskList gather_sequential(const Shape& shape, int rank);

// Ranks send to the first rank of their node, which sends all of it to the root. The ranks of the
// root's node send to the root directly.
TaskList gather_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
