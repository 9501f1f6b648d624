// Who meets whom is a tournament, in which all play in each step: the ranks but the last stand in a
// circle, in step i those meet whose numbers are i together, counted round, and who would meet
// itself meets the last. An odd count has a last one that is nobody.
#include <utility>

#include "collectives/algorithms/alltoall/alltoall.h"
#include "collectives/algorithms/alltoall/place.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

int partner(int circle, int rank, int step) {
  if (rank != circle) {
    const int other = (step - rank + circle) % circle;
    return other == rank ? circle : other;
  }
  // Twice whose number is the step's, counted round.
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
