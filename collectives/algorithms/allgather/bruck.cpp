// Offload thesis, section 4.2.2 (digest 1.5), in the other direction: blocks come from the ranks
// ahead. So scratch has the rank's own block first and then those of the ranks that follow.
#include <algorithm>

#include "collectives/algorithms/allgather/allgather.h"
#include "collectives/algorithms/allgather/gathered_places.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

// Calls act(ahead, count) for each message of the round that begins with `distance` blocks. `ahead`
// is how far ahead the sender is, and `count` is how many blocks the message has.
template <typename Act>
void each_message(const Shape& shape, int distance, Act act) {
  for (std::uint32_t i = 1; i < shape.radix; ++i) {
    const std::int64_t ahead = std::int64_t{i} * distance;
    if (ahead >= shape.ranks) return;
    act(static_cast<int>(ahead), std::min(distance, shape.ranks - static_cast<int>(ahead)));
  }
}

template <typename Act>
void each_round(const Shape& shape, Act act) {
  for (std::int64_t distance = 1; distance < shape.ranks; distance *= shape.radix)
    act(static_cast<int>(distance));
}

}  // namespace

TaskList allgather_bruck(const Shape& shape, int rank) {
  Writer list;
  const GatheredPlaces places(shape, rank);
  const int ranks = shape.ranks;
  const auto turned = [&](int first, int count) {
    return scratch(static_cast<std::uint32_t>(first) * shape.segments,
                   static_cast<std::uint32_t>(count) * shape.segments);
  };
  each_round(shape, [&](int distance) {
    each_message(shape, distance, [&](int ahead, int count) {
      list.receive((rank + ahead) % ranks, turned(ahead, count));
    });
  });
  list.copy(places.given(), turned(0, 1));
  each_round(shape, [&](int distance) {
    each_message(shape, distance, [&](int ahead, int count) {
      list.send((rank - ahead + ranks) % ranks, turned(0, count));
    });
    each_message(shape, distance,
                 [&](int ahead, int) { list.wait_received((rank + ahead) % ranks, 1); });
  });
  list.copy(turned(0, ranks - rank), places.of(rank, ranks - rank));
  if (rank > 0) list.copy(turned(ranks - rank, rank), places.of(0, rank));
  return places.done(list, static_cast<std::uint32_t>(ranks) * shape.segments);
}

}  // namespace scela::collectives
