// Contents of messages and elements. They are functions of a key and a place, so that all ranks
// know each byte without being sent it. Also buffers: no byte beside them may change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <scela/communicator.h>

#include "tests/strangers/stranger_plan.h"

namespace strangers {

constexpr std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}
template <class... More>
constexpr std::uint64_t mix(std::uint64_t first, std::uint64_t second, More... more) {
  return mix(mix(first) ^ (second + 0x632be59bd9b4e019), static_cast<std::uint64_t>(more)...);
}

// Writes the bytes of a key's endless stream from `offset` on.
void fill(std::span<std::byte> bytes, std::uint64_t key, std::uint64_t offset = 0);
// Describes the first byte that differs from them: "byte 17 of 4096 is 3, not 250".
std::optional<std::string> difference(std::span<const std::byte> bytes, std::uint64_t key,
                                      std::uint64_t offset = 0);
std::optional<std::string> difference(std::span<const std::byte> bytes,
                                      std::span<const std::byte> expected);

std::size_t size_of(scela::ElementType type);
std::size_t alignment_of(scela::ElementType type);
// A range of bytes of an element that have a meaning: from, up to.
struct Extent {
  std::size_t from = 0, to = 0;
};
std::vector<Extent> extents_of(scela::ElementType type);
bool is_of(Reduction reduction, scela::ElementType type);

// Elements that are reduced. Sums and products of as many as a job has ranks are exact, whatever
// the brackets.
class Elements {
 public:
  Elements(scela::ElementType type, Reduction reduction, std::uint64_t key)
      : type_(type), reduction_(reduction), key_(key), bytes_(size_of(type)) {}

  // Writes those of one rank, beginning with the element `first`.
  void write(std::span<std::byte> to, int rank, std::uint64_t first) const;
  // Writes those of several ranks, reduced in their order.
  void write_reduced(std::span<std::byte> to, std::span<const int> ranks,
                     std::uint64_t first) const;

 private:
  struct Value {
    std::uint64_t number = 0, second = 0;  // second: the place, or the other half
  };
  Value at(int rank, std::uint64_t index) const;
  Value join(const Value& left, const Value& right) const;
  void encode(const Value& value, std::byte* to) const;
  bool less(std::uint64_t left, std::uint64_t right) const;

  scela::ElementType type_;
  Reduction reduction_;
  std::uint64_t key_;
  std::size_t bytes_;
};

// Returns the program's own reductions.
scela::Reducer reducer_of(Reduction reduction);

// Memory between guards, which show if anything else wrote there.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::size_t bytes, std::size_t shift);
  std::span<std::byte> bytes() { return std::span(memory_).subspan(begin_, size_); }
  std::span<const std::byte> bytes() const { return std::span(memory_).subspan(begin_, size_); }
  std::optional<std::string> damage() const;

 private:
  std::vector<std::byte> memory_;
  std::size_t begin_ = 0, size_ = 0;
};

}  // namespace strangers
