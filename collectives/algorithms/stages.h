// Stages: the tree levels nearest the leaves stand apart in a list (Denis et al., RR-9160; P2).
// Half of all messages belong to the lowest level. If the application carries out the low levels,
// their cost is spread over all cores. A progress thread or an engine runs the levels above beside
// it. `split` of the tree's levels, of which a binomial tree has ceil(log2 N), lie below the cut.
// If it is 0, all levels run beside the application.
//
// What comes from the leaves begins with the application's part, and what comes from the root ends
// with it, by the flow of the data. The report's text has them the other way round. stages() is
// pure, and any thread may call it.
#pragma once

#include <vector>

#include "collectives/core/shape.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

// A part of a list. All stages are run one after the other.
struct Stage {
  // If true, the application's thread executes the stage. Otherwise a progress thread or an engine
  // does.
  bool of_application = false;
  TaskList list;  // complete; its last task is a signal
};

// Returns the stages of a list of an algorithm that has_split, made for this shape, in the order in
// which they are run. Without a split, there is one stage.
std::vector<Stage> stages(const Shape& shape, const TaskList& list);

}  // namespace scela::collectives
