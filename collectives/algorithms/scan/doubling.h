// The rounds that scan and exscan by recursive doubling share. An object makes one list and belongs
// to one thread.
#pragma once

#include <vector>

#include "collectives/algorithms/writer.h"
#include "collectives/core/shape.h"

namespace scela::collectives {

// In round i a rank sends its sum, of the 2^i ranks up to itself, to the rank 2^i ahead. The sum
// that comes from 2^i ranks behind goes left of its own. What comes in one round is sent in the
// next, so it is received into places that take turns.
class Doubling {
 public:
  // `exclusive` says that the list is that of an exscan.
  Doubling(const Shape& shape, int rank, bool exclusive);
  // Writes the list and returns it. It may be called once.
  TaskList list();

 private:
  // Returns how many ranks apart the ends of the round's messages are.
  int distance(std::size_t round) const { return 1 << round; }
  // Returns true if this rank sends a message in the round.
  bool sends(std::size_t round) const { return rank_ + distance(round) < shape_.ranks; }
  // Returns where the message of a round is received.
  Blocks place(std::size_t round);
  // Returns row `index` of scratch, and notes that it is used.
  Blocks row(std::size_t index);
  // Posts the receive of a round. It does nothing if this rank receives nothing in that round.
  void post(std::size_t round);
  // Waits for the message of a round, and combines it, as the left operand, with this rank's sum.
  void join(std::size_t round);
  // Returns what the rank starts with, and moves it if it would be in the way of what is received.
  Blocks own();

  Shape shape_;
  int rank_;
  bool exclusive_;
  std::size_t receives_ = 0;  // rounds in which the rank receives
  std::size_t rounds_ = 0;
  Writer list_;
  Blocks sum_;
  std::uint32_t rows_ = 0;  // rows of scratch that are used
};

}  // namespace scela::collectives
