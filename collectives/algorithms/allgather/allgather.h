// Allgather algorithms for N ranks (offload thesis, sections 4.2 and 4.3; its digest: 1.5, 1.13).
// "b" is the radix, one more than the ports: a rank sends b - 1 messages at once. However a block
// travels, a rank receives each that is not its own once: N - 1. The functions are pure, and the
// registry lists them.
//
// All but Bruck's receive into the output's own places, so their v forms are the same lists.
//
// A function returns the task list (collectives/core/task_list.h) of the rank `rank` of a call: its
// sends, receives and reductions, in order. `shape` has all that the list depends on besides:
// ranks, root, segments, radix and nodes (collectives/core/shape.h). N is the number of ranks.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Each rank sends its block to all others at once: one round, N - 1 messages a rank.
TaskList allgather_direct(const Shape& shape, int rank);
// Each rank passes the blocks from the rank below to the rank above: N - 1 rounds, two peers. The
// segments of a block travel one behind the other.
TaskList allgather_ring(const Shape& shape, int rank);
// If N is even, a rank exchanges with its two neighbours in turn and passes on what it got last,
// two blocks at a time: N / 2 rounds. If N is odd, this is a ring.
TaskList allgather_neighbour_exchange(const Shape& shape, int rank);
// Blocks go up a binomial tree and down again: twice its depth in rounds. A child gets only the
// blocks that it did not send up itself, in up to two messages: the blocks before those of its
// subtree, and those after.
TaskList allgather_binomial(const Shape& shape, int rank);
// Recursive doubling of any radix: in ceil(log_b N) rounds, ranks exchange all blocks that they
// have.
TaskList allgather_standard_exchange(const Shape& shape, int rank);
// Bruck's algorithm: as many rounds as the standard exchange, and all ranks do the same. Blocks are
// gathered in the order of the ranks from `rank` on, and copied to their places at the end.
TaskList allgather_bruck(const Shape& shape, int rank);

// The next six are three of the algorithms above for lists that an adapter's engine executes
// without the process, in two protocols (forms.h). An eager message goes block by block into
// scratch buffers; their receives are posted before the call. A rendezvous message goes whole to
// its place in the output, after the receiver has sent that its receive is posted.
TaskList allgather_eager_bruck(const Shape& shape, int rank);
TaskList allgather_eager_ring(const Shape& shape, int rank);
TaskList allgather_eager_standard_exchange(const Shape& shape, int rank);
TaskList allgather_rendezvous_bruck(const Shape& shape, int rank);
TaskList allgather_rendezvous_ring(const Shape& shape, int rank);
TaskList allgather_rendezvous_standard_exchange(const Shape& shape, int rank);

// The next three: a leader of each node (its first rank) gets the blocks of the node's ranks,
// leaders exchange them by the algorithm in the name, by standard exchange in the first, and each
// leader sends all blocks to its ranks. A rank that is no leader exchanges messages only within its
// node (section 4.4).
TaskList allgather_hierarchical(const Shape& shape, int rank);
TaskList allgather_hierarchical_bruck(const Shape& shape, int rank);
TaskList allgather_hierarchical_ring(const Shape& shape, int rank);
// As hierarchical, but the ranks of a node form `radix` teams, each with a leader, and a team
// counts as a node. If a node has fewer ranks, it has as many teams as ranks (section 4.4.1).
TaskList allgather_multileader(const Shape& shape, int rank);
// As multileader, but a leader exchanges blocks only with the leaders of the teams of the same
// number on other nodes. Then each leader sends the blocks that it has to all ranks of its node.
// The number of teams is at most the number of ranks on the smallest node.
TaskList allgather_multigroup(const Shape& shape, int rank);

}  // namespace scela::collectives
