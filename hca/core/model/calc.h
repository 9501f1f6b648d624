// Arithmetic that the adapter does itself: it combines a vector of numbers into another, element by
// element. The interpreter, the library and hca/progress use it for calc tasks
// (hca/include/scela/verbs_ext.h). The functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace scela::hca {

// Values of enum scela_calc_op and enum scela_calc_type, in the same order.
enum class CalcOp : std::uint32_t { sum, min, max, bit_and, bit_or, bit_xor };
enum class CalcType : std::uint32_t { int32, int64, uint32, uint64, float32, float64 };

// Returns the bytes of an element, or 0 if there is no such type.
std::uint32_t size_of(CalcType type);
// Returns true if calculate() supports the operation for this type. Returns false for values that
// are not in the enums, and for bit operations on floating-point numbers.
bool can_calculate(CalcOp op, CalcType type);
// Computes to[i] = to[i] op with[i] for each element. can_calculate() must be true. Both spans have
// the same length, a multiple of the type's size, and any alignment. Sums of integers wrap.
void calculate(CalcOp op, CalcType type, std::span<std::byte> to, std::span<const std::byte> with);

}  // namespace scela::hca
