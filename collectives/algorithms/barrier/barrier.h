// Barrier algorithms: no rank's list ends before the lists of all ranks have begun. Messages have
// no bytes. The functions are pure, and the registry lists them.
//
// A function returns the list of rank `rank` of a call: its sends, receives and reductions. `shape`
// has all that the list depends on besides: ranks, root, segments, radix and nodes.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// The largest power of two of ranks exchanges in pairs, at twice the distance in each round. One of
// these ranks is the proxy of each further rank. The further rank tells its proxy that it came, and
// the proxy tells it when all have come. Offload thesis, section 2.6.1, Table 2.2 (powers of two
// only). With m the largest power of two up to N: log2 m rounds and two for the others; m * log2 m
// + 2 * (N - m) messages.
TaskList barrier_recursive_doubling(const Shape& shape, int rank);
// In each round a rank sends to radix - 1 ranks ahead, and receives from as many behind. Each
// message stands for radix times as many ranks as in the round before. There are ceil(log N)
// rounds, base radix, for any N (offload thesis, section 4.2.2: the peers of Bruck's allgather, k =
// radix - 1 ports).
TaskList barrier_dissemination(const Shape& shape, int rank);

// A leader of each node receives a message from each of its ranks, leaders disseminate, and each
// leader tells its ranks (offload thesis, section 4.4: arrival flags).
TaskList barrier_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
