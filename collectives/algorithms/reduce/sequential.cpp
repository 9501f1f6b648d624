#include "collectives/algorithms/reduce/collect.h"
#include "collectives/algorithms/reduce/reduce.h"

namespace scela::collectives {

namespace {

TaskList send_segments_when_told(const Shape& shape) {
  Writer list;
  list.receive(shape.root, nothing());
  list.wait_received(shape.root, 1);
  for (std::uint32_t segment = 0; segment < shape.segments; ++segment)
    list.send(shape.root, input(segment, 1));
  return list.done(shape.segments, 0, 0);
}

}  // namespace

TaskList reduce_sequential(const Shape& shape, int rank) {
  if (rank != shape.root) return send_segments_when_told(shape);
  Writer list;
  const std::uint32_t segments = shape.segments;
  const Space own = shape.in_place ? Space::output : Space::input;
  if (shape.ranks == 1 && !shape.in_place) list.copy(input(0, segments), output(0, segments));
  bool direct = !shape.in_place;  // first one is received into the output
  for (const Collected& source : outwards(shape)) {
    const Space target = direct ? Space::output : Space::scratch;
    Incoming incoming(list, source.peer, segments, [target](std::uint32_t segment) {
      return Blocks{target, segment, 1};
    });
    list.send(source.peer, nothing());
    for (std::uint32_t segment = 0; segment < segments; ++segment) {
      incoming.next();
      const Blocks other{direct ? own : Space::scratch, segment, 1};
      if (source.left != direct)
        list.reduce_left(other, output(segment, 1));
      else
        list.reduce_right(other, output(segment, 1));
    }
    list.wait_sent(source.peer);
    direct = false;
  }
  const bool has_scratch = shape.ranks > (shape.in_place ? 1 : 2);
  return list.done(shape.in_place ? 0 : segments, segments, has_scratch ? segments : 0);
}

}  // namespace scela::collectives
