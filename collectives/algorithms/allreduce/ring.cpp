#include "collectives/algorithms/allreduce/allreduce.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

class Ring {
 public:
  Ring(const Shape& shape, int rank)
      : shape_(shape),
        rank_(rank),
        left_((rank + shape.ranks - 1) % shape.ranks),
        right_((rank + 1) % shape.ranks),
        items_(static_cast<std::uint32_t>(shape.ranks - 1) * shape.segments) {}
  TaskList list();

 private:
  // Items are sent in order. In step i of the first round, a rank sends the segments of the part
  // that is i + 1 ranks behind. So each part ends at its own rank. In the second round it sends
  // those of the part i ranks behind.
  std::uint32_t block(std::uint32_t item, int behind) const {
    const int step = static_cast<int>(item / shape_.segments);
    const int part = (rank_ - step - behind + 2 * shape_.ranks) % shape_.ranks;
    return static_cast<std::uint32_t>(part) * shape_.segments + item % shape_.segments;
  }
  Blocks own(std::uint32_t block) const {
    return {shape_.in_place ? Space::output : Space::input, block, 1};
  }
  void reduce();
  void gather();

  Shape shape_;
  int rank_;
  int left_;
  int right_;
  std::uint32_t items_;  // in each round
  Writer list_;
};

void Ring::reduce() {
  Incoming incoming(list_, left_, items_,
                    [&](std::uint32_t item) { return scratch(block(item, 2), 1); });
  const auto take = [&](std::uint32_t item) {
    incoming.next();
    list_.reduce_right(own(block(item, 2)), scratch(block(item, 2), 1));
  };
  for (std::uint32_t item = 0; item < items_; ++item) {
    if (item < shape_.segments) {
      list_.send(right_, own(block(item, 1)));
      continue;
    }
    take(item - shape_.segments);
    list_.send(right_, scratch(block(item, 1), 1));
  }
  for (std::uint32_t item = items_ - shape_.segments; item < items_; ++item)
    take(item);
}

void Ring::gather() {
  Incoming incoming(list_, left_, items_,
                    [&](std::uint32_t item) { return output(block(item, 1), 1); });
  for (std::uint32_t item = 0; item < items_; ++item) {
    if (item >= shape_.segments) incoming.next();
    list_.send(right_, output(block(item, 0), 1));
  }
  for (std::uint32_t rest = 0; rest < shape_.segments; ++rest)
    incoming.next();
}

TaskList Ring::list() {
  const std::uint32_t blocks = static_cast<std::uint32_t>(shape_.ranks) * shape_.segments;
  const std::uint32_t first = static_cast<std::uint32_t>(rank_) * shape_.segments;
  if (shape_.ranks > 1) {
    reduce();
    // The waits cover all sends from the output, so it may be written.
    list_.wait_all_sent();
    list_.copy(scratch(first, shape_.segments), output(first, shape_.segments));
    gather();
  } else if (!shape_.in_place) {
    list_.copy(input(0, blocks), output(0, blocks));
  }
  return list_.done(shape_.in_place ? 0 : blocks, blocks, blocks);
}

}  // namespace

TaskList allreduce_ring(const Shape& shape, int rank) {
  return Ring(shape, rank).list();
}

std::uint32_t ring_parts(const Shape& shape) {
  return static_cast<std::uint32_t>(shape.ranks);
}

}  // namespace scela::collectives
