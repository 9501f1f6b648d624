// Tests the arithmetic of the adapter: each operation on each type, and that it changes no other
// bytes.
#include "hca/core/model/calc.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

namespace scela::hca::calc_test {
namespace {

template <class Number>
Number one(CalcOp op, CalcType type, Number a, Number b) {
  // The numbers are not aligned, and bytes around them must stay unchanged.
  std::vector<std::byte> to(2 * sizeof a + 2, std::byte{9}), with(2 * sizeof a + 1);
  for (std::size_t i = 0; i < 2; ++i) {
    std::memcpy(&to[1 + i * sizeof a], &a, sizeof a);
    std::memcpy(&with[1 + i * sizeof a], &b, sizeof b);
  }
  REQUIRE(can_calculate(op, type));
  REQUIRE(size_of(type) == sizeof a);
  calculate(op, type, std::span(to).subspan(1, 2 * sizeof a), std::span(with).subspan(1));
  CHECK(to.front() == std::byte{9});
  CHECK(to.back() == std::byte{9});
  CHECK(std::memcmp(&to[1], &to[1 + sizeof a], sizeof a) == 0);
  std::memcpy(&a, &to[1], sizeof a);
  return a;
}

template <class Number>
void integers(CalcType type) {
  const auto lowest = std::numeric_limits<Number>::min(),
             highest = std::numeric_limits<Number>::max();
  CHECK(one<Number>(CalcOp::sum, type, 40, 2) == 42);
  CHECK(one<Number>(CalcOp::sum, type, highest, 1) == lowest);
  CHECK(one<Number>(CalcOp::min, type, lowest, 1) == lowest);
  CHECK(one<Number>(CalcOp::max, type, lowest, highest) == highest);
  CHECK(one<Number>(CalcOp::bit_and, type, 12, 10) == 8);
  CHECK(one<Number>(CalcOp::bit_or, type, 12, 10) == 14);
  CHECK(one<Number>(CalcOp::bit_xor, type, 12, 10) == 6);
}

template <class Number>
void reals(CalcType type) {
  CHECK(one<Number>(CalcOp::sum, type, Number(0.5), Number(-2)) == Number(-1.5));
  CHECK(one<Number>(CalcOp::min, type, Number(0.5), Number(-2)) == Number(-2));
  CHECK(one<Number>(CalcOp::max, type, Number(0.5), Number(-2)) == Number(0.5));
  CHECK_FALSE(can_calculate(CalcOp::bit_and, type));
}

}  // namespace

TEST_CASE("hca: the adapter's arithmetic, by operation and type") {
  integers<std::int32_t>(CalcType::int32);
  integers<std::int64_t>(CalcType::int64);
  integers<std::uint32_t>(CalcType::uint32);
  integers<std::uint64_t>(CalcType::uint64);
  reals<float>(CalcType::float32);
  reals<double>(CalcType::float64);
  CHECK_FALSE(can_calculate(static_cast<CalcOp>(6), CalcType::int32));
  CHECK_FALSE(can_calculate(CalcOp::sum, static_cast<CalcType>(6)));
}

}  // namespace scela::hca::calc_test
