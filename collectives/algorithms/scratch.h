// The sizes of scratch blocks, if blocks have sizes of their own (the v forms, segments of
// different lengths). Callers that make layouts use it. like() is pure, and any thread may call it.
#pragma once

#include <cstdint>

#include "collectives/core/shape.h"

namespace scela::collectives {

// Returns the number of the operation's block that has the size of block `block` of this rank's
// scratch, so that the layout of scratch can be made. `cut` is segments times parts: the number of
// the list's blocks for each block of the operation.
//
// The rule is the same for all algorithms (docs/design/collectives.md). If each rank has blocks of
// its own, scratch begins with those of the rank itself. Then come those of the ranks that follow
// it, modulo N. In other operations, and if the blocks of all ranks are reduced, scratch has each
// block of the message, once or several times.
std::uint32_t like(const Shape& shape, int rank, std::uint32_t cut, std::uint32_t block);

}  // namespace scela::collectives
