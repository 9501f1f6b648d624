// Tests reductions of elements: the result of each operation on two values, for every type, form
// and side. The expected values come from definitions that are written differently here.
#include "collectives/kernels/kernels.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <type_traits>
#include <vector>

#include "collectives/kernels/half.h"
#include "common/core/random.h"

namespace kernels_test {

using namespace scela;
using namespace scela::collectives;
using plain::Bfloat16;
using plain::Float16;

namespace {

template <class Value>
struct Pair {
  Value value;
  std::int32_t place;
};
template <class T>
constexpr bool kIsPair = false;
template <class Value>
constexpr bool kIsPair<Pair<Value>> = true;

// Rounds to a number of `digits` binary digits. The last digit is worth at least 2^least. Values of
// `largest` and above become infinite.
double rounded(double value, int digits, int least, double largest) {
  if (std::isnan(value) || std::isinf(value) || value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int last = std::max(exponent - digits, least);
  const double result = std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  return std::abs(result) >= largest ? std::copysign(std::numeric_limits<double>::infinity(), value)
                                     : result;
}
double as_float16(double value) {
  return rounded(value, 11, -24, 65536);
}
double as_bfloat16(double value) {
  return rounded(value, 8, -133, 0x1p128);
}
double number(Float16 half) {
  const int exponent = half.bits >> 10 & 31, fraction = half.bits & 1023;
  const double sign = half.bits >> 15 != 0 ? -1 : 1;
  if (exponent == 31)
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  return sign *
         (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}
double number(Bfloat16 value) {
  float wide = 0;
  const std::uint32_t bits = static_cast<std::uint32_t>(value.bits) << 16;
  std::memcpy(&wide, &bits, sizeof wide);
  return wide;
}

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;

// Returns the value as comparisons see it: numbers of 16 bits become double.
template <class T>
auto seen(T value) {
  if constexpr (kIsHalf<T>) {
    return number(value);
  } else {
    return value;
  }
}

template <class T>
bool is_same(T a, T b) {
  if constexpr (kIsPair<T>) {
    return is_same(a.value, b.value) && a.place == b.place;
  } else if constexpr (std::is_integral_v<T>) {
    return a == b;
  } else {
    const auto x = seen(a), y = seen(b);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    return x == y && std::signbit(x) == std::signbit(y);
  }
}

// The definition of each operation.
template <class T>
T expected(Op op, T left, T right) {
  if constexpr (kIsPair<T>) {
    const bool is_minimum = op == Op::minloc;
    if (left.value == right.value) return {left.value, std::min(left.place, right.place)};
    if (is_minimum ? right.value < left.value : right.value > left.value) return right;
    return left;
  } else {
    const auto l = seen(left), r = seen(right);
    const auto truth = [](bool value) {
      if constexpr (std::is_same_v<T, Float16>) {
        return Float16{static_cast<std::uint16_t>(value ? 0x3c00 : 0)};
      } else if constexpr (std::is_same_v<T, Bfloat16>) {
        return Bfloat16{static_cast<std::uint16_t>(value ? 0x3f80 : 0)};
      } else {
        return static_cast<T>(value);
      }
    };
    switch (op) {
      case Op::minimum:
        return r < l ? right : left;
      case Op::maximum:
        return r > l ? right : left;
      case Op::logical_and:
        return truth(l != 0 && r != 0);
      case Op::logical_or:
        return truth(l != 0 || r != 0);
      case Op::logical_xor:
        return truth((l != 0) != (r != 0));
      default:
        break;
    }
    if constexpr (std::is_integral_v<T>) {
      __extension__ using Large = __int128;
      __extension__ using Unsigned = unsigned __int128;
      const Large a = left, b = right;
      switch (op) {
        case Op::sum:
          return static_cast<T>(a + b);
        // The product of two unsigned 64-bit numbers may not fit into a signed one of 128 bits.
        case Op::product:
          return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
        case Op::bit_and:
          return static_cast<T>(a & b);
        case Op::bit_or:
          return static_cast<T>(a | b);
        default:
          return static_cast<T>(a ^ b);
      }
    } else if constexpr (kIsHalf<T>) {
      const float a = static_cast<float>(l), b = static_cast<float>(r);
      const float result = op == Op::sum ? a + b : a * b;
      // Finds the number of 16 bits that has the wanted value.
      const double wanted = std::is_same_v<T, Float16> ? as_float16(result) : as_bfloat16(result);
      for (unsigned bits = 0; bits < 65536; ++bits) {
        const T each{static_cast<std::uint16_t>(bits)};
        const double value = number(each);
        if (std::isnan(wanted) ? std::isnan(value)
                               : value == wanted && std::signbit(value) == std::signbit(wanted))
          return each;
      }
      FAIL("there is no such number");
      return left;
    } else {
      return op == Op::sum ? left + right : left * right;
    }
  }
}

template <class T>
T drawn(Random& random) {
  if constexpr (kIsPair<T>) {
    // There are few values, so many are equal.
    const auto value = static_cast<decltype(T::value)>(static_cast<int>(random.below(5)) - 2);
    return {value, static_cast<std::int32_t>(random.below(9)) - 4};
  } else if constexpr (kIsHalf<T>) {
    return {static_cast<std::uint16_t>(random.below(65536))};
  } else if constexpr (std::is_integral_v<T>) {
    const T chosen[] = {0, 1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                        static_cast<T>(-1)};
    return random.chance(1, 3) ? chosen[random.below(5)] : static_cast<T>(random.next());
  } else {
    using Limits = std::numeric_limits<T>;
    const T chosen[] = {0,
                        -T{0},
                        1,
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::quiet_NaN(),
                        Limits::denorm_min(),
                        Limits::max()};
    if (random.chance(1, 3)) return chosen[random.below(8)];
    return std::ldexp(static_cast<T>(static_cast<std::int64_t>(random.next())),
                      static_cast<int>(random.below(100)) - 110);
  }
}

template <class T>
constexpr bool exists(Op op) {
  if (op == Op::minloc || op == Op::maxloc) return kIsPair<T>;
  if (kIsPair<T>) return false;
  const bool is_of_bits = op == Op::bit_and || op == Op::bit_or || op == Op::bit_xor;
  return !is_of_bits || std::is_integral_v<T>;
}

// Compares `count` elements in unaligned memory. The bytes before and after must not change.
template <class T>
void compare(Op op, Kernel kernel, bool from_left, std::size_t count, Random& random) {
  constexpr std::size_t kAside = 3;
  std::vector<T> left(count), right(count);
  for (std::size_t i = 0; i < count; ++i) {
    left[i] = drawn<T>(random);
    right[i] = drawn<T>(random);
  }
  const std::size_t bytes = count * sizeof(T);
  std::vector<std::byte> to(bytes + 2 * kAside, std::byte{0x5a}), from(bytes + kAside);
  if (count > 0) {
    std::memcpy(to.data() + kAside, (from_left ? right : left).data(), bytes);
    std::memcpy(from.data() + 1, (from_left ? left : right).data(), bytes);
  }
  kernel(to.data() + kAside, from.data() + 1, count);
  for (std::size_t i = 0; i < kAside; ++i) {
    CHECK(to[i] == std::byte{0x5a});
    CHECK(to[kAside + bytes + i] == std::byte{0x5a});
  }
  for (std::size_t i = 0; i < count; ++i) {
    T got;
    std::memcpy(&got, to.data() + kAside + i * sizeof(T), sizeof(T));
    if (is_same(got, expected(op, left[i], right[i]))) continue;
    CAPTURE(i, count, from_left);
    FAIL("another result");
  }
}

template <class T>
void try_type(Type type) {
  REQUIRE(size_of(type) == sizeof(T));
  Random random(static_cast<std::uint64_t>(type) + 1);
  for (std::size_t o = 0; o < kOps; ++o) {
    const Op op = static_cast<Op>(o);
    for (const Level level : kLevels) {
      if (!has(level)) continue;
      const Kernels found = kernels(op, type, level);
      CAPTURE(name_of(op), name_of(type), static_cast<int>(level));
      REQUIRE((found.from_left != nullptr) == exists<T>(op));
      REQUIRE((found.from_right != nullptr) == exists<T>(op));
      if (!exists<T>(op)) continue;
      // The expected half is searched among all halves, which is slow.
      const bool is_slow = kIsHalf<T> && (op == Op::sum || op == Op::product);
      for (const std::size_t count : {0, 1, 7, 16, 33, 67, 500}) {
        if (is_slow && count > 67) continue;
        compare<T>(op, found.from_left, true, count, random);
        compare<T>(op, found.from_right, false, count, random);
      }
    }
  }
}

}  // namespace

TEST_CASE("kernels: every operation on every type is what it is defined to be, from either side") {
  try_type<std::int8_t>(Type::int8);
  try_type<std::uint8_t>(Type::uint8);
  try_type<std::int16_t>(Type::int16);
  try_type<std::uint16_t>(Type::uint16);
  try_type<std::int32_t>(Type::int32);
  try_type<std::uint32_t>(Type::uint32);
  try_type<std::int64_t>(Type::int64);
  try_type<std::uint64_t>(Type::uint64);
  try_type<float>(Type::float32);
  try_type<double>(Type::float64);
  try_type<long double>(Type::long_double);
  try_type<Pair<std::int16_t>>(Type::int16_index);
  try_type<Pair<std::int32_t>>(Type::int32_index);
  try_type<Pair<std::int64_t>>(Type::int64_index);
  try_type<Pair<float>>(Type::float32_index);
  try_type<Pair<double>>(Type::float64_index);
  try_type<Pair<long double>>(Type::long_double_index);
}

TEST_CASE("kernels: float16 and bfloat16 are summed as float32 and rounded once") {
  try_type<Float16>(Type::float16);
  try_type<Bfloat16>(Type::bfloat16);
}

TEST_CASE("kernels: every float16 and bfloat16 is read as it is defined, and comes back") {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    CAPTURE(bits);
    const Float16 half{static_cast<std::uint16_t>(bits)};
    const Bfloat16 brain{static_cast<std::uint16_t>(bits)};
    if (std::isnan(number(half))) {
      REQUIRE(std::isnan(plain::wide(half)));
      REQUIRE(std::isnan(number(plain::narrow16(plain::wide(half)))));
    } else {
      REQUIRE(is_same<double>(plain::wide(half), number(half)));
      REQUIRE(plain::narrow16(plain::wide(half)).bits == bits);
    }
    if (std::isnan(number(brain))) {
      REQUIRE(std::isnan(number(plain::narrow_bfloat16(plain::wide(brain)))));
    } else {
      REQUIRE(plain::narrow_bfloat16(plain::wide(brain)).bits == bits);
    }
  }
}

TEST_CASE("kernels: numbers between two of 16 bits go to the nearest, ties to the even one") {
  Random random(7);
  const auto try_one = [](float value) {
    CAPTURE(value);
    REQUIRE(is_same<double>(number(plain::narrow16(value)), as_float16(value)));
    REQUIRE(is_same<double>(number(plain::narrow_bfloat16(value)), as_bfloat16(value)));
  };
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {  // between each float16 and the next
    const float low = static_cast<float>(number(Float16{static_cast<std::uint16_t>(bits)}));
    const float high = static_cast<float>(
        bits + 1 < 0x7c00 ? number(Float16{static_cast<std::uint16_t>(bits + 1)}) : 65536.0);
    const float middle = low + (high - low) / 2;
    for (const float value :
         {middle, std::nextafterf(middle, low), std::nextafterf(middle, high)}) {
      try_one(value);
      try_one(-value);
    }
  }
  for (int i = 0; i < 200'000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.next());
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (i % 2 == 0) {  // exactly between two bfloat16
      const std::uint32_t tie = (bits & 0xffff0000u) | 0x8000u;
      std::memcpy(&value, &tie, sizeof value);
    }
    if (!std::isnan(value)) try_one(value);
  }
}

// Returns true if the element at this address is a NaN. Pairs have the number first and the place
// behind it.
static bool is_nan(Type type, const std::byte* at) {
  const auto there = [at]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return std::isnan(seen(value));
  };
  switch (type) {
    case Type::float16:
      return there(Float16{});
    case Type::bfloat16:
      return there(Bfloat16{});
    case Type::float32:
    case Type::float32_index:
      return there(0.0f);
    case Type::float64:
    case Type::float64_index:
      return there(0.0);
    default:
      return false;
  }
}

// The bits are equal except for which of two NaNs a sum returns: a compiler may exchange its
// operands.
TEST_CASE("kernels: all forms give the same bits") {
  Random random(11);
  for (std::size_t t = 0; t < kTypes; ++t)
    for (std::size_t o = 0; o < kOps; ++o) {
      const Type type = static_cast<Type>(t);
      const Op op = static_cast<Op>(o);
      if (kernels(op, type).from_left == nullptr) continue;
      // x87 has encodings that are no numbers. Its values are compared in the tests above.
      if (type == Type::long_double || type == Type::long_double_index) continue;
      const std::size_t count = 1001, bytes = count * size_of(type);
      std::vector<std::byte> from(bytes), to(bytes);
      for (std::size_t i = 0; i < bytes; ++i) {
        from[i] = static_cast<std::byte>(random.below(256));
        to[i] = static_cast<std::byte>(random.below(256));
      }
      for (std::size_t i = 0; i < bytes; i += size_of(type))
        if (is_nan(type, &from[i]) && is_nan(type, &to[i]))
          std::fill_n(from.begin() + static_cast<std::ptrdiff_t>(i), size_of(type), std::byte{0});
      std::vector<std::byte> wanted = to;
      kernels(op, type, Level::plain).from_left(wanted.data(), from.data(), count);
      for (const Level level : kLevels) {
        if (!has(level)) continue;
        CAPTURE(name_of(op), name_of(type), static_cast<int>(level));
        std::vector<std::byte> got = to;
        kernels(op, type, level).from_left(got.data(), from.data(), count);
        CHECK(got == wanted);
      }
    }
  CHECK(has(best_level()));
}

TEST_CASE("kernels: names of types lead back to them, and names of operations differ") {
  for (std::size_t t = 0; t < kTypes; ++t)
    CHECK(type_of(name_of(static_cast<Type>(t))) == static_cast<Type>(t));
  std::set<std::string_view> names;
  for (std::size_t o = 0; o < kOps; ++o)
    names.insert(name_of(static_cast<Op>(o)));
  CHECK(names.size() == kOps);
  CHECK_FALSE(names.contains(""));
  CHECK_FALSE(type_of("float"));
}

}  // namespace kernels_test
