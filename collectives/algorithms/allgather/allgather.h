// Allgathers, N ranks. Offload thesis, sections 4.2 and 4.3 (its digest: 1.5, 1.13). "b" is the
// radix, one more than the ports: a rank sends b - 1 messages at once. However a block travels, a
// rank receives each that is not its own once: N - 1.
//
// All but Bruck's receive into the output's own places, so that their v forms are the same lists.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// Everyone sends to everyone: one round, N - 1 messages a rank.
TaskList allgather_direct(const Shape& shape, int rank);
// Round a ring, N - 1 rounds, two peers; segments travel one behind the other.
TaskList allgather_ring(const Shape& shape, int rank);
// Ranks of even counts talk to their two neighbours in turn and pass on what they got last, two
// blocks at a time: N / 2 rounds. Other counts are a ring.
TaskList allgather_neighbour_exchange(const Shape& shape, int rank);
// Up a binomial tree and down again: twice its depth in rounds. Down go only the blocks that did
// not come up there: up to two messages to a child, those before and those behind its own.
TaskList allgather_binomial(const Shape& shape, int rank);
// Recursive doubling of any radix: ceil(log_b N) rounds.
TaskList allgather_standard_exchange(const Shape& shape, int rank);
// The same number of rounds, all ranks alike; the result is turned into place at the end.
TaskList allgather_bruck(const Shape& shape, int rank);

// Three of these in the two protocols of offloaded ones (forms.h): block by block through buffers
// that are ready before the call, or in one piece to their place when the receiver says so.
TaskList allgather_eager_bruck(const Shape& shape, int rank);
TaskList allgather_eager_ring(const Shape& shape, int rank);
TaskList allgather_eager_standard_exchange(const Shape& shape, int rank);
TaskList allgather_rendezvous_bruck(const Shape& shape, int rank);
TaskList allgather_rendezvous_ring(const Shape& shape, int rank);
TaskList allgather_rendezvous_standard_exchange(const Shape& shape, int rank);

// Section 4.4: a leader of each node has what its ranks give, leaders exchange it, and give each of
// theirs all of it. Who is no leader speaks with nobody off its node.
TaskList allgather_hierarchical(const Shape& shape, int rank);  // standard exchange
TaskList allgather_hierarchical_bruck(const Shape& shape, int rank);
TaskList allgather_hierarchical_ring(const Shape& shape, int rank);
// Section 4.4.1. A node's ranks are `radix` teams (as many as it has ranks, if those are fewer),
// which are taken for nodes.
TaskList allgather_multileader(const Shape& shape, int rank);
// The same, but leaders exchange with those of the teams of the same number only, and each tells
// all ranks of its node what it has so. As many teams as the smallest node has ranks, at most.
TaskList allgather_multigroup(const Shape& shape, int rank);

}  // namespace scela::collectives
