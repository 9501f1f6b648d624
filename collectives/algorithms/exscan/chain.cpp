#include "collectives/algorithms/exscan/exscan.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

TaskList first(const Shape& shape) {
  Writer list;
  const std::uint32_t segments = shape.segments;
  for (std::uint32_t segment = 0; shape.ranks > 1 && segment < segments; ++segment)
    list.send(1, shape.in_place ? output(segment, 1) : input(segment, 1));
  return list.done(shape.in_place ? 0 : segments, shape.in_place ? segments : 0, 0);
}

}  // namespace

TaskList exscan_chain(const Shape& shape, int rank) {
  if (rank == 0) return first(shape);
  Writer list;
  const std::uint32_t segments = shape.segments;
  const bool passes_on = rank + 1 < shape.ranks;
  // The first row of scratch is what is passed on. The rank's own contribution is copied there
  // before the rest comes. The rest is then received into the output, where the contribution is no
  // longer needed.
  if (passes_on)
    list.copy({shape.in_place ? Space::output : Space::input, 0, segments}, scratch(0, segments));
  Incoming incoming(list, rank - 1, segments,
                    [](std::uint32_t segment) { return output(segment, 1); });
  for (std::uint32_t segment = 0; segment < segments; ++segment) {
    incoming.next();
    if (!passes_on) continue;
    list.reduce_left(output(segment, 1), scratch(segment, 1));
    list.send(rank + 1, scratch(segment, 1));
  }
  return list.done(shape.in_place ? 0 : segments, segments, passes_on ? segments : 0);
}

}  // namespace scela::collectives
