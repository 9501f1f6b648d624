#include "collectives/algorithms/reduce_scatter/reduce_scatter.h"
#include "collectives/algorithms/reduce_scatter/reduced_places.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

// The rows of scratch: two that receive messages in turn, the sum of this rank and those below it,
// and the sum of those above.
constexpr std::uint32_t kTurns = 2;
constexpr std::uint32_t kBelow = 2;
constexpr std::uint32_t kAbove = 3;
constexpr std::uint32_t kRows = 4;

}  // namespace

// In step i the rank i behind sends: first the ranks below this one, descending, then the ranks
// above it, descending from the last.
TaskList reduce_scatter_pairwise(const Shape& shape, int rank) {
  Writer list;
  const ReducedPlaces places(shape, rank);
  const int ranks = shape.ranks;
  if (ranks == 1) return places.done(list, places.own(), 0);
  const auto behind = [&](int step) { return (rank - step + ranks) % ranks; };
  const auto came = [&](int step) {
    return places.row(static_cast<std::uint32_t>(step) % kTurns, rank, 1);
  };
  const auto post = [&](int step) {
    if (step < ranks) list.receive(behind(step), came(step));
  };
  const Blocks below = places.row(kBelow, rank, 1);
  const Blocks above = places.row(kAbove, rank, 1);
  list.copy(places.own(), below);
  post(1);
  for (int step = 1; step < ranks; ++step) {
    post(step + 1);
    const int ahead = (rank + step) % ranks;
    list.send(ahead, places.given(ahead, 1));
    list.wait_received(behind(step), 1);
    list.wait_sent(ahead);
    if (behind(step) < rank)
      list.reduce_left(came(step), below);
    else if (behind(step) == ranks - 1)
      list.copy(came(step), above);
    else
      list.reduce_left(came(step), above);
  }
  if (rank < ranks - 1) list.reduce_right(above, below);
  return places.done(list, below, kRows);
}

}  // namespace scela::collectives
