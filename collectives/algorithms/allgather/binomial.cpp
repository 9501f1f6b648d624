#include <vector>

#include "collectives/algorithms/allgather/allgather.h"
#include "collectives/algorithms/allgather/gathered_places.h"
#include "collectives/algorithms/tree.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

// Returns the blocks that `rank` has not sent up itself, as up to two runs of ranks.
std::vector<Stretch> not_below(const Tree& tree, int rank) {
  std::vector<Stretch> found;
  if (rank > 0) found.push_back({0, rank});
  const int end = rank + subtree(tree, rank);
  if (end < tree.ranks) found.push_back({end, tree.ranks - end});
  return found;
}

}  // namespace

TaskList allgather_binomial(const Shape& shape, int rank) {
  Writer list;
  const GatheredPlaces places(shape, rank);
  // The tree's root is rank 0, so each subtree is a run of ranks that follow each other.
  const Tree tree{Tree::Form::nomial, shape.ranks, 0, 2};
  const std::vector<int> below = children(tree, rank);
  const int above = parent(tree, rank);
  for (const int child : below)
    list.receive(child, places.of(child, subtree(tree, child)));
  if (above != kNoParent) {
    for (const Stretch& run : not_below(tree, rank))
      list.receive(above, places.of(run.first, run.count));
  }
  places.put_own(list);
  for (const int child : below)
    list.wait_received(child, 1);
  if (above != kNoParent) {
    list.send(above, places.of(rank, subtree(tree, rank)));
    list.wait_received(above, static_cast<std::uint32_t>(not_below(tree, rank).size()));
  }
  for (const int child : children_largest_first(tree, rank)) {
    for (const Stretch& run : not_below(tree, child))
      list.send(child, places.of(run.first, run.count));
  }
  return places.done(list, 0);
}

}  // namespace scela::collectives
