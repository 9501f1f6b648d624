// Types of elements, and the operations that reductions apply to two of them. Kernels and the
// communicator use them. The functions are pure, and any thread may call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace scela::collectives {

// The types of elements. Elements have the machine's byte order and may be at any address. The
// types that end in _index have elements with a value and a place, an index of the program's, for
// minloc and maxloc. C lays them out as {value; std::int32_t place;}.
enum class Type : std::uint8_t {
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,  // IEEE 754 binary16
  bfloat16,
  float32,
  float64,
  long_double,  // the compiler's format
  int16_index,
  int32_index,
  int64_index,
  float32_index,
  float64_index,
  long_double_index,
};
inline constexpr std::size_t kTypes = 19;

// The operations on two elements. minloc and maxloc keep the place of the value that they take.
enum class Op : std::uint8_t {
  sum,
  product,
  minimum,
  maximum,
  logical_and,
  logical_or,
  logical_xor,
  bit_and,
  bit_or,
  bit_xor,
  minloc,
  maxloc,
};
inline constexpr std::size_t kOps = 12;

// Returns the size of an element in bytes, with padding.
std::size_t size_of(Type type);
// Returns a name such as "float64" or "float64-place".
std::string_view name_of(Type type);
// Returns a name such as "sum" or "logical-and".
std::string_view name_of(Op op);
// Returns the type with this name, or std::nullopt if there is none.
std::optional<Type> type_of(std::string_view name);

}  // namespace scela::collectives
