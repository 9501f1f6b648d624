// Arithmetic that the adapter does itself: it combines a vector of numbers into another, element by
// element. The functions are pure; the interpreter, the library and hca/progress use them for calc
// tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace scela::hca {

enum class CalcOp : std::uint32_t { sum, min, max, bit_and, bit_or, bit_xor };
enum class CalcType : std::uint32_t { int32, int64, uint32, uint64, float32, float64 };

// Returns the bytes of an element, or 0 if there is no such type.
std::uint32_t size_of(CalcType type);
// Returns false for unknown values, and for bit operations on floating-point numbers.
bool can_calculate(CalcOp op, CalcType type);
// Computes to[i] = to[i] op with[i]. Both spans have the same length, a multiple of the type's
// size. Sums of integers wrap.
void calculate(CalcOp op, CalcType type, std::span<std::byte> to, std::span<const std::byte> with);

}  // namespace scela::hca
