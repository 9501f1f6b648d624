#include "collectives/algorithms/scatter/scatter.h"
#include "collectives/algorithms/tree.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

TaskList scatter_sequential(const Shape& shape, int rank) {
  if (rank != shape.root) return scatter_flat(shape, rank);
  Writer list;
  const std::uint32_t segments = shape.segments;
  const auto place = [&](int of) {
    return input(static_cast<std::uint32_t>(of) * segments, segments);
  };
  for (const int child : children(flat_tree(shape), rank)) {
    list.send(child, place(child));
    list.wait_sent(child);
  }
  if (!shape.in_place) list.copy(place(rank), output(0, segments));
  return list.done(static_cast<std::uint32_t>(shape.ranks) * segments,
                   shape.in_place ? 0 : segments, 0);
}

}  // namespace scela::collectives
