#include <vector>

#include "collectives/algorithms/barrier/barrier.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

// Returns the distances of the peers of each round. No distance occurs twice, since each is a
// number with one digit, base radix, that is not 0.
std::vector<std::vector<int>> rounds(const Shape& shape) {
  std::vector<std::vector<int>> found;
  for (std::int64_t step = 1; step < shape.ranks; step *= shape.radix) {
    std::vector<int>& round = found.emplace_back();
    for (std::int64_t port = 1; port < shape.radix && port * step < shape.ranks; ++port)
      round.push_back(static_cast<int>(port * step));
  }
  return found;
}

}  // namespace

TaskList barrier_dissemination(const Shape& shape, int rank) {
  Writer list;
  const auto ahead = [&](int distance) { return (rank + distance) % shape.ranks; };
  const auto behind = [&](int distance) { return (rank + shape.ranks - distance) % shape.ranks; };
  const std::vector<std::vector<int>> all = rounds(shape);
  for (const std::vector<int>& round : all) {
    for (const int distance : round)
      list.receive(behind(distance), nothing());
  }
  for (const std::vector<int>& round : all) {
    for (const int distance : round)
      list.send(ahead(distance), nothing());
    for (const int distance : round)
      list.wait_received(behind(distance), 1);
  }
  return list.done(0, 0, 0);
}

}  // namespace scela::collectives
