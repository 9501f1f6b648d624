// Reductions of two buffers, elementwise: the best form for this processor.
//
// Sums and products of integers wrap round. Those of float16 and bfloat16 are computed as float32
// and rounded to the nearest, ties to even, after each. A minimum or maximum is the left operand
// unless the right one is less (greater): so who has a NaN on the left keeps it. Of equal values
// minimum_place and maximum_place take that with the lower place. Logical results are 1 and 0. The
// bits of a result do not depend on the form.
#pragma once

#include <cstddef>

#include "collectives/kernels/types.h"

namespace scela::collectives {

// What the processor must know for it.
enum class Level : std::uint8_t { plain, avx2, avx512 };
inline constexpr Level kLevels[] = {Level::plain, Level::avx2, Level::avx512};

// `to` and `from` do not overlap; neither must be aligned.
using Kernel = void (*)(std::byte* to, const std::byte* from, std::size_t elements);

struct Kernels {
  Kernel from_left = nullptr;   // to = from op to
  Kernel from_right = nullptr;  // to = to op from
};

// Whether this program has the form and this processor can run it.
bool has(Level level);
// The highest that there is.
Level best_level();
// Nothing (nullptr): there is no such operation on the type (bits of floating types; places of
// types without, and all others of those with).
Kernels kernels(Op op, Type type, Level level = best_level());

}  // namespace scela::collectives
