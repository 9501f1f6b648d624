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
  const int ward = rank + pairs;
  if (ward < shape.ranks) list.receive(ward, nothing());
  for (int distance = 1; distance < pairs; distance *= 2)
    list.receive(rank ^ distance, nothing());

  if (ward < shape.ranks) list.wait_received(ward, 1);
  for (int distance = 1; distance < pairs; distance *= 2) {
    list.send(rank ^ distance, nothing());
    list.wait_received(rank ^ distance, 1);
  }
  if (ward < shape.ranks) list.send(ward, nothing());
  return list.done(0, 0, 0);
}

}  // namespace scela::collectives
