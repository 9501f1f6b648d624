// Sections: the list of an algorithm for some ranks becomes part of a list for all ranks.
// Hierarchical algorithms use this for the exchange of leaders. The functions change only the
// writer that they get.
#pragma once

#include <functional>
#include <vector>

#include "collectives/algorithms/writer.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

// Returns where blocks of the section stand in the whole list: runs of blocks, in order.
using Where = std::function<std::vector<Blocks>(const Blocks&)>;
// Returns a mapping that leaves blocks in their places. With `in_place`, what the section reads
// from the input stands in the output.
Where same_place(bool in_place);

// Appends the tasks of `section` to `list`. Rank i of the section is rank members[i]. This leaves
// out the section's signals, and copies of blocks onto themselves.
//
// A message becomes as many messages as its blocks become runs, so `where` must cut it alike at
// both of its ends.
void append(Writer& list, const TaskList& section, const std::vector<int>& members,
            const Where& where);

}  // namespace scela::collectives
