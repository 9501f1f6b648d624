#include "collectives/algorithms/tree.h"

#include <algorithm>
#include <vector>

#include "collectives/algorithms/boundary.h"
#include "collectives/algorithms/scatter/scatter.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

// Returns the children with the largest subtrees first, but those on levels that are split off
// last.
std::vector<int> in_turn(const Tree& tree, const Shape& shape, int rank) {
  std::vector<int> found = children_largest_first(tree, rank);
  std::stable_partition(found.begin(), found.end(),
                        [&](int child) { return !is_low(tree, child, shape.split); });
  return found;
}

// The list of the root: all that it sends has its place in the input.
TaskList root_of(const Tree& tree, const Shape& shape) {
  Writer list;
  Boundary boundary(list, can_split(tree) && shape.split > 0);
  const std::uint32_t segments = shape.segments;
  const auto place = [&](const Stretch& run) {
    return input(static_cast<std::uint32_t>(run.first) * segments,
                 static_cast<std::uint32_t>(run.count) * segments);
  };
  for (const int child : in_turn(tree, shape, shape.root)) {
    if (is_low(tree, child, shape.split)) boundary.reach();
    for (const Stretch& run : runs(tree, place_of(tree, child), subtree(tree, child)))
      list.send(child, place(run));
  }
  boundary.reach();
  if (!shape.in_place) list.copy(place({shape.root, 1}), output(0, segments));
  return list.done(static_cast<std::uint32_t>(shape.ranks) * segments,
                   shape.in_place ? 0 : segments, 0);
}

// Receives all blocks of the rank's subtree from its parent. If the parent is the root, they come
// in as many messages as they have runs of places there.
void receive_from_above(const Tree& tree, int rank, std::uint32_t segments, Blocks all,
                        Writer& list) {
  const int above = parent(tree, rank);
  if (above != tree.root) {
    list.receive(above, all);
    list.wait_received(above, 1);
    return;
  }
  const std::vector<Stretch> parts = runs(tree, place_of(tree, rank), subtree(tree, rank));
  for (const Stretch& run : parts) {
    const std::uint32_t count = static_cast<std::uint32_t>(run.count) * segments;
    list.receive(above, {all.space, all.first, count});
    all.first += count;
  }
  list.wait_received(above, static_cast<std::uint32_t>(parts.size()));
}

TaskList down(const Tree& tree, const Shape& shape, int rank) {
  if (rank == shape.root) return root_of(tree, shape);
  Writer list;
  Boundary boundary(list, can_split(tree) && shape.split > 0);
  const std::uint32_t segments = shape.segments;
  const std::vector<int> below = in_turn(tree, shape, rank);
  if (is_low(tree, rank, shape.split)) boundary.reach();
  if (below.empty()) {
    receive_from_above(tree, rank, segments, output(0, segments), list);
    boundary.reach();
    return list.done(0, segments, 0);
  }
  const std::uint32_t all = static_cast<std::uint32_t>(subtree(tree, rank)) * segments;
  receive_from_above(tree, rank, segments, scratch(0, all), list);
  for (const int child : below) {
    if (is_low(tree, child, shape.split)) boundary.reach();
    const int behind = place_of(tree, child) - place_of(tree, rank);
    list.send(child, scratch(static_cast<std::uint32_t>(behind) * segments,
                             static_cast<std::uint32_t>(subtree(tree, child)) * segments));
  }
  boundary.reach();
  list.copy(scratch(0, segments), output(0, segments));
  return list.done(0, segments, all);
}

}  // namespace

TaskList scatter_flat(const Shape& shape, int rank) {
  return down(flat_tree(shape), shape, rank);
}
TaskList scatter_chain(const Shape& shape, int rank) {
  return down(chain_tree(shape), shape, rank);
}
TaskList scatter_binary(const Shape& shape, int rank) {
  return down(binary_tree(shape), shape, rank);
}
TaskList scatter_binomial(const Shape& shape, int rank) {
  return down(binomial_tree(shape), shape, rank);
}
TaskList scatter_k_nomial(const Shape& shape, int rank) {
  return down(k_nomial_tree(shape), shape, rank);
}

}  // namespace scela::collectives
