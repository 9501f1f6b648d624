#include "collectives/algorithms/tree.h"

#include <vector>

#include "collectives/algorithms/boundary.h"
#include "collectives/algorithms/gather/gather.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

// Receives what the children send: `receive(child)` posts the receives of a child, which sends
// `messages(child)` messages. Children on the levels that are split off come first, in a stage of
// their own. `put_own` is called when the first receives are posted.
template <typename Receive, typename PutOwn, typename Messages>
void take(const Tree& tree, const Shape& shape, int rank, Boundary& boundary, Writer& list,
          Receive receive, PutOwn put_own, Messages messages) {
  std::vector<int> low;
  std::vector<int> high;
  for (const int child : children(tree, rank))
    (is_low(tree, child, shape.split) ? low : high).push_back(child);
  const auto wait = [&](const std::vector<int>& below) {
    for (const int child : below)
      list.wait_received(child, static_cast<std::uint32_t>(messages(child)));
  };
  for (const int child : low)
    receive(child);
  if (!low.empty()) {
    put_own();
    wait(low);
  }
  if (!is_low(tree, rank, shape.split)) boundary.reach();
  for (const int child : high)
    receive(child);
  if (low.empty()) put_own();
  wait(high);
}

// The list of the root: all that comes has its place in the output.
TaskList root_of(const Tree& tree, const Shape& shape) {
  Writer list;
  Boundary boundary(list, can_split(tree) && shape.split > 0);
  const std::uint32_t segments = shape.segments;
  const auto place = [&](const Stretch& run) {
    return output(static_cast<std::uint32_t>(run.first) * segments,
                  static_cast<std::uint32_t>(run.count) * segments);
  };
  const auto coming = [&](int child) {
    return runs(tree, place_of(tree, child), subtree(tree, child));
  };
  take(
      tree, shape, shape.root, boundary, list,
      [&](int child) {
        for (const Stretch& run : coming(child))
          list.receive(child, place(run));
      },
      [&] {
        if (!shape.in_place) list.copy(input(0, segments), place({shape.root, 1}));
      },
      [&](int child) { return coming(child).size(); });
  return list.done(shape.in_place ? 0 : segments,
                   static_cast<std::uint32_t>(shape.ranks) * segments, 0);
}

// Sends all blocks that the rank has to its parent. If the parent is the root, they go in as many
// messages as they have runs of places there.
void send_up(const Tree& tree, int rank, std::uint32_t segments, Blocks all, Writer& list) {
  const int above = parent(tree, rank);
  if (above != tree.root) {
    list.send(above, all);
    return;
  }
  for (const Stretch& run : runs(tree, place_of(tree, rank), subtree(tree, rank))) {
    const std::uint32_t count = static_cast<std::uint32_t>(run.count) * segments;
    list.send(above, {all.space, all.first, count});
    all.first += count;
  }
}

TaskList up(const Tree& tree, const Shape& shape, int rank) {
  if (rank == shape.root) return root_of(tree, shape);
  Writer list;
  Boundary boundary(list, can_split(tree) && shape.split > 0);
  const std::uint32_t segments = shape.segments;
  if (subtree(tree, rank) == 1) {
    if (!is_low(tree, rank, shape.split)) boundary.reach();
    send_up(tree, rank, segments, input(0, segments), list);
    boundary.reach();
    return list.done(segments, 0, 0);
  }
  const std::uint32_t all = static_cast<std::uint32_t>(subtree(tree, rank)) * segments;
  take(
      tree, shape, rank, boundary, list,
      [&](int child) {
        const int behind = place_of(tree, child) - place_of(tree, rank);
        list.receive(child, scratch(static_cast<std::uint32_t>(behind) * segments,
                                    static_cast<std::uint32_t>(subtree(tree, child)) * segments));
      },
      [&] { list.copy(input(0, segments), scratch(0, segments)); }, [](int) { return 1; });
  send_up(tree, rank, segments, scratch(0, all), list);
  boundary.reach();
  return list.done(segments, 0, all);
}

}  // namespace

TaskList gather_flat(const Shape& shape, int rank) {
  return up(flat_tree(shape), shape, rank);
}
TaskList gather_chain(const Shape& shape, int rank) {
  return up(chain_tree(shape), shape, rank);
}
TaskList gather_binary(const Shape& shape, int rank) {
  return up(binary_tree(shape), shape, rank);
}
TaskList gather_binomial(const Shape& shape, int rank) {
  return up(binomial_tree(shape), shape, rank);
}
TaskList gather_k_nomial(const Shape& shape, int rank) {
  return up(k_nomial_tree(shape), shape, rank);
}

}  // namespace scela::collectives
