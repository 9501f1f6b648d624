#include "hca/core/model/calc.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace scela::hca {
namespace {

template <class Number>
Number combine(CalcOp op, Number a, Number b) {
  switch (op) {
    case CalcOp::sum:
      if constexpr (std::is_integral_v<Number>) {
        using Wrapping = std::make_unsigned_t<Number>;
        return static_cast<Number>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
      } else {
        return a + b;
      }
    case CalcOp::min:
      return std::min(a, b);
    case CalcOp::max:
      return std::max(a, b);
    default:
      break;
  }
  if constexpr (std::is_integral_v<Number>) {
    switch (op) {
      case CalcOp::bit_and:
        return a & b;
      case CalcOp::bit_or:
        return a | b;
      case CalcOp::bit_xor:
        return a ^ b;
      default:
        break;
    }
  }
  return a;
}

// The spans are a program's buffers, which may have any alignment.
template <class Number>
void each(CalcOp op, std::span<std::byte> to, std::span<const std::byte> with) {
  for (std::size_t at = 0; at + sizeof(Number) <= to.size() && at + sizeof(Number) <= with.size();
       at += sizeof(Number)) {
    Number a, b;
    std::memcpy(&a, &to[at], sizeof a);
    std::memcpy(&b, &with[at], sizeof b);
    a = combine(op, a, b);
    std::memcpy(&to[at], &a, sizeof a);
  }
}

}  // namespace

std::uint32_t size_of(CalcType type) {
  switch (type) {
    case CalcType::int32:
    case CalcType::uint32:
    case CalcType::float32:
      return 4;
    case CalcType::int64:
    case CalcType::uint64:
    case CalcType::float64:
      return 8;
  }
  return 0;
}

bool can_calculate(CalcOp op, CalcType type) {
  const bool is_number = type == CalcType::float32 || type == CalcType::float64;
  return size_of(type) != 0 && (op <= CalcOp::max || (op <= CalcOp::bit_xor && !is_number));
}

void calculate(CalcOp op, CalcType type, std::span<std::byte> to, std::span<const std::byte> with) {
  switch (type) {
    case CalcType::int32:
      return each<std::int32_t>(op, to, with);
    case CalcType::int64:
      return each<std::int64_t>(op, to, with);
    case CalcType::uint32:
      return each<std::uint32_t>(op, to, with);
    case CalcType::uint64:
      return each<std::uint64_t>(op, to, with);
    case CalcType::float32:
      return each<float>(op, to, with);
    case CalcType::float64:
      return each<double>(op, to, with);
  }
}

}  // namespace scela::hca
