#include "collectives/algorithms/scan/scan.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

TaskList scan_chain(const Shape& shape, int rank) {
  Writer list;
  const std::uint32_t segments = shape.segments;
  const bool in_place = shape.in_place;
  // In place, the rank's own contribution stands where the result is to be, so what comes needs
  // another place.
  const bool has_scratch = in_place && rank > 0;
  const auto target = [in_place](std::uint32_t segment) {
    return in_place ? scratch(segment, 1) : output(segment, 1);
  };
  const auto pass_on = [&](std::uint32_t segment) {
    if (rank + 1 < shape.ranks) list.send(rank + 1, output(segment, 1));
  };
  if (rank == 0) {
    if (!in_place) list.copy(input(0, segments), output(0, segments));
    for (std::uint32_t segment = 0; segment < segments; ++segment)
      pass_on(segment);
  } else {
    Incoming incoming(list, rank - 1, segments, target);
    for (std::uint32_t segment = 0; segment < segments; ++segment) {
      incoming.next();
      if (in_place)
        list.reduce_left(scratch(segment, 1), output(segment, 1));
      else
        list.reduce_right(input(segment, 1), output(segment, 1));
      pass_on(segment);
    }
  }
  return list.done(in_place ? 0 : segments, segments, has_scratch ? segments : 0);
}

}  // namespace scela::collectives
