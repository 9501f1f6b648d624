#include "collectives/algorithms/allgather/allgather.h"
#include "collectives/algorithms/allgather/gathered_places.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

TaskList allgather_neighbour_exchange(const Shape& shape, int rank) {
  if (shape.ranks % 2 != 0) return allgather_ring(shape, rank);
  Writer list;
  const GatheredPlaces places(shape, rank);
  const int ranks = shape.ranks;
  const bool even = rank % 2 == 0;
  // In round 0 the partner of an even rank is the rank above it, and that of an odd rank the one
  // below.
  const int first = even ? rank + 1 : rank - 1;
  const int second = even ? (rank - 1 + ranks) % ranks : (rank + 1) % ranks;
  const int pair = even ? rank : first;
  // In round i a neighbour brings the pair that it got in the round before. That pair came from as
  // far on the neighbour's side as rounds have passed. So what comes lies i / 2 pairs behind the
  // neighbour. This is rounded up: the first round, in which both had the same pair, does not
  // count.
  const auto brought = [&](int round) {
    const bool above = (round % 2 == 0) == even;
    const int pairs = (round + 1) / 2;
    return (pair + 2 * (above ? pairs : ranks - pairs)) % ranks;
  };
  const auto peer = [&](int round) { return round % 2 == 0 ? first : second; };

  list.receive(first, places.of(first, 1));
  for (int round = 1; round < ranks / 2; ++round)
    list.receive(peer(round), places.of(brought(round), 2));
  list.send(first, places.given());
  places.put_own(list);
  list.wait_received(first, 1);
  for (int round = 1; round < ranks / 2; ++round) {
    list.send(peer(round), places.of(round == 1 ? pair : brought(round - 1), 2));
    list.wait_received(peer(round), 1);
  }
  return places.done(list, 0);
}

}  // namespace scela::collectives
