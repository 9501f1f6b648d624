// The places of an allgather's blocks, for the algorithms of this folder. The object does not
// change, and any thread may read it.
#pragma once

#include <cstdint>

#include "collectives/algorithms/writer.h"
#include "collectives/core/shape.h"

namespace scela::collectives {

// The places for one rank's list of a shape. Blocks are numbered as in the list: rank r's
// contribution is `segments` blocks of the output, from r * segments on.
class GatheredPlaces {
 public:
  GatheredPlaces(const Shape& shape, int rank) : shape_(shape), rank_(rank) {}

  // Returns the blocks of the output with the contributions of `count` ranks from `first` on.
  Blocks of(int first, int count) const {
    return output(static_cast<std::uint32_t>(first) * shape_.segments,
                  static_cast<std::uint32_t>(count) * shape_.segments);
  }
  // Returns the block of the output with the segment `number` of the rank `of`.
  Blocks segment(int of, std::uint32_t number) const {
    return output(static_cast<std::uint32_t>(of) * shape_.segments + number, 1);
  }
  // Returns the blocks with this rank's contribution at the beginning: its input, or in place its
  // own part of the output.
  Blocks given() const { return shape_.in_place ? of(rank_, 1) : input(0, shape_.segments); }
  // Appends the copy of this rank's contribution to its place in the output. In place it appends
  // nothing.
  void put_own(Writer& list) const {
    if (!shape_.in_place) list.copy(given(), of(rank_, 1));
  }
  // Returns the complete list (Writer::done). `scratch` is the number of blocks of scratch that it
  // uses.
  TaskList done(Writer& list, std::uint32_t scratch) const {
    return list.done(shape_.in_place ? 0 : shape_.segments,
                     static_cast<std::uint32_t>(shape_.ranks) * shape_.segments, scratch);
  }

 private:
  Shape shape_;
  int rank_;
};

}  // namespace scela::collectives
