#include "collectives/algorithms/allreduce/allreduce.h"
#include "collectives/algorithms/groups.h"
#include "collectives/algorithms/writer.h"

namespace scela::collectives {

namespace {

// Scratch has two rows of a message each: one for what is reduced so far, one for what is received.
class Halving {
 public:
  Halving(const Shape& shape, int rank)
      : shape_(shape), groups_(shape.ranks, 2), rank_(rank), group_(groups_.of(rank)) {}
  TaskList list();

 private:
  struct Range {
    int first = 0;
    int count = 0;
  };
  // kept() returns the parts that this group has after `rounds`; given() returns those that it has
  // given away in the last of them.
  Range kept(int rounds) const;
  Range given(int rounds) const;
  Blocks at(Space space, int row, Range range) const {
    const auto parts = static_cast<std::uint32_t>(row * groups_.count() + range.first);
    return {space, parts * shape_.segments,
            static_cast<std::uint32_t>(range.count) * shape_.segments};
  }
  Range all() const { return {0, groups_.count()}; }
  Blocks own(Range range) const {
    return at(shape_.in_place ? Space::output : Space::input, 0, range);
  }
  // Returns where the reduction of these parts stands so far.
  Blocks reduced(Range range) const { return is_own_ ? own(range) : at(Space::scratch, 0, range); }
  int peer(int round) const { return groups_.first(group_ ^ (1 << round)); }
  // Receives what a rank has of these parts, and reduces it with what stands here.
  void take(int from, Range range, Blocks sent);
  TaskList extra_rank();
  TaskList done() {
    const std::uint32_t blocks = at(Space::output, 0, all()).count;
    return list_.done(shape_.in_place ? 0 : blocks, blocks, 2 * blocks);
  }

  Shape shape_;
  Groups groups_;
  int rank_;
  int group_;
  Writer list_;
  bool is_own_ = true;  // until something is reduced
};

Halving::Range Halving::kept(int rounds) const {
  Range range = all();
  for (int round = 0; round < rounds; ++round) {
    range.count /= 2;
    if ((group_ >> round) % 2 != 0) range.first += range.count;
  }
  return range;
}

Halving::Range Halving::given(int rounds) const {
  const Range half = kept(rounds);
  return {(group_ >> (rounds - 1)) % 2 != 0 ? half.first - half.count : half.first + half.count,
          half.count};
}

void Halving::take(int from, Range range, Blocks sent) {
  const Blocks came = at(Space::scratch, is_own_ ? 0 : 1, range);
  list_.receive(from, came);
  if (sent.count > 0) list_.send(from, sent);
  list_.wait_received(from, 1);
  list_.wait_sent(from);
  const bool left = from < rank_;
  if (is_own_) {
    left ? list_.reduce_right(own(range), came) : list_.reduce_left(own(range), came);
  } else {
    left ? list_.reduce_left(came, reduced(range)) : list_.reduce_right(came, reduced(range));
  }
  is_own_ = false;
}

TaskList Halving::extra_rank() {
  const int proxy = groups_.first(group_);
  list_.send(proxy, own(all()));
  list_.wait_sent(proxy);
  list_.receive(proxy, at(Space::output, 0, all()));
  list_.wait_received(proxy, 1);
  return done();
}

TaskList Halving::list() {
  if (rank_ != groups_.first(group_)) return extra_rank();
  const bool has_ward = groups_.size(group_) > 1;
  if (has_ward) take(rank_ + 1, all(), {});
  const int rounds = groups_.rounds();
  for (int round = 0; round < rounds; ++round)
    take(peer(round), kept(round + 1), reduced(given(round + 1)));
  const Range last = kept(rounds);
  if (!is_own_ || !shape_.in_place) list_.copy(reduced(last), at(Space::output, 0, last));
  for (int round = rounds - 1; round >= 0; --round) {
    list_.receive(peer(round), at(Space::output, 0, given(round + 1)));
    list_.send(peer(round), at(Space::output, 0, kept(round + 1)));
    list_.wait_received(peer(round), 1);
  }
  if (has_ward) list_.send(rank_ + 1, at(Space::output, 0, all()));
  return done();
}

}  // namespace

TaskList allreduce_rabenseifner(const Shape& shape, int rank) {
  return Halving(shape, rank).list();
}

std::uint32_t rabenseifner_parts(const Shape& shape) {
  return static_cast<std::uint32_t>(Groups(shape.ranks, 2).count());
}

}  // namespace scela::collectives
