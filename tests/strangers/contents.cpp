#include "tests/strangers/contents.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cstring>

namespace strangers {
namespace {

using scela::ElementType;

constexpr std::size_t kGuard = 32;
constexpr std::byte kGuardByte{0xa5};
constexpr std::byte kFreshByte{0x5a};  // of memory that was not written
constexpr std::size_t kWord = sizeof(std::uint64_t);

struct Properties {
  std::size_t bytes, alignment, value_bytes;
  bool is_signed, is_real;
  std::size_t place_at;  // 0: there is no place
};

// The layout of C on x86-64 and AArch64.
Properties of(ElementType type) {
  using enum ElementType;
  constexpr std::size_t kLong = sizeof(long double);
  constexpr std::size_t kLongValue = kLong == 16 && LDBL_MANT_DIG == 64 ? 10 : kLong;
  switch (type) {
    case int8:
      return {1, 1, 1, true, false, 0};
    case uint8:
      return {1, 1, 1, false, false, 0};
    case int16:
      return {2, 2, 2, true, false, 0};
    case uint16:
      return {2, 2, 2, false, false, 0};
    case int32:
      return {4, 4, 4, true, false, 0};
    case uint32:
      return {4, 4, 4, false, false, 0};
    case int64:
      return {8, 8, 8, true, false, 0};
    case uint64:
      return {8, 8, 8, false, false, 0};
    case float16:
    case bfloat16:
      return {2, 2, 2, true, true, 0};
    case float32:
      return {4, 4, 4, true, true, 0};
    case float64:
      return {8, 8, 8, true, true, 0};
    case long_double:
      return {kLong, alignof(long double), kLongValue, true, true, 0};
    case int16_index:
      return {8, 4, 2, true, false, 4};
    case int32_index:
      return {8, 4, 4, true, false, 4};
    case int64_index:
      return {16, 8, 8, true, false, 8};
    case float32_index:
      return {8, 4, 4, true, true, 4};
    case float64_index:
      return {16, 8, 8, true, true, 8};
    case long_double_index:
      return {2 * kLong, alignof(long double), kLongValue, true, true, kLong};
    case opaque:
      return {8, 1, 8, false, false, 0};
  }
  return {};
}

template <class Value>
void put(std::byte* to, Value value) {
  std::memcpy(to, &value, sizeof value);
}

// Returns a small whole number as a sign, an exponent and the mantissa's highest bits.
std::uint16_t half(ElementType type, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (type == ElementType::bfloat16) return static_cast<std::uint16_t>(bits >> 16);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  if (value == 0) return sign;
  const auto exponent = ((bits >> 23) & 0xff) - 127 + 15;
  return static_cast<std::uint16_t>(sign | (exponent << 10) | ((bits >> 13) & 0x3ff));
}

std::string differs(std::size_t place, std::size_t size, std::byte is, std::byte expected) {
  return "byte " + std::to_string(place) + " of " + std::to_string(size) + " is " +
         std::to_string(std::to_integer<int>(is)) + ", not " +
         std::to_string(std::to_integer<int>(expected));
}

std::uint64_t affine(std::uint64_t left, std::uint64_t right) {
  const auto a = static_cast<std::uint32_t>(left), b = static_cast<std::uint32_t>(left >> 32);
  const auto c = static_cast<std::uint32_t>(right), d = static_cast<std::uint32_t>(right >> 32);
  return (std::uint64_t{a * d + b} << 32) | (a * c);
}

template <std::uint64_t (*join)(std::uint64_t, std::uint64_t)>
void each_word(const std::byte* left, const std::byte* right, std::byte* result,
               std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, left + i * kWord, kWord);
    std::memcpy(&b, right + i * kWord, kWord);
    put(result + i * kWord, join(a, b));
  }
}

std::uint64_t exclusive_or(std::uint64_t left, std::uint64_t right) {
  return left ^ right;
}

}  // namespace

void fill(std::span<std::byte> bytes, std::uint64_t key, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::uint64_t place = offset + done;
    const std::uint64_t word = mix(key + place / kWord);
    const std::size_t from = place % kWord, some = std::min(kWord - from, bytes.size() - done);
    std::memcpy(bytes.data() + done, reinterpret_cast<const std::byte*>(&word) + from, some);
    done += some;
  }
}

std::optional<std::string> difference(std::span<const std::byte> bytes, std::uint64_t key,
                                      std::uint64_t offset) {
  constexpr std::size_t kPiece = 4096;
  std::byte expected[kPiece];
  for (std::size_t done = 0; done < bytes.size();) {
    const std::span piece = std::span(expected).first(std::min(kPiece, bytes.size() - done));
    fill(piece, key, offset + done);
    if (std::memcmp(piece.data(), bytes.data() + done, piece.size()) != 0)
      for (std::size_t i = 0; i < piece.size(); ++i)
        if (piece[i] != bytes[done + i])
          return differs(done + i, bytes.size(), bytes[done + i], piece[i]);
    done += piece.size();
  }
  return std::nullopt;
}

std::optional<std::string> difference(std::span<const std::byte> bytes,
                                      std::span<const std::byte> expected) {
  const auto [is, should] = std::mismatch(bytes.begin(), bytes.end(), expected.begin());
  if (is == bytes.end()) return std::nullopt;
  return differs(static_cast<std::size_t>(is - bytes.begin()), bytes.size(), *is, *should);
}

std::size_t size_of(ElementType type) {
  return of(type).bytes;
}
std::size_t alignment_of(ElementType type) {
  return of(type).alignment;
}

std::vector<Extent> extents_of(ElementType type) {
  const Properties about = of(type);
  std::vector<Extent> extents{{0, about.value_bytes}};
  if (about.place_at != 0)
    extents.push_back({about.place_at, about.place_at + sizeof(std::int32_t)});
  return extents;
}

bool is_of(Reduction reduction, ElementType type) {
  const Properties about = of(type);
  if (reduction == Reduction::own_affine) return type == ElementType::opaque;
  if (reduction == Reduction::own_xor) return type == ElementType::uint64;
  if (type == ElementType::opaque) return false;
  const bool of_places = reduction == Reduction::minloc || reduction == Reduction::maxloc;
  const bool of_bits = reduction >= Reduction::bit_and && reduction <= Reduction::bit_xor;
  return of_places == (about.place_at != 0) && !(of_bits && about.is_real);
}

bool Elements::less(std::uint64_t left, std::uint64_t right) const {
  return of(type_).is_signed ? static_cast<std::int64_t>(left) < static_cast<std::int64_t>(right)
                             : left < right;
}

Elements::Value Elements::at(int rank, std::uint64_t index) const {
  const Properties about = of(type_);
  const std::uint64_t drawn = mix(key_, static_cast<std::uint64_t>(rank), index);
  if (reduction_ == Reduction::product && about.is_real) {
    constexpr std::int64_t kFactors[] = {1, 2, -1, 1};
    return {static_cast<std::uint64_t>(kFactors[drawn % 4]), 0};
  }
  std::uint64_t number = drawn;
  if (about.is_real || about.place_at != 0)
    number =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(drawn % 17) - 8);  // also equal ones
  else if (reduction_ >= Reduction::logical_and && reduction_ <= Reduction::logical_xor)
    number = drawn % 3;
  // The number is cut to the type's width, and then extended to the reference's.
  const unsigned spare = 64 - 8 * static_cast<unsigned>(std::min(about.value_bytes, kWord));
  if (!about.is_real)
    number = about.is_signed
                 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number << spare) >> spare)
                 : number << spare >> spare;
  return {number, (drawn >> 32) % 1000};
}

Elements::Value Elements::join(const Value& left, const Value& right) const {
  const std::uint64_t a = left.number, b = right.number;
  const auto narrow = [&](std::uint64_t number) {
    std::byte bytes[64]{};
    encode({number, 0}, bytes);
    std::uint64_t again = 0;
    const Properties about = of(type_);
    if (about.is_real) return number;
    std::memcpy(&again, bytes, std::min(about.value_bytes, kWord));
    const unsigned spare = 64 - 8 * static_cast<unsigned>(about.value_bytes);
    return about.is_signed
               ? static_cast<std::uint64_t>(static_cast<std::int64_t>(again << spare) >> spare)
               : again;
  };
  switch (reduction_) {
    case Reduction::sum:
      return {narrow(a + b), 0};
    case Reduction::product:
      return {narrow(a * b), 0};
    case Reduction::minimum:
      return less(b, a) ? right : left;
    case Reduction::maximum:
      return less(a, b) ? right : left;
    case Reduction::logical_and:
      return {a != 0 && b != 0, 0};
    case Reduction::logical_or:
      return {a != 0 || b != 0, 0};
    case Reduction::logical_xor:
      return {(a != 0) != (b != 0), 0};
    case Reduction::bit_and:
      return {a & b, 0};
    case Reduction::bit_or:
      return {a | b, 0};
    case Reduction::bit_xor:
    case Reduction::own_xor:
      return {a ^ b, 0};
    case Reduction::minloc:
      return less(b, a) || (a == b && right.second < left.second) ? right : left;
    case Reduction::maxloc:
      return less(a, b) || (a == b && right.second < left.second) ? right : left;
    case Reduction::own_affine:
      return {affine(a, b), 0};
  }
  return {};
}

void Elements::encode(const Value& value, std::byte* to) const {
  using enum ElementType;
  const Properties about = of(type_);
  const auto number = static_cast<std::int64_t>(value.number);
  if (type_ == float16 || type_ == bfloat16)
    put(to, half(type_, static_cast<float>(number)));
  else if (type_ == float32 || type_ == float32_index)
    put(to, static_cast<float>(number));
  else if (type_ == float64 || type_ == float64_index)
    put(to, static_cast<double>(number));
  else if (type_ == long_double || type_ == long_double_index)
    put(to, static_cast<long double>(number));
  else
    std::memcpy(to, &value.number, about.value_bytes);  // little-endian
  if (about.place_at != 0) put(to + about.place_at, static_cast<std::int32_t>(value.second));
}

void Elements::write(std::span<std::byte> to, int rank, std::uint64_t first) const {
  for (std::size_t i = 0; i < to.size() / bytes_; ++i)
    encode(at(rank, first + i), to.data() + i * bytes_);
}

void Elements::write_reduced(std::span<std::byte> to, std::span<const int> ranks,
                             std::uint64_t first) const {
  for (std::size_t i = 0; i < to.size() / bytes_; ++i) {
    Value value = at(ranks.front(), first + i);
    for (const int rank : ranks.subspan(1))
      value = join(value, at(rank, first + i));
    encode(value, to.data() + i * bytes_);
  }
}

scela::Reducer reducer_of(Reduction reduction) {
  if (reduction == Reduction::own_affine) return scela::Reducer::of(each_word<affine>, false);
  if (reduction == Reduction::own_xor) return scela::Reducer::of(each_word<exclusive_or>, true);
  return static_cast<scela::ReduceOp>(reduction);
}

Buffer::Buffer(std::size_t bytes, std::size_t shift) : begin_(kGuard + shift), size_(bytes) {
  memory_.resize(begin_ + bytes + kGuard, kFreshByte);
  std::fill_n(memory_.begin(), begin_, kGuardByte);
  std::fill_n(memory_.end() - kGuard, kGuard, kGuardByte);
}

std::optional<std::string> Buffer::damage() const {
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (i == begin_) i += size_;
    if (i < memory_.size() && memory_[i] != kGuardByte)
      return i < begin_ ? "a byte " + std::to_string(begin_ - i) + " before the buffer was written"
                        : "byte " + std::to_string(i - begin_) + " of a buffer of " +
                              std::to_string(size_) + " was written";
  }
  return std::nullopt;
}

}  // namespace strangers
