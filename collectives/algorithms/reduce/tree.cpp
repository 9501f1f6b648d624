// The trees are those of the mixed-mode thesis, section 1.6 of its digest. A reduction is its
// broadcast backwards.
#include "collectives/algorithms/tree.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/algorithms/boundary.h"
#include "collectives/algorithms/reduce/collect.h"
#include "collectives/algorithms/reduce/reduce.h"

namespace scela::collectives {

namespace {

// Receives the result from the tree's root, if that is not the operation's root.
void receive_result(int from, std::uint32_t segments, Writer& list) {
  list.wait_all_sent();  // in place, its contribution stood there
  Incoming incoming(list, from, segments, [](std::uint32_t segment) { return output(segment, 1); });
  for (std::uint32_t segment = 0; segment < segments; ++segment)
    incoming.next();
}

TaskList up(Tree tree, const Shape& shape, int rank) {
  if (!shape.commutes) tree.root = 0;
  Writer list;
  std::vector<Collected> low;
  std::vector<Collected> sources;
  for (const int child : children(tree, rank))
    (is_low(tree, child, shape.split) ? low : sources).push_back({child, false});
  const bool is_root = rank == shape.root;
  const Space own = is_root && shape.in_place ? Space::output : Space::input;
  const int above = rank == tree.root ? shape.root : parent(tree, rank);
  const bool is_leaf = sources.empty() && low.empty();
  const Space result = above == rank ? Space::output : is_leaf ? own : Space::scratch;

  Boundary boundary(list, can_split(tree) && shape.split > 0);
  const bool has_low = !low.empty();
  Collector of_low(list, std::move(low), own, result, shape.segments);
  // A rank that sends on a low level has children on low levels only, so its list is one stage.
  const bool sends_low = is_low(tree, rank, shape.split);
  for (std::uint32_t segment = 0; has_low && segment < shape.segments; ++segment) {
    of_low.collect(segment);
    if (sends_low) list.send(above, of_low.result(segment));
  }
  if (!sends_low) boundary.reach();
  Collector collector(list, std::move(sources), has_low ? result : own, result, shape.segments);
  for (std::uint32_t segment = 0; !(has_low && sends_low) && segment < shape.segments; ++segment) {
    collector.collect(segment);
    if (above != rank) list.send(above, collector.result(segment));
  }
  boundary.reach();
  if (is_root && rank != tree.root) receive_result(tree.root, shape.segments, list);
  return list.done(is_root && shape.in_place ? 0 : shape.segments, is_root ? shape.segments : 0,
                   std::max(of_low.scratch_blocks(), collector.scratch_blocks()));
}

}  // namespace

TaskList reduce_chain(const Shape& shape, int rank) {
  return up(chain_tree(shape), shape, rank);
}
TaskList reduce_binary(const Shape& shape, int rank) {
  return up(binary_tree(shape), shape, rank);
}
TaskList reduce_binomial(const Shape& shape, int rank) {
  return up(binomial_tree(shape), shape, rank);
}
TaskList reduce_k_nomial(const Shape& shape, int rank) {
  return up(k_nomial_tree(shape), shape, rank);
}

}  // namespace scela::collectives
