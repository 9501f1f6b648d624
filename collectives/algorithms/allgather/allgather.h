// Allgather algorithms for N ranks (offload thesis, sections 4.2 and 4.3; its digest: 1.5, 1.13).
// "b" is the radix, one more than the ports: a rank sends b - 1 messages at once. However a block
// travels, a rank receives each that is not its own once: N - 1. The functions are pure, and
// the registry lists them.
//
// All but Bruck's receive into the output's own places, so their v forms are the same lists.
//
// A function returns the list of rank `rank` of a call: its sends, receives and reductions. `shape`
// has all that the list depends on besides: ranks, root, segments, radix and nodes.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Each rank sends to all others: one round, N - 1 messages a rank.
TaskList allgather_direct(const Shape& shape, int rank);
// Blocks travel round a ring: N - 1 rounds, two peers. Segments travel one behind the other.
TaskList allgather_ring(const Shape& shape, int rank);
// If N is even, a rank exchanges with its two neighbours in turn and passes on what it got last,
// two blocks at a time: N / 2 rounds. If N is odd, this is a ring.
TaskList allgather_neighbour_exchange(const Shape& shape, int rank);
// Blocks go up a binomial tree and down again: twice its depth in rounds. Down go only the blocks
// that did not come up there. These are up to two messages to a child: the blocks before its own
// and those after.
TaskList allgather_binomial(const Shape& shape, int rank);
// Recursive doubling of any radix: ceil(log_b N) rounds.
TaskList allgather_standard_exchange(const Shape& shape, int rank);
// Takes the same number of rounds, and all ranks do the same. The result is turned into place at
// the end.
TaskList allgather_bruck(const Shape& shape, int rank);

// These are three of the algorithms above for lists that an adapter's engine executes without the
// process, in two protocols. An eager message goes block by block into scratch buffers; their
// receives are posted before the call. A rendezvous message goes whole to its place in the output,
// after the receiver has sent that its receive is posted.
TaskList allgather_eager_bruck(const Shape& shape, int rank);
TaskList allgather_eager_ring(const Shape& shape, int rank);
TaskList allgather_eager_standard_exchange(const Shape& shape, int rank);
TaskList allgather_rendezvous_bruck(const Shape& shape, int rank);
TaskList allgather_rendezvous_ring(const Shape& shape, int rank);
TaskList allgather_rendezvous_standard_exchange(const Shape& shape, int rank);

// Section 4.4: a leader of each node gets what the node's ranks give, leaders exchange it, and each
// leader gives its ranks all of it. A rank that is no leader exchanges messages only within its
// node.
TaskList allgather_hierarchical(const Shape& shape, int rank);  // standard exchange
TaskList allgather_hierarchical_bruck(const Shape& shape, int rank);
TaskList allgather_hierarchical_ring(const Shape& shape, int rank);
// Section 4.4.1: the ranks of a node form `radix` teams, which are taken for nodes. If a node has
// fewer ranks, it has as many teams as ranks.
TaskList allgather_multileader(const Shape& shape, int rank);
// Works as multileader, but leaders exchange only with those of the teams of the same number. Each
// leader then tells all ranks of its node what it has. The number of teams is at most the number of
// ranks on the smallest node.
TaskList allgather_multigroup(const Shape& shape, int rank);

}  // namespace scela::collectives
