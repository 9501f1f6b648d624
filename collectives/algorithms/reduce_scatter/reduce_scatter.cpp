#include <algorithm>

#include "collectives/algorithms/reduce/reduce.h"
#include "collectives/algorithms/reduce_scatter/reduce_scatter.h"
#include "collectives/algorithms/scatter/scatter.h"

namespace scela::collectives {

namespace {

constexpr auto kInput = static_cast<std::size_t>(Space::input);
constexpr auto kOutput = static_cast<std::size_t>(Space::output);
constexpr auto kScratch = static_cast<std::size_t>(Space::scratch);

}  // namespace

// Both stages are lists of their own operations. Between them the root has the whole result. It
// stands in scratch, behind what the reduction needs there, or in place in the root's output.
TaskList reduce_scatter_reduce_scatter(const Shape& shape, int rank) {
  const auto ranks = static_cast<std::uint32_t>(shape.ranks);
  Shape up = shape;
  up.operation = Operation::reduce;
  up.root = 0;
  up.split = 0;
  TaskList list = reduce_binomial(up, rank);
  const std::uint32_t rows = list.blocks[kScratch] * ranks;
  // Each segment of the reduction is as many blocks here as there are ranks.
  const auto widen = [&](Blocks& blocks) {
    blocks.first *= ranks;
    blocks.count *= ranks;
    if (shape.in_place && blocks.space == Space::input) blocks.space = Space::output;
    if (!shape.in_place && blocks.space == Space::output) {
      blocks.space = Space::scratch;
      blocks.first += rows;
    }
  };
  for (Task& task : list.tasks) {
    widen(task.from);
    widen(task.to);
  }
  list.tasks.pop_back();  // a signal that would end the list

  Shape down = shape;
  down.operation = Operation::scatter;
  down.root = 0;
  down.split = 0;
  TaskList rest = scatter_binomial(down, rank);
  for (Task& task : rest.tasks) {
    if (task.from.space != Space::input) continue;
    task.from.space = shape.in_place ? Space::output : Space::scratch;
    if (!shape.in_place) task.from.first += rows;
  }
  // Ranks keep what they pass on behind their own places, since scratch is like the message
  // (collectives/algorithms/scratch.h).
  const std::uint32_t before = rank == 0 ? 0 : static_cast<std::uint32_t>(rank) * shape.segments;
  for (Task& task : rest.tasks) {
    if (rank == 0) break;
    if (task.from.space == Space::scratch) task.from.first += before;
    if (task.to.space == Space::scratch) task.to.first += before;
  }
  list.tasks.insert(list.tasks.end(), rest.tasks.begin(), rest.tasks.end());
  const std::uint32_t all = ranks * shape.segments;
  list.blocks[kInput] = shape.in_place ? 0 : all;
  list.blocks[kOutput] = shape.in_place ? all : shape.segments;
  const std::uint32_t whole = rank == 0 && !shape.in_place ? all : 0;
  list.blocks[kScratch] = std::max(rows + whole, rest.blocks[kScratch] + before);
  return list;
}

}  // namespace scela::collectives
