// Sections: the list of an algorithm for some ranks becomes part of a list for all ranks.
// Hierarchical algorithms use this for the exchange of leaders. The functions change only the
// writer that they get.
#pragma once

#include <functional>
#include <vector>

#include "collectives/algorithms/writer.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

// Maps blocks of the section to blocks of the whole list: returns one or several sequences of
// consecutive blocks, in order.
using Where = std::function<std::vector<Blocks>(const Blocks&)>;
// Returns the mapping that keeps each block's space and number. If `in_place`, input blocks of the
// section become output blocks with the same numbers.
Where same_place(bool in_place);

// Appends the tasks of `section` to `list`, except its signals and copies of blocks onto
// themselves. Rank i of the section becomes the rank members[i], and its blocks become
// where(blocks).
//
// A message becomes as many messages as its blocks become sequences, so the sender's and the
// receiver's `where` must cut it alike.
void append(Writer& list, const TaskList& section, const std::vector<int>& members,
            const Where& where);

}  // namespace scela::collectives
