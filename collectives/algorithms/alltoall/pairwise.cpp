// The partners of each step are those of a round-robin tournament, in which all ranks play in each
// step. All ranks but the last stand in a circle. In step i two ranks meet if the sum of their
// numbers is i, modulo the circle's size. A rank that would meet itself meets the last rank. If N
// is odd, all ranks stand in the circle, and a rank that would meet itself pauses.
#include <utility>

#include "collectives/algorithms/alltoall/alltoall.h"
#include "collectives/algorithms/alltoall/exchanged_places.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

int partner(int circle, int rank, int step) {
  if (rank != circle) {
    const int other = (step - rank + circle) % circle;
    return other == rank ? circle : other;
  }
  // Twice the partner's number is the step, modulo the circle's size.
  return step % 2 == 0 ? step / 2 : (step + circle) / 2;
}

}  // namespace

TaskList alltoall_pairwise(const Shape& shape, int rank) {
  Writer list;
  const ExchangedPlaces places(shape, rank);
  places.make_room(list);
  const int circle = shape.ranks - (shape.ranks % 2 == 0 ? 1 : 0);
  bool is_put = false;
  const auto put_own = [&] {
    if (!std::exchange(is_put, true)) places.put_own(list);
  };
  for (int step = 0; step < circle && shape.ranks > 1; ++step) {
    const int other = partner(circle, rank, step);
    if (other >= shape.ranks) continue;
    list.receive(other, places.from(other));
    list.send(other, places.given_to(other));
    put_own();
    list.wait_received(other, 1);
    list.wait_sent(other);
  }
  put_own();
  return places.done(list);
}

}  // namespace scela::collectives
