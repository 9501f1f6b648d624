// The places of a reduce-scatter's blocks, for the algorithms of this folder. Scratch is rows of as
// many blocks as the message, each as large as the message's there
// (collectives/algorithms/scratch.h). The object does not change, and any thread may read it.
#pragma once

#include <cstdint>

#include "collectives/algorithms/writer.h"
#include "collectives/core/shape.h"

namespace scela::collectives {

// The places for one rank's list of a shape. The block of rank r is `segments` blocks of the list,
// from r * segments on.
class ReducedPlaces {
 public:
  ReducedPlaces(const Shape& shape, int rank) : shape_(shape), rank_(rank) {}

  // Returns this rank's contributions to the results of `count` ranks from `first` on.
  Blocks given(int first, int count) const {
    return {shape_.in_place ? Space::output : Space::input, at(first), at(count)};
  }
  // Returns the blocks of `count` ranks from `first` on, in row `row` of scratch.
  Blocks row(std::uint32_t row, int first, int count) const {
    return scratch(row * at(shape_.ranks) + at(first), at(count));
  }
  // Completes the list and returns it: appends waits for all sends and the copy of `sum`, the
  // reduced block of this rank, to the result's place. In place this is safe, since all
  // contributions have been read and sent by then. `rows` is the number of rows of scratch that the
  // list uses.
  TaskList done(Writer& list, Blocks sum, std::uint32_t rows) const {
    list.wait_all_sent();
    if (sum != output(0, shape_.segments)) list.copy(sum, output(0, shape_.segments));
    return list.done(shape_.in_place ? 0 : at(shape_.ranks),
                     shape_.in_place ? at(shape_.ranks) : shape_.segments, rows * at(shape_.ranks));
  }
  // Returns this rank's contribution to its own result.
  Blocks own() const { return given(rank_, 1); }

 private:
  std::uint32_t at(int place) const { return static_cast<std::uint32_t>(place) * shape_.segments; }

  Shape shape_;
  int rank_;
};

}  // namespace scela::collectives
