// The definition of an operation: what stands in a rank's blocks before it, and what must stand
// there after it (the table of docs/design/collectives.md). The checker and the symbolic executor
// go by this alone, so a wrong algorithm cannot agree with itself. A definition does not change,
// and any thread may read it.
#pragma once

#include <cstdint>
#include <optional>

#include "collectives/core/shape.h"

namespace scela::collectives {

// x(first) op ... op x(last): the contributions of these ranks to one block, in order. If first is
// last, this is one contribution.
struct Sum {
  int first = 0;
  int last = 0;
  std::uint32_t block = 0;  // numbered as the inputs are
  friend bool operator==(const Sum&, const Sum&) = default;
};

class Definition {
 public:
  // `parts` is how many parts the algorithm cuts a message into (Algorithm::parts), besides the
  // segments.
  Definition(const Shape& shape, int rank, std::uint32_t parts);

  // Returns how many blocks this rank's input or output has at most. The input counts in full also
  // in place, though a list has no blocks of an input that stands in the output.
  std::uint32_t inputs() const;
  std::uint32_t outputs() const;
  // Returns whether this rank's call is in place (docs/design/collectives.md: for some operations,
  // only the root's is).
  bool is_in_place() const { return in_place_; }
  // Returns false for blocks that the operation may not write though the caller gives them: the
  // input, and what the root of a broadcast sends.
  bool may_write(Space space) const;
  // Returns which block of this rank's contribution stands in a block at the start, or std::nullopt
  // if none does.
  std::optional<std::uint32_t> stands(Space space, std::uint32_t block) const;
  // Returns what must stand in a block of the output at the end, or std::nullopt if it does not
  // matter.
  std::optional<Sum> result(std::uint32_t block) const;

 private:
  Shape shape_;
  int rank_;
  std::uint32_t cut_;  // segments x parts
  bool is_root_;
  bool in_place_;
};

}  // namespace scela::collectives
