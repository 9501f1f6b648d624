// The rounds that scan and exscan by recursive doubling share. An object makes one list and belongs
// to one thread.
#pragma once

#include <vector>

#include "collectives/algorithms/writer.h"
#include "collectives/core/shape.h"

namespace scela::collectives {

// In round i a rank sends its reduction, of the 2^i ranks up to itself, to the rank 2^i ahead. It
// receives that of the rank 2^i behind and combines it as the left operand with its own. A
// reduction that was received in one round may still be sent in the next, so successive ones are
// received into different rows of scratch.
class Doubling {
 public:
  // `exclusive` says that the list is that of an exscan; otherwise it is that of a scan.
  Doubling(const Shape& shape, int rank, bool exclusive);
  // Writes the list and returns it. It may be called once.
  TaskList list();

 private:
  // Returns how many ranks apart the ends of the round's messages are.
  int distance(std::size_t round) const { return 1 << round; }
  // Returns true if this rank sends a message in the round.
  bool sends(std::size_t round) const { return rank_ + distance(round) < shape_.ranks; }
  // Returns the blocks into which the message of a round is received.
  Blocks place(std::size_t round);
  // Returns row `index` of scratch, and notes that it is used.
  Blocks row(std::size_t index);
  // Appends the receive of a round, unless this rank receives nothing in it.
  void post(std::size_t round);
  // Appends a wait for the message of a round, and its combination, as the left operand, with this
  // rank's reduction.
  void join(std::size_t round);
  // Returns the blocks of the rank's contribution, and appends a copy of it if a received message
  // would overwrite it.
  Blocks own();

  Shape shape_;
  int rank_;
  bool exclusive_;
  std::size_t receives_ = 0;  // rounds in which the rank receives
  std::size_t rounds_ = 0;
  Writer list_;
  Blocks sum_;              // the reduction that this rank has
  std::uint32_t rows_ = 0;  // rows of scratch that are used
};

}  // namespace scela::collectives
