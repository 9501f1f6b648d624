// Barrier algorithms: no rank's list ends before the lists of all ranks have begun. Messages have
// no bytes. The functions are pure, and the registry lists them.
//
// A function returns the task list (collectives/core/task_list.h) of the rank `rank` of a call: its
// sends, receives and reductions, in order. `shape` has all that the list depends on besides:
// ranks, root, segments, radix and nodes (collectives/core/shape.h). N is the number of ranks.
#pragma once

#include "collectives/core/shape.h"

namespace scela::collectives {

// With m the largest power of two up to N, m ranks exchange messages in pairs, at twice the
// distance in each round. One of these ranks is the proxy of each further rank. The further rank
// sends its proxy a message first, and the proxy sends one back when all have come. This takes log2
// m rounds, two more if N is not m, and m * log2 m + 2 * (N - m) messages (offload thesis, section
// 2.6.1, Table 2.2, powers of two only).
TaskList barrier_recursive_doubling(const Shape& shape, int rank);
// In each round a rank sends to radix - 1 ranks ahead, and receives from as many behind. Each
// message stands for radix times as many ranks as in the round before. There are ceil(log N)
// rounds, base radix, for any N (offload thesis, section 4.2.2: the peers of Bruck's allgather, k =
// radix - 1 ports).
TaskList barrier_dissemination(const Shape& shape, int rank);

// A leader of each node receives a message from each of its ranks, leaders run a dissemination
// barrier, and each leader sends a message to its ranks (offload thesis, section 4.4: arrival
// flags).
TaskList barrier_hierarchical(const Shape& shape, int rank);

}  // namespace scela::collectives
