// float16 and bfloat16 as numbers: each is converted to float32 for computing. The loops of
// reductions (loops.h) use this. The functions are pure, and any thread may call them.
//
// The code is compiled once for each kind of processor (loops.h), so it is in a namespace of that
// kind. It uses nothing of the standard library that the kinds might share.
#pragma once

#include <cstdint>

#ifndef SCELA_KERNELS_LEVEL
#define SCELA_KERNELS_LEVEL plain
#endif

namespace scela::collectives::SCELA_KERNELS_LEVEL {

// IEEE 754 binary16 (Float16), and the upper half of a float32 (Bfloat16), as bits.
struct Float16 {
  std::uint16_t bits = 0;
};
struct Bfloat16 {
  std::uint16_t bits = 0;
};

// Returns the value as float32, which is exact. The code has no branches, so that the compiler
// vectorizes it.
inline float wide(Float16 value) {
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000u) << 16;
  const std::uint32_t rest = static_cast<std::uint32_t>(value.bits & 0x7fffu) << 13;
  // The exponent moves from a bias of 15 to one of 127, by a product that is exact. Subnormal
  // numbers become normal ones by it.
  constexpr float kBias = 0x1p112f;
  const float scaled = __builtin_bit_cast(float, rest) * kBias;
  // Infinity and NaN have the largest exponent in both formats.
  const std::uint32_t largest = value.bits & 0x7c00u;
  const std::uint32_t bits =
      largest == 0x7c00u ? (rest | 0x7f800000u) : __builtin_bit_cast(std::uint32_t, scaled);
  return __builtin_bit_cast(float, bits | sign);
}

// Returns the nearest float16, of two the even one. Larger values become infinite. A NaN stays one,
// quiet, with the bits that there is room for.
inline Float16 narrow16(float value) {
  const std::uint32_t whole = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t sign = whole & 0x80000000u;
  const std::uint32_t magnitude = whole ^ sign;
  // Below 2^-14 the last place is worth 2^-24. Adding 0.5 leaves just those places, rounded.
  const float sum = __builtin_bit_cast(float, magnitude) + 0.5f;
  const std::uint32_t small =
      __builtin_bit_cast(std::uint32_t, sum) - __builtin_bit_cast(std::uint32_t, 0.5f);
  const std::uint32_t odd = magnitude >> 13 & 1u;
  const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + odd) >> 13;
  const std::uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  const std::uint32_t large = magnitude > 0x7f800000u ? nan : 0x7c00u;
  const std::uint32_t finite = magnitude < (113u << 23) ? small : normal;
  const std::uint32_t bits = magnitude >= (143u << 23) ? large : finite;
  return {static_cast<std::uint16_t>(bits | sign >> 16)};
}

// Returns the value as float32, which is exact.
inline float wide(Bfloat16 value) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(value.bits) << 16);
}

// Returns the nearest bfloat16, by the rules of narrow16().
inline Bfloat16 narrow_bfloat16(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const std::uint32_t nan = bits >> 16 | 0x40u;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

}  // namespace scela::collectives::SCELA_KERNELS_LEVEL
