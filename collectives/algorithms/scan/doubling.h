// The rounds that scan and exscan by recursive doubling share.
#pragma once

#include <vector>

#include "collectives/algorithms/writer.h"
#include "collectives/core/shape.h"

namespace scela::collectives {

// In round i a rank sends its sum (of the ranks up to itself, 2^i of them) 2^i ranks ahead, and the
// sum that comes from 2^i ranks behind goes left of its own. What comes in one round is sent in the
// next, so it is received into places that take turns.
class Doubling {
 public:
  Doubling(const Shape& shape, int rank, bool exclusive);
  TaskList list();

 private:
  int distance(std::size_t round) const { return 1 << round; }
  bool sends(std::size_t round) const { return rank_ + distance(round) < shape_.ranks; }
  // Where what comes in a round is received.
  Blocks place(std::size_t round);
  Blocks row(std::size_t index);
  void post(std::size_t round);
  void join(std::size_t round);
  // What the rank starts with, out of the way of what is received.
  Blocks own();

  Shape shape_;
  int rank_;
  bool exclusive_;
  std::size_t receives_ = 0;  // rounds
  std::size_t rounds_ = 0;
  Writer list_;
  Blocks sum_;
  std::uint32_t rows_ = 0;  // of scratch
};

}  // namespace scela::collectives
