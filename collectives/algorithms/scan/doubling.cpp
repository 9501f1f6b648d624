#include "collectives/algorithms/scan/doubling.h"

#include <algorithm>

namespace scela::collectives {

namespace {

// One row is sent, one is received into, and one is posted.
constexpr std::size_t kRowsInTurn = 3;

}  // namespace

Doubling::Doubling(const Shape& shape, int rank, bool exclusive)
    : shape_(shape), rank_(rank), exclusive_(exclusive) {
  while (rank >= std::int64_t{1} << receives_)
    ++receives_;
  rounds_ = receives_;
  while (rank + (std::int64_t{1} << rounds_) < shape.ranks)
    ++rounds_;
}

Blocks Doubling::row(std::size_t index) {
  rows_ = std::max(rows_, static_cast<std::uint32_t>(index) + 1);
  return scratch(static_cast<std::uint32_t>(index) * shape_.segments, shape_.segments);
}

Blocks Doubling::place(std::size_t round) {
  const bool is_result = exclusive_ ? round == 0 : round + 1 == receives_;
  return is_result ? output(0, shape_.segments) : row(round % kRowsInTurn);
}

Blocks Doubling::own() {
  const Blocks given = shape_.in_place ? output(0, shape_.segments) : input(0, shape_.segments);
  if (receives_ == 0) {
    if (exclusive_ || shape_.in_place) return given;
    list_.copy(given, output(0, shape_.segments));
    return output(0, shape_.segments);
  }
  const bool is_needed = !exclusive_ || sends(0);
  if (!shape_.in_place || !is_needed) return given;
  const Blocks moved = row(kRowsInTurn);
  list_.copy(given, moved);
  return moved;
}

void Doubling::post(std::size_t round) {
  if (round >= receives_) return;
  const Blocks to = place(round);
  // The message that came there kRowsInTurn rounds ago was sent on in the round after that.
  if (round >= kRowsInTurn && to.space == Space::scratch && sends(round - kRowsInTurn + 1))
    list_.wait_sent(rank_ + distance(round - kRowsInTurn + 1));
  list_.receive(rank_ - distance(round), to);
}

// Combines what came in a round, as the left operand, with what the rank has.
void Doubling::join(std::size_t round) {
  const Blocks came = place(round);
  list_.wait_received(rank_ - distance(round), 1);
  if (!exclusive_) {
    list_.reduce_right(sum_, came);
    sum_ = came;
    return;
  }
  if (round > 0) list_.reduce_left(came, output(0, shape_.segments));
  if (!sends(round + 1)) return;
  if (round > 0) {
    list_.reduce_right(sum_, came);
    sum_ = came;
  } else {
    // The received sum is the result so far, and stays in the output.
    list_.copy(sum_, row(0));
    list_.reduce_left(came, row(0));
    sum_ = row(0);
  }
}

TaskList Doubling::list() {
  sum_ = own();
  post(0);
  for (std::size_t round = 0; round < rounds_; ++round) {
    if (sends(round)) list_.send(rank_ + distance(round), sum_);
    if (round >= receives_) continue;
    post(round + 1);
    join(round);
  }
  const bool has_result = !exclusive_ || rank_ > 0 || shape_.in_place;
  return list_.done(shape_.in_place ? 0 : shape_.segments, has_result ? shape_.segments : 0,
                    rows_ * shape_.segments);
}

}  // namespace scela::collectives
