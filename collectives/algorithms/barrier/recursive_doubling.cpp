#include <bit>

#include "collectives/algorithms/barrier/barrier.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

TaskList barrier_recursive_doubling(const Shape& shape, int rank) {
  Writer list;
  const int pairs = static_cast<int>(std::bit_floor(static_cast<std::uint32_t>(shape.ranks)));
  if (rank >= pairs) {
    const int proxy = rank - pairs;
    list.receive(proxy, nothing());
    list.send(proxy, nothing());
    list.wait_received(proxy, 1);
    return list.done(0, 0, 0);
  }
  // All receives are posted before the first send, so that no message is early (Table 2.2).
  const int extra_rank = rank + pairs;
  if (extra_rank < shape.ranks) list.receive(extra_rank, nothing());
  for (int distance = 1; distance < pairs; distance *= 2)
    list.receive(rank ^ distance, nothing());

  if (extra_rank < shape.ranks) list.wait_received(extra_rank, 1);
  for (int distance = 1; distance < pairs; distance *= 2) {
    list.send(rank ^ distance, nothing());
    list.wait_received(rank ^ distance, 1);
  }
  if (extra_rank < shape.ranks) list.send(extra_rank, nothing());
  return list.done(0, 0, 0);
}

}  // namespace scela::collectives
