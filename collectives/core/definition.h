// What an operation is: what stands in a rank's blocks before it, and what must stand there after
// it (the table of docs/collectives.md). The checker and the symbolic executor go by this and
// nothing else, so that a wrong algorithm cannot agree with itself.
#pragma once

#include <cstdint>
#include <optional>

#include "collectives/core/shape.h"

namespace scela::collectives {

// x(first) op ... op x(last): the contributions of these ranks to one block, in order; just a value
// where first is last.
struct Sum {
  int first = 0;
  int last = 0;
  std::uint32_t block = 0;  // of the contributions, as inputs are numbered
  friend bool operator==(const Sum&, const Sum&) = default;
};

class Definition {
 public:
  // `parts`: how many the algorithm cuts a message into (Algorithm::parts), besides the segments.
  Definition(const Shape& shape, int rank, std::uint32_t parts);

  // How many blocks a space of the caller's can have: at least what is not asked for in place.
  std::uint32_t inputs() const;
  std::uint32_t outputs() const;
  // This rank's call is one that is in place (docs/collectives.md: of some operations the root's
  // only).
  bool is_in_place() const { return in_place_; }
  // Blocks that the operation may not write though the caller gives them: the input, and what the
  // root of a broadcast sends.
  bool may_write(Space space) const;
  // The number of this rank's contribution that stands in a block at the start, if one does.
  std::optional<std::uint32_t> stands(Space space, std::uint32_t block) const;
  // What must stand in a block of the output at the end, if it matters.
  std::optional<Sum> result(std::uint32_t block) const;

 private:
  Shape shape_;
  int rank_;
  std::uint32_t cut_;  // segments x parts
  bool is_root_;
  bool in_place_;
};

}  // namespace scela::collectives
