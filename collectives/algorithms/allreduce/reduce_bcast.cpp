#include "collectives/algorithms/allreduce/allreduce.h"
#include "collectives/algorithms/bcast/bcast.h"
#include "collectives/algorithms/reduce/reduce.h"

#include <algorithm>

namespace scela::collectives {

TaskList allreduce_reduce_bcast(const Shape& shape, int rank) {
  Shape half = shape;
  half.root = 0;
  half.operation = Operation::reduce;
  TaskList list = reduce_binomial(half, rank);
  // In place, all ranks have their contribution in the output, not only the root.
  if (shape.in_place) {
    for (Task& task : list.tasks) {
      if (task.from.space == Space::input) task.from.space = Space::output;
    }
    list.blocks[static_cast<std::size_t>(Space::input)] = 0;
  }
  list.tasks.pop_back();  // a signal that would end the list
  half.operation = Operation::bcast;
  const TaskList down = bcast_binomial(half, rank);
  list.tasks.insert(list.tasks.end(), down.tasks.begin(), down.tasks.end());
  for (std::size_t space = 0; space < std::size(list.blocks); ++space)
    list.blocks[space] = std::max(list.blocks[space], down.blocks[space]);
  return list;
}

}  // namespace scela::collectives
