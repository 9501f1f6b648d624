// Proves algorithms, and says what the proof counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithms/tree.h"
#include "collectives/core/shape.h"
#include "collectives/core/symbolic.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

std::string text(const Algorithm& algorithm, const Shape& shape);
// Ranks on nodes in several ways.
struct Placed {
  std::string how;
  std::shared_ptr<const NodeMap> nodes;
};
// All on one node; each on its own; `width` in turn on each; round robin over `width` nodes; and on
// nodes of 1, 2, 3, ... ranks, one round robin among them.
std::vector<Placed> placements(int ranks, int width);

// Numbers of ranks: from `least` to 130; under a sanitizer, which
// finds the same faults with fewer, those above 40 only where powers of two are near.
std::vector<int> up_to_130(int least = 1);
// Of all ranks.
std::vector<TaskList> lists_of(const Algorithm& algorithm, const Shape& shape);
// Checker and symbolic executor.
Counts prove(const Algorithm& algorithm, const Shape& shape);
// The checker, with blocks of these sizes: of each rank in turn where ranks have blocks of their
// own, else of the message.
void prove_sizes(const Algorithm& algorithm, const Shape& shape,
                 const std::vector<std::uint64_t>& sizes);

// 0, 1, the middle and the last: roots of which one is before, one behind what stands in the way.
std::vector<int> roots(int ranks);
// Each algorithm of the operation that does not go by nodes, with those shapes: segments 1, 2, 5 if
// it has any, radix 2, 3, 4, 8 likewise.
void each_shape(Operation operation, int ranks,
                const std::function<void(const Algorithm&, Shape)>& act);
// 1 to 130, and where `is_log` lets it, 1,000 and 4,096.
std::vector<int> rank_counts();
// Whether an algorithm has few enough messages for thousands of ranks.
bool is_for_thousands(const Algorithm& algorithm);

const Algorithm& algorithm(Operation operation, std::string_view name);

// The tree that an algorithm of that name goes by.
Tree tree_of(const Algorithm& algorithm, const Shape& shape);

// The most receives from one peer that are begun and not waited for.
std::uint32_t most_posted(const TaskList& list);

int ceil_log(int ranks, std::uint32_t base);

}  // namespace scela::collectives
