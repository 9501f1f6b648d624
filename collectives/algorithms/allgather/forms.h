// The two protocols of offloaded allgathers (offload thesis, section 4.3), as forms of a list.
// Either keeps a peer from sending before there is somewhere to receive.
#pragma once

#include "collectives/core/shape.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

// Section 4.3.1: receives are posted before anybody knows how long blocks are, so each block has an
// eager buffer of its own (a block of scratch), and a message of d blocks is d messages (Table
// 4.1). What a rank gives is copied in at the start, the result is copied out at the end. So
// messages grow as the ranks though rounds grow as their logarithm.
TaskList eager(const Shape& shape, int rank, const TaskList& list);

// Section 4.3.2: who has posted a receive tells its sender so (a message of no bytes: CTS, clear to
// send), and a send waits for that. Messages keep their lengths and go to where they are to be:
// nothing is copied that the list does not copy. All receives are posted at the start, so the list
// must have a place for each of its own. That costs one more round in all; the thesis, which posts
// them step by step, pays one a step.
TaskList rendezvous(const TaskList& list);

}  // namespace scela::collectives
