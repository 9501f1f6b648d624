// Lists in which the levels of a tree nearest the leaves stand apart (Denis et al., RR-9160; P2):
// half of all messages are of the lowest level. Stretch by the application, they are spread over
// all cores; what is above them is run beside it, by a progress thread or an engine. With `split`
// levels of ceil(log2 N) below the cut, from 0 (all beside the application) up.
//
// What comes from the leaves begins with the application's part, what comes from the root ends with
// it, by the flow of the data: the report's text has them the other way round.
#pragma once

#include <vector>

#include "collectives/core/shape.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

struct Stage {
  bool of_application = false;
  TaskList list;  // complete: it may be run by whoever, when those before it are over
};

// The list of an algorithm that has_split, made for this shape. Without a split: one stage.
std::vector<Stage> stages(const Shape& shape, const TaskList& list);

}  // namespace scela::collectives
