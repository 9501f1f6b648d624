#include "collectives/algorithms/stages.h"

#include <algorithm>

namespace scela::collectives {

std::vector<Stage> stages(const Shape& shape, const TaskList& list) {
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
