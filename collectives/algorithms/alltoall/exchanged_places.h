// The places of an alltoall's blocks, for the algorithms of this folder. The object does not
// change, and any thread may read it.
#pragma once

#include <cstdint>

#include "collectives/algorithms/writer.h"
#include "collectives/core/shape.h"

namespace scela::collectives {

// The places for one rank's list of a shape. The block for or from rank r is `segments` blocks of
// the list.
class ExchangedPlaces {
 public:
  ExchangedPlaces(const Shape& shape, int rank) : shape_(shape), rank_(rank) {}

  // Returns the blocks of the output that the rank `other` sends.
  Blocks from(int other) const { return output(at(other), shape_.segments); }
  // Returns the blocks to send to the rank `other`: in the input, or in place in scratch, where
  // make_room() has copied them.
  Blocks given_to(int other) const {
    if (!shape_.in_place) return input(at(other), shape_.segments);
    return scratch(at(ahead(other)), shape_.segments);
  }
  // Returns how many ranks after this one the rank `other` is, modulo the number of ranks.
  int ahead(int other) const { return (other - rank_ + shape_.ranks) % shape_.ranks; }
  // Appends the copies with which a list begins: make_room(), then put_own().
  void begin(Writer& list) const {
    make_room(list);
    put_own(list);
  }
  // Appends the copy of the rank's own block to its place. It may come after the sends, which need
  // not wait for it. In place it appends nothing.
  void put_own(Writer& list) const {
    if (!shape_.in_place) list.copy(given_to(rank_), from(rank_));
  }
  // In place, appends copies of all blocks to be sent to scratch, out of the way of received ones.
  // Otherwise it appends nothing.
  void make_room(Writer& list) const {
    if (!shape_.in_place) return;
    const auto behind = static_cast<std::uint32_t>(shape_.ranks - rank_) * shape_.segments;
    list.copy(output(at(rank_), behind), scratch(0, behind));
    if (rank_ > 0) list.copy(output(0, at(rank_)), scratch(behind, at(rank_)));
  }
  // Returns the complete list (Writer::done), which uses no scratch but that of make_room().
  TaskList done(Writer& list) const { return done(list, shape_.in_place ? at(shape_.ranks) : 0); }
  // Returns the complete list. `scratch` is the number of blocks of scratch that it uses.
  TaskList done(Writer& list, std::uint32_t scratch) const {
    return list.done(shape_.in_place ? 0 : at(shape_.ranks), at(shape_.ranks), scratch);
  }

 private:
  std::uint32_t at(int place) const { return static_cast<std::uint32_t>(place) * shape_.segments; }

  Shape shape_;
  int rank_;
};

}  // namespace scela::collectives
