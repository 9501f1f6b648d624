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

// The instructions that a form of the loops uses: those of any x86-64 or other processor, AVX2, or
// AVX-512.
enum class Level : std::uint8_t { plain, avx2, avx512 };
inline constexpr Level kLevels[] = {Level::plain, Level::avx2, Level::avx512};

// Reduces `elements` elements of `from` into `to`. The two must not overlap; neither needs
// alignment.
using Kernel = void (*)(std::byte* to, const std::byte* from, std::size_t elements);

// Both directions of one operation on one type; the comments say what each computes for each
// element.
struct Kernels {
  Kernel from_left = nullptr;   // to = from op to
  Kernel from_right = nullptr;  // to = to op from
};

// Returns true if this program has the form and this processor can run it.
bool has(Level level);
// Returns the highest level for which has() is true.
Level best_level();
// Returns the kernels of an operation on a type, in the form `level`, for which has() must be true.
// Both are null if the operation is not defined on the type. Bitwise operations are not defined on
// floating types; minloc and maxloc are defined only on types with a place (types.h), and all
// others only on types without.
Kernels kernels(Op op, Type type, Level level = best_level());

}  // namespace scela::collectives
