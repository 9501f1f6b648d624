// A Reduction says how a list's reduce task combines elements. The caller of a run makes it, since
// it knows types and operations (collectives/communicator/call/reductions.h). Executors call it.
// Any thread may call its function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace scela::collectives {

// A reduction that an adapter can compute by itself: the operation and type of scela/verbs_ext.h's
// CALC.
struct Calculation {
  enum class Op : std::uint8_t { sum, minimum, maximum, bit_and, bit_or, bit_xor };
  enum class Type : std::uint8_t { int32, int64, uint32, uint64, float32, float64 };
  Op op = Op::sum;
  Type type = Type::int32;
};

// The function that combines elements, and its arguments.
struct Reduction {
  // Computes result[i] = left[i] op right[i] for `elements` elements. `result` is equal to `left`
  // or to `right`; the other does not overlap it. Any thread may call it, for several operations at
  // once.
  using Combine = void (*)(const void* state, const std::byte* left, const std::byte* right,
                           std::byte* result, std::size_t elements);

  Combine combine = nullptr;  // null: the list has no reduce
  // The first argument of `combine`. It must stay valid until the run is over.
  const void* state = nullptr;
  std::size_t element_bytes = 1;  // a block has a multiple of it
  // The calculation by which an adapter gets the same result, bit by bit. It has no value if the
  // adapter cannot compute it. All ranks of an operation have the same value.
  std::optional<Calculation> calculation = std::nullopt;
};

}  // namespace scela::collectives
