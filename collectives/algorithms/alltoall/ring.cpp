#include "collectives/algorithms/alltoall/alltoall.h"
#include "collectives/algorithms/alltoall/exchanged_places.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

TaskList alltoall_ring(const Shape& shape, int rank) {
  Writer list;
  const ExchangedPlaces places(shape, rank);
  const auto post = [&](int i) {
    if (i >= shape.ranks) return;
    const int behind = (rank - i + shape.ranks) % shape.ranks;
    list.receive(behind, places.from(behind));
  };
  places.begin(list);
  post(1);
  for (int i = 1; i < shape.ranks; ++i) {
    const int ahead = (rank + i) % shape.ranks;
    post(i + 1);
    list.send(ahead, places.given_to(ahead));
    list.wait_received((rank - i + shape.ranks) % shape.ranks, 1);
    list.wait_sent(ahead);
  }
  return places.done(list);
}

}  // namespace scela::collectives
