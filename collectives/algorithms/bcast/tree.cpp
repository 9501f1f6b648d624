// Mixed-mode thesis, Figs 3.4 and 4.11: segments are passed on as they come. The thesis posts all
// receives at the start. Here as many are posted as keep the peer from waiting.
#include "collectives/algorithms/tree.h"

#include <vector>

#include "collectives/algorithms/bcast/bcast.h"
#include "collectives/algorithms/bcast/down.h"
#include "collectives/algorithms/boundary.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

void pass_on(const std::vector<int>& to, std::uint32_t segment, Writer& list) {
  for (const int child : to)
    list.send(child, output(segment, 1));
}

TaskList down(const Tree& tree, const Shape& shape, int rank) {
  Downwards way;
  way.from = parent(tree, rank);
  way.is_low = is_low(tree, rank, shape.split);
  way.is_split = can_split(tree) && shape.split > 0;
  for (const int child : children_largest_first(tree, rank))
    (is_low(tree, child, shape.split) ? way.low : way.first).push_back(child);
  return bcast_down(way, shape);
}

}  // namespace

TaskList bcast_down(const Downwards& way, const Shape& shape) {
  Writer list;
  Boundary boundary(list, way.is_split);
  // A rank on a low edge has no children on higher levels.
  if (way.is_low) boundary.reach();
  const std::vector<int>& at_once = way.is_low ? way.low : way.first;
  if (way.from != kNoParent) {
    Incoming incoming(list, way.from, shape.segments,
                      [](std::uint32_t segment) { return output(segment, 1); });
    for (std::uint32_t segment = 0; segment < shape.segments; ++segment) {
      incoming.next();
      pass_on(at_once, segment, list);
    }
  } else {
    for (std::uint32_t segment = 0; segment < shape.segments; ++segment)
      pass_on(at_once, segment, list);
  }
  boundary.reach();
  for (std::uint32_t segment = 0; !way.is_low && segment < shape.segments; ++segment)
    pass_on(way.low, segment, list);
  return list.done(0, shape.segments, 0);
}

TaskList bcast_flat(const Shape& shape, int rank) {
  return down(flat_tree(shape), shape, rank);
}
TaskList bcast_chain(const Shape& shape, int rank) {
  return down(chain_tree(shape), shape, rank);
}
TaskList bcast_binary(const Shape& shape, int rank) {
  return down(binary_tree(shape), shape, rank);
}
TaskList bcast_binomial(const Shape& shape, int rank) {
  return down(binomial_tree(shape), shape, rank);
}
TaskList bcast_k_nomial(const Shape& shape, int rank) {
  return down(k_nomial_tree(shape), shape, rank);
}

}  // namespace scela::collectives
