#include "collectives/algorithms/allgather/allgather.h"
#include "collectives/algorithms/allgather/gathered_places.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

TaskList allgather_direct(const Shape& shape, int rank) {
  Writer list;
  const GatheredPlaces places(shape, rank);
  for (int i = 1; i < shape.ranks; ++i) {
    const int from = (rank - i + shape.ranks) % shape.ranks;
    list.receive(from, places.of(from, 1));
  }
  for (int i = 1; i < shape.ranks; ++i)
    list.send((rank + i) % shape.ranks, places.given());
  places.put_own(list);
  for (int i = 1; i < shape.ranks; ++i)
    list.wait_received((rank - i + shape.ranks) % shape.ranks, 1);
  return places.done(list, 0);
}

}  // namespace scela::collectives
