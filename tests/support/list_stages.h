// The stages of a list with a split (docs/design/algorithms.md, "Split trees"): the tree levels
// nearest the leaves stand apart (Denis et al., RR-9160; P2). Half of all messages belong to the
// lowest level. If the application carries out the low levels, their cost is spread over all cores.
// A progress thread or an engine runs the levels above beside it.
//
// Operations that move data from the leaves begin with the application's part, and those that move
// it from the root end with it, by the flow of the data. The report's text has them the other way
// round. stages() is pure, and any thread may call it.
#pragma once

#include <algorithm>
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
inline std::vector<Stage> stages(const Shape& shape, const TaskList& list) {
  if (shape.split == 0) return {{false, list}};
  const bool from_leaves =
      shape.operation != Operation::bcast && shape.operation != Operation::scatter;
  std::vector<Stage> found;
  auto next = list.tasks.begin();
  while (next != list.tasks.end()) {
    auto end = std::find_if(next, list.tasks.end(),
                            [](const Task& task) { return task.kind == Kind::signal; });
    if (end != list.tasks.end()) ++end;
    Stage& stage = found.emplace_back();
    stage.of_application = (found.size() % 2 != 0) == from_leaves;
    stage.list.tasks.assign(next, end);
    std::ranges::copy(list.blocks, stage.list.blocks);
    next = end;
  }
  return found;
}

}  // namespace scela::collectives
