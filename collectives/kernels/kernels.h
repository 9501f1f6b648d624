// Kernels: elementwise reductions of two buffers, in the best form for this processor. The
// communicator's reductions use them. The functions and kernels keep no state, and any thread may
// call them.
//
// Sums and products of integers wrap round. Those of float16 and bfloat16 are computed as float32
// and rounded to the nearest, ties to even, after each operation. A minimum (maximum) is the left
// operand unless the right one is less (greater), so a NaN on the left is kept. If values are
// equal, minloc and maxloc take that with the lower place. Logical results are 1 and
// 0. The bits of a result do not depend on the form.
#pragma once

#include <cstddef>

#include "collectives/kernels/types.h"

namespace scela::collectives {

// The instructions that a form needs of the processor.
enum class Level : std::uint8_t { plain, avx2, avx512 };
inline constexpr Level kLevels[] = {Level::plain, Level::avx2, Level::avx512};

// Reduces `elements` elements. `to` and `from` must not overlap; neither must be aligned.
using Kernel = void (*)(std::byte* to, const std::byte* from, std::size_t elements);

struct Kernels {
  Kernel from_left = nullptr;   // to = from op to
  Kernel from_right = nullptr;  // to = to op from
};

// Returns whether this program has the form and this processor can run it.
bool has(Level level);
// Returns the highest level for which has() is true.
Level best_level();
// Returns the kernels of an operation on a type. Both are null if there is none: bitwise operations
// on floating types, those with places on types without, and all others on types with places. The
// caller may name only a level for which has() is true.
Kernels kernels(Op op, Type type, Level level = best_level());

}  // namespace scela::collectives
