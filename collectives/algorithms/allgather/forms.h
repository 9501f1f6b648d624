// The two protocols of offloaded allgathers (offload thesis, section 4.3), as forms of a list.
// Either keeps a peer from sending before the receiver has a buffer. Both functions are pure, and
// any thread may call them.
#pragma once

#include "collectives/core/shape.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

// Returns the eager form of the list of the rank `rank` (section 4.3.1). Receives are posted before
// the lengths of blocks are known. So each block has an eager buffer of its own (a block of
// scratch), and a message of d blocks becomes d messages (Table 4.1). The rank's contribution is
// copied in at the start, and the result is copied out at the end. So the number of messages grows
// as the ranks, though the number of rounds grows as their logarithm.
TaskList eager(const Shape& shape, int rank, const TaskList& list);

// Returns the rendezvous form of a list (section 4.3.2). A rank that has posted a receive tells the
// sender so (a message of no bytes: CTS, clear to send), and a send waits for that. Messages keep
// their lengths and go to their final places. Nothing is copied that the list does not copy. All
// receives are posted at the start, so the list must have a place for each of its own. That costs
// one more round in all. The thesis posts them step by step and pays one round a step.
TaskList rendezvous(const TaskList& list);

}  // namespace scela::collectives
