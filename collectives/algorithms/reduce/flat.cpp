#include "collectives/algorithms/reduce/collect.h"
#include "collectives/algorithms/reduce/reduce.h"

namespace scela::collectives {

TaskList reduce_flat(const Shape& shape, int rank) {
  Writer list;
  if (rank != shape.root) {
    for (std::uint32_t segment = 0; segment < shape.segments; ++segment)
      list.send(shape.root, input(segment, 1));
    return list.done(shape.segments, 0, 0);
  }
  Collector collector(list, outwards(shape), shape.in_place ? Space::output : Space::input,
                      Space::output, shape.segments);
  for (std::uint32_t segment = 0; segment < shape.segments; ++segment)
    collector.collect(segment);
  return list.done(shape.in_place ? 0 : shape.segments, shape.segments, collector.scratch_blocks());
}

}  // namespace scela::collectives
