// Offload thesis, section 4.4, with sums for blocks: a reduction up a tree on each node, recursive
// doubling among the leaders, and a broadcast down the trees. A node's ranks need not follow each
// other, so operands change places.
#include <algorithm>

#include "collectives/algorithms/allreduce/allreduce.h"
#include "collectives/algorithms/bcast/bcast.h"
#include "collectives/algorithms/groups.h"
#include "collectives/algorithms/hierarchy.h"
#include "collectives/algorithms/reduce/reduce.h"
#include "collectives/algorithms/section.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

constexpr auto kScratch = static_cast<std::size_t>(Space::scratch);

// Returns whether another leader stands in for this one (collectives/algorithms/groups.h). Such a
// leader receives the result over what it had, so what its node has must stand elsewhere.
bool is_ward(int leaders, int leader) {
  const Groups groups(leaders, 2);
  return leader != groups.first(groups.of(leader));
}

// Returns a mapping that leaves blocks in their places, except that those of `space` stand in
// scratch, behind `before` blocks.
Where kept_apart(Space space, std::uint32_t before) {
  return [space, before](const Blocks& blocks) {
    if (blocks.space != space) return std::vector<Blocks>{blocks};
    return std::vector<Blocks>{scratch(before + blocks.first, blocks.count)};
  };
}

}  // namespace

TaskList allreduce_hierarchical(const Shape& shape, int rank) {
  const Hierarchy hierarchy(shape, Hierarchy::kNoRoot);
  const int leaders = hierarchy.nodes().nodes();
  const int node = hierarchy.node_of(rank);
  const std::vector<int>& members = hierarchy.members(node);
  const int number = hierarchy.number(rank);
  Shape on_node = shape;
  on_node.nodes = nullptr;
  on_node.split = 0;
  on_node.operation = Operation::reduce;
  on_node.ranks = static_cast<int>(members.size());
  on_node.root = 0;

  Writer list;
  const TaskList up = reduce_binomial(on_node, number);
  const std::uint32_t before = up.blocks[kScratch];
  const bool apart = number == 0 && !shape.in_place && is_ward(leaders, node);
  std::uint32_t scratch_blocks = before + (apart ? shape.segments : 0);
  append(list, up, members, apart ? kept_apart(Space::output, before) : same_place(shape.in_place));
  list.signal();
  if (number == 0) {
    Shape among_leaders = on_node;
    among_leaders.operation = Operation::allreduce;
    among_leaders.ranks = leaders;
    among_leaders.in_place = !apart;
    const TaskList across = allreduce_recursive_doubling(among_leaders, node);
    scratch_blocks = std::max(scratch_blocks, across.blocks[kScratch]);
    append(list, across, hierarchy.leaders(),
           apart ? kept_apart(Space::input, before) : same_place(true));
    list.signal();
  }
  on_node.operation = Operation::bcast;
  append(list, bcast_binomial(on_node, number), members, same_place(true));
  return list.done(shape.in_place ? 0 : shape.segments, shape.segments, scratch_blocks);
}

}  // namespace scela::collectives
