// The ring of the offload thesis, section 4.2.3.
#include "collectives/algorithms/allgather/allgather.h"
#include "collectives/algorithms/allgather/gathered_places.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

TaskList allgather_ring(const Shape& shape, int rank) {
  Writer list;
  const GatheredPlaces places(shape, rank);
  places.put_own(list);
  const auto ranks = static_cast<std::uint32_t>(shape.ranks);
  const int left = (rank + shape.ranks - 1) % shape.ranks;
  const int right = (rank + 1) % shape.ranks;
  // Returns the item that comes and is sent on: segment by segment, the nearest rank's first.
  const auto passing = [&](std::uint32_t item) {
    const int behind = static_cast<int>(item / shape.segments);
    return places.segment((rank - behind + shape.ranks) % shape.ranks, item % shape.segments);
  };
  const std::uint32_t items = (ranks - 1) * shape.segments;
  Incoming incoming(list, left, items,
                    [&](std::uint32_t item) { return passing(item + shape.segments); });
  for (std::uint32_t item = 0; item < items; ++item) {
    // An item that comes must be here only when it is sent on, so the rank's own items go at once.
    if (item >= shape.segments) incoming.next();
    list.send(right, passing(item));
  }
  for (std::uint32_t rest = 0; rest < shape.segments && items > 0; ++rest)
    incoming.next();
  return places.done(list, 0);
}

}  // namespace scela::collectives
