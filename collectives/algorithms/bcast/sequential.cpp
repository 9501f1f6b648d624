#include "collectives/algorithms/bcast/bcast.h"
#include "collectives/algorithms/tree.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

TaskList bcast_sequential(const Shape& shape, int rank) {
  if (rank != shape.root) return bcast_flat(shape, rank);
  Writer list;
  for (const int child : children(flat_tree(shape), rank)) {
    for (std::uint32_t segment = 0; segment < shape.segments; ++segment)
      list.send(child, output(segment, 1));
    list.wait_sent(child);
  }
  return list.done(0, shape.segments, 0);
}

}  // namespace scela::collectives
