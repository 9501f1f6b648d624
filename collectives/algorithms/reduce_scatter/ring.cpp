#include "collectives/algorithms/reduce_scatter/reduce_scatter.h"
#include "collectives/algorithms/reduce_scatter/reduced_places.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

TaskList reduce_scatter_ring(const Shape& shape, int rank) {
  Writer list;
  const ReducedPlaces places(shape, rank);
  const int ranks = shape.ranks;
  if (ranks == 1) return places.done(list, places.own(), 0);
  const int left = (rank + ranks - 1) % ranks;
  const int right = (rank + 1) % ranks;
  // A block that comes in one step is sent on in the next. The last one is this rank's own.
  const auto block = [&](int step) { return (rank - step - 2 + 2 * ranks) % ranks; };
  const auto post = [&](int step) {
    if (step < ranks - 1) list.receive(left, places.row(0, block(step), 1));
  };
  post(0);
  post(1);
  list.send(right, places.given(left, 1));
  for (int step = 0; step < ranks - 1; ++step) {
    list.wait_received(left, 1);
    post(step + 2);
    const Blocks sum = places.row(0, block(step), 1);
    list.reduce_right(places.given(block(step), 1), sum);
    if (step < ranks - 2) list.send(right, sum);
  }
  return places.done(list, places.row(0, rank, 1), 1);
}

}  // namespace scela::collectives
