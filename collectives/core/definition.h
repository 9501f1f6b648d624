// The definition of an operation: the contents of a rank's blocks before it, and the contents that
// they must have after it (the table of docs/design/collectives.md). The checker and the symbolic
// executor (analysis/) go by this alone, so a wrong algorithm cannot agree with itself. A
// definition does not change, and any thread may read it.
#pragma once

#include <cstdint>
#include <optional>

#include "collectives/core/shape.h"

namespace scela::collectives {

// The value x(first) op ... op x(last): the contributions of these ranks to one block, in order. If
// first is last, this is one contribution.
struct Sum {
  int first = 0;
  int last = 0;
  std::uint32_t block = 0;  // block of each rank's input
  friend bool operator==(const Sum&, const Sum&) = default;
};

// The definition for one rank of a shape. Blocks are those of the list: each block of the operation
// is cut into segments x parts of them.
class Definition {
 public:
  // `parts` is the number of parts into which the algorithm cuts a message (Algorithm::parts),
  // besides the segments.
  Definition(const Shape& shape, int rank, std::uint32_t parts);

  // Returns the number of blocks of this rank's input. They count in full also in place, though the
  // list of such a call has no input blocks.
  std::uint32_t inputs() const;
  // Returns the number of blocks of this rank's output. A list may use fewer.
  std::uint32_t outputs() const;
  // Returns true if this rank's call is in place. For operations with a root, only the root's call
  // can be.
  bool is_in_place() const { return in_place_; }
  // Returns true if the list may write blocks of this space. It may not write the input, nor the
  // output of the root of a broadcast, which is what the root sends.
  bool may_write(Space space) const;
  // Returns, for a block at the start, the number of the block of this rank's contribution that it
  // contains. Returns std::nullopt if it contains none.
  std::optional<std::uint32_t> stands(Space space, std::uint32_t block) const;
  // Returns the value that a block of this rank's output must have at the end. Returns std::nullopt
  // if the contents do not matter.
  std::optional<Sum> result(std::uint32_t block) const;

 private:
  Shape shape_;
  int rank_;
  std::uint32_t cut_;  // segments x parts
  bool is_root_;
  bool in_place_;
};

}  // namespace scela::collectives
