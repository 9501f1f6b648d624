#include "collectives/algorithms/alltoall/alltoall.h"
#include "collectives/algorithms/alltoall/exchanged_places.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

TaskList alltoall_flat(const Shape& shape, int rank) {
  Writer list;
  const ExchangedPlaces places(shape, rank);
  // Each rank begins with another peer: with the rank behind it for receives, and the rank ahead
  // for sends.
  const auto behind = [&](int i) { return (rank - i + shape.ranks) % shape.ranks; };
  places.make_room(list);
  for (int i = 1; i < shape.ranks; ++i)
    list.receive(behind(i), places.from(behind(i)));
  for (int i = 1; i < shape.ranks; ++i)
    list.send((rank + i) % shape.ranks, places.given_to((rank + i) % shape.ranks));
  places.put_own(list);
  for (int i = 1; i < shape.ranks; ++i)
    list.wait_received(behind(i), 1);
  return places.done(list);
}

}  // namespace scela::collectives
