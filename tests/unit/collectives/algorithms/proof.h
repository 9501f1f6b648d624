// Proves algorithms, and returns what the proof counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/algorithms/tree.h"
#include "collectives/core/analysis/symbolic.h"
#include "collectives/core/shape.h"
#include "collectives/core/task_list.h"

namespace scela::collectives {

std::string text(const Algorithm& algorithm, const Shape& shape);
// A placement of ranks on nodes.
struct Placed {
  std::string how;
  std::shared_ptr<const NodeMap> nodes;
};
// Returns these placements: all ranks on one node; each on its own; `width` in turn on each; round
// robin over `width` nodes; and nodes of 1, 2, 3, ... ranks, one of them round robin.
std::vector<Placed> placements(int ranks, int width);

// Returns the numbers of ranks from `least` to 130. Under a sanitizer, fewer numbers find the same
// faults, so above 40 it returns only those near powers of two.
std::vector<int> up_to_130(int least = 1);
// Returns the lists of all ranks.
std::vector<TaskList> lists_of(const Algorithm& algorithm, const Shape& shape);
// Runs the checker and the symbolic executor.
Counts prove(const Algorithm& algorithm, const Shape& shape);
// Runs the checker with blocks of these sizes. If ranks have blocks of their own, the sizes are
// those of each rank in turn. If not, they are those of the message.
void prove_sizes(const Algorithm& algorithm, const Shape& shape,
                 const std::vector<std::uint64_t>& sizes);

// Returns 0, 1, the middle and the last rank as roots.
std::vector<int> roots(int ranks);
// Calls `act` with each algorithm of the operation that does not depend on nodes, in these shapes:
// segments 1, 2, 5 if it has segments, and radix 2, 3, 4, 8 if it has a radix.
void each_shape(Operation operation, int ranks,
                const std::function<void(const Algorithm&, Shape)>& act);
// Returns the numbers of up_to_130(), then 1,000 and 4,096.
std::vector<int> rank_counts();
// Returns true if an algorithm has few enough messages for thousands of ranks.
bool is_for_thousands(const Algorithm& algorithm);

const Algorithm& algorithm(Operation operation, std::string_view name);

// Returns the greatest number of edges from the root to a rank.
int depth(const Tree& tree);
// Returns the tree that the algorithm uses.
Tree tree_of(const Algorithm& algorithm, const Shape& shape);

// Returns the largest number of receives from one peer that are begun and not waited for.
std::uint32_t max_posted(const TaskList& list);

int ceil_log(int ranks, std::uint32_t base);

}  // namespace scela::collectives
