#include "collectives/algorithms/gather/gather.h"
#include "collectives/algorithms/tree.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

TaskList send_when_told(const Shape& shape) {
  Writer list;
  list.receive(shape.root, nothing());
  list.wait_received(shape.root, 1);
  list.send(shape.root, input(0, shape.segments));
  return list.done(shape.segments, 0, 0);
}

}  // namespace

TaskList gather_sequential(const Shape& shape, int rank) {
  if (rank != shape.root) return send_when_told(shape);
  Writer list;
  const std::uint32_t segments = shape.segments;
  const auto place = [&](int of) {
    return output(static_cast<std::uint32_t>(of) * segments, segments);
  };
  if (!shape.in_place) list.copy(input(0, segments), place(rank));
  for (const int child : children(flat_tree(shape), rank)) {
    list.receive(child, place(child));
    list.send(child, nothing());
    list.wait_received(child, 1);
    list.wait_sent(child);
  }
  return list.done(shape.in_place ? 0 : segments,
                   static_cast<std::uint32_t>(shape.ranks) * segments, 0);
}

}  // namespace scela::collectives
