// The barrier by nodes of the offload thesis, section 4.4. Arrival flags are messages of no bytes.
#include "collectives/algorithms/barrier/barrier.h"
#include "collectives/algorithms/hierarchy.h"
#include "collectives/algorithms/section.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

TaskList led(int leader) {
  Writer list;
  list.receive(leader, nothing());
  list.send(leader, nothing());
  list.wait_sent(leader);
  list.signal();
  list.wait_received(leader, 1);
  return list.done(0, 0, 0);
}

}  // namespace

TaskList barrier_hierarchical(const Shape& shape, int rank) {
  const Hierarchy hierarchy(shape, Hierarchy::kNoRoot);
  const int node = hierarchy.node_of(rank);
  if (const int leader = hierarchy.leader(node); leader != rank) return led(leader);
  Writer list;
  const auto each = [&](auto act) {
    for (const int member : hierarchy.members(node)) {
      if (member != rank) act(member);
    }
  };
  each([&](int member) { list.receive(member, nothing()); });
  each([&](int member) { list.wait_received(member, 1); });
  list.signal();
  Shape exchange = shape;
  exchange.nodes = nullptr;
  exchange.ranks = hierarchy.nodes().nodes();
  append(list, barrier_dissemination(exchange, node), hierarchy.leaders(), same_place(false));
  list.signal();
  each([&](int member) { list.send(member, nothing()); });
  return list.done(0, 0, 0);
}

}  // namespace scela::collectives
