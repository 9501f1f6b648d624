// How large the blocks of scratch are, where blocks have sizes of their own (the v forms, segments
// of different lengths).
#pragma once

#include <cstdint>

#include "collectives/core/shape.h"

namespace scela::collectives {

// Block `block` of a rank's scratch is as large as this one of the operation's blocks, which are as
// many for each rank as `cut`, segments times parts, says. The rule is the same for all algorithms
// (docs/collectives.md): where each rank has blocks of its own, scratch begins with those of the
// rank itself, then come those of the ranks that follow it, counted round; else, and where all
// ranks' blocks are reduced, it has each block of the message, once or several times.
std::uint32_t like(const Shape& shape, int rank, std::uint32_t cut, std::uint32_t block);

}  // namespace scela::collectives
