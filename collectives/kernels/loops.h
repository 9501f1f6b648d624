// The loops of all reductions. plain.cpp, avx2.cpp and avx512.cpp compile them, each for other
// processors. They may share nothing that stands here, or a linker would take any of the three
// forms. So all is in a namespace of the level's, and no code of the standard library is used. The
// functions keep no state, and any thread may call them.
#pragma once

#include <cstring>
#include <type_traits>

#include "collectives/kernels/half.h"
#include "collectives/kernels/kernels.h"

namespace scela::collectives::SCELA_KERNELS_LEVEL {

// An element of a type with a place, for minloc and maxloc. The place is an index of the program's.
template <class Value>
struct Place {
  Value value;
  std::int32_t place;
};

// Return a value in the type in which it is computed: float for float16 and bfloat16, otherwise its
// own.
template <class T>
constexpr T widened(T value) {
  return value;
}
inline float widened(Float16 value) {
  return wide(value);
}
inline float widened(Bfloat16 value) {
  return wide(value);
}
// Returns a result of such a computation as a T.
template <class T, class Wide>
constexpr T narrowed(Wide value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return narrow16(value);
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return narrow_bfloat16(value);
  } else {
    return static_cast<T>(value);
  }
}
// Returns a value in the type in which sums and products are computed. Integers wrap round, so they
// get an unsigned type, as large as promotion would make it. Others are widened.
template <class T>
constexpr auto wrapping(T value) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    if constexpr (sizeof(T) < sizeof(std::uint32_t)) {
      return static_cast<std::uint32_t>(static_cast<Unsigned>(value));
    } else {
      return static_cast<Unsigned>(value);
    }
  } else {
    return widened(value);
  }
}

// Returns left op right. Operations with places use takes_right() instead.
template <Op op, class T>
inline T joined(T left, T right) {
  if constexpr (op == Op::sum) {
    return narrowed<T>(wrapping(left) + wrapping(right));
  } else if constexpr (op == Op::product) {
    return narrowed<T>(wrapping(left) * wrapping(right));
  } else if constexpr (op == Op::minimum) {
    return widened(right) < widened(left) ? right : left;
  } else if constexpr (op == Op::maximum) {
    return widened(right) > widened(left) ? right : left;
  } else if constexpr (op == Op::logical_and) {
    return narrowed<T>(widened(left) != 0 && widened(right) != 0 ? decltype(widened(left)){1}
                                                                 : decltype(widened(left)){0});
  } else if constexpr (op == Op::logical_or) {
    return narrowed<T>(widened(left) != 0 || widened(right) != 0 ? decltype(widened(left)){1}
                                                                 : decltype(widened(left)){0});
  } else if constexpr (op == Op::logical_xor) {
    return narrowed<T>((widened(left) != 0) != (widened(right) != 0) ? decltype(widened(left)){1}
                                                                     : decltype(widened(left)){0});
  } else if constexpr (op == Op::bit_and) {
    return static_cast<T>(left & right);
  } else if constexpr (op == Op::bit_or) {
    return static_cast<T>(left | right);
  } else {
    static_assert(op == Op::bit_xor);
    return static_cast<T>(left ^ right);
  }
}

// For minloc and maxloc: returns true if the right operand is the result. If values are equal, that
// is the one with the lower place.
template <Op op, class Value>
inline bool takes_right(const Place<Value>& left, const Place<Value>& right) {
  if (right.value == left.value) return right.place < left.place;
  return op == Op::minloc ? right.value < left.value : right.value > left.value;
}

// Returns how many bytes of a T are its value: fewer than sizeof(T) for an x87 long double. The
// bytes behind them are padding, which a reduction leaves as it was.
template <class T>
constexpr std::size_t stored() {
  constexpr bool kIsX87 = std::is_same_v<T, long double> && __LDBL_MANT_DIG__ == 64;
  return kIsX87 ? 10 : sizeof(T);
}

// Computes to = from op to for each element, or to = to op from if `from_left` is false.
template <Op op, class T, bool from_left>
void loop(std::byte* __restrict to, const std::byte* __restrict from, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    T left, right;
    std::memcpy(from_left ? &right : &left, to + i * sizeof(T), sizeof(T));
    std::memcpy(from_left ? &left : &right, from + i * sizeof(T), sizeof(T));
    if constexpr (op == Op::minloc || op == Op::maxloc) {
      if (takes_right<op>(left, right) != from_left)
        std::memcpy(to + i * sizeof(T), from + i * sizeof(T), sizeof(T));
    } else {
      const T result = joined<op>(left, right);
      std::memcpy(to + i * sizeof(T), &result, stored<T>());
    }
  }
}

// Returns true if the operation is defined on the type (kernels.h).
template <Op op, class T>
constexpr bool exists() {
  constexpr bool kHasPlace =
      !std::is_arithmetic_v<T> && !std::is_same_v<T, Float16> && !std::is_same_v<T, Bfloat16>;
  constexpr bool kIsOfPlaces = op == Op::minloc || op == Op::maxloc;
  constexpr bool kIsOfBits = op == Op::bit_and || op == Op::bit_or || op == Op::bit_xor;
  return kHasPlace == kIsOfPlaces && (!kIsOfBits || std::is_integral_v<T>);
}

// Returns both kernels, or null ones if the operation is not defined on the type.
template <Op op, class T>
constexpr Kernels both() {
  if constexpr (exists<op, T>()) {
    return {&loop<op, T, true>, &loop<op, T, false>};
  } else {
    return {};
  }
}

// Returns both kernels of an operation on T.
template <class T>
Kernels of_type(Op op) {
  switch (op) {
    case Op::sum:
      return both<Op::sum, T>();
    case Op::product:
      return both<Op::product, T>();
    case Op::minimum:
      return both<Op::minimum, T>();
    case Op::maximum:
      return both<Op::maximum, T>();
    case Op::logical_and:
      return both<Op::logical_and, T>();
    case Op::logical_or:
      return both<Op::logical_or, T>();
    case Op::logical_xor:
      return both<Op::logical_xor, T>();
    case Op::bit_and:
      return both<Op::bit_and, T>();
    case Op::bit_or:
      return both<Op::bit_or, T>();
    case Op::bit_xor:
      return both<Op::bit_xor, T>();
    case Op::minloc:
      return both<Op::minloc, T>();
    case Op::maxloc:
      return both<Op::maxloc, T>();
  }
  return {};
}

// Returns both kernels of an operation on a type, in the form for which this file is compiled.
inline Kernels find_kernels(Op op, Type type) {
  switch (type) {
    case Type::int8:
      return of_type<std::int8_t>(op);
    case Type::uint8:
      return of_type<std::uint8_t>(op);
    case Type::int16:
      return of_type<std::int16_t>(op);
    case Type::uint16:
      return of_type<std::uint16_t>(op);
    case Type::int32:
      return of_type<std::int32_t>(op);
    case Type::uint32:
      return of_type<std::uint32_t>(op);
    case Type::int64:
      return of_type<std::int64_t>(op);
    case Type::uint64:
      return of_type<std::uint64_t>(op);
    case Type::float16:
      return of_type<Float16>(op);
    case Type::bfloat16:
      return of_type<Bfloat16>(op);
    case Type::float32:
      return of_type<float>(op);
    case Type::float64:
      return of_type<double>(op);
    case Type::long_double:
      return of_type<long double>(op);
    case Type::int16_index:
      return of_type<Place<std::int16_t>>(op);
    case Type::int32_index:
      return of_type<Place<std::int32_t>>(op);
    case Type::int64_index:
      return of_type<Place<std::int64_t>>(op);
    case Type::float32_index:
      return of_type<Place<float>>(op);
    case Type::float64_index:
      return of_type<Place<double>>(op);
    case Type::long_double_index:
      return of_type<Place<long double>>(op);
  }
  return {};
}

}  // namespace scela::collectives::SCELA_KERNELS_LEVEL
