// A list of some ranks as a section of a list of all.
#pragma once

#include <functional>
#include <vector>

#include "collectives/algorithms/writer.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

// Where blocks of the section stand in the whole: runs of blocks, in order.
using Where = std::function<std::vector<Blocks>(const Blocks&)>;
// In the same places. `in_place`: what the section reads from the input stands in the output.
Where same_place(bool in_place);

// The tasks of `section`, a list of the ranks `members` in that order, behind those of `list`. Its
// signals are left out, and copies of blocks onto themselves.
//
// A message of blocks that are several runs is as many messages: `where` must cut it alike at both
// of its ends.
void append(Writer& list, const TaskList& section, const std::vector<int>& members,
            const Where& where);

}  // namespace scela::collectives
