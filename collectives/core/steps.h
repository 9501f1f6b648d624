// A list as the tables of the offload thesis have it (Table 4.1): step by step, what is received,
// what is sent, and the waits that end the step.
//
//   Step 0   recv from 1
//            send to 1
//            wait (1 recv CQ) from 1
//
// A receive stands in the step whose wait is for it, however early the list posts it: there,
// receives have queues of their own, which no wait holds up. Held sends stand where they are
// enabled. Copies and waits for sends are not in the tables.
#pragma once

#include <string>

#include "collectives/core/task_list.h"

namespace scela::collectives {

std::string steps_text(const TaskList& list);

}  // namespace scela::collectives
