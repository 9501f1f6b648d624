// Bounded reading and writing of little-endian integers, varints and length-prefixed strings.
//
// This is the only file in the tree that turns bytes into integers. A ByteReader never reads past
// its range. After the first short or malformed field it returns zeros and ok() is false, so a
// decoder checks once at its end. Varints are LEB128, at most 10 bytes. Both classes are values;
// nothing blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/rank_set.h"

namespace scela {

class ByteWriter {
 public:
  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u16(std::uint16_t value) { fixed(value, 2); }
  void u32(std::uint32_t value) { fixed(value, 4); }
  void u64(std::uint64_t value) { fixed(value, 8); }
  void flag(bool value) { u8(value ? 1 : 0); }
  void varint(std::uint64_t value);
  void text(std::string_view value);  // varint length, then the bytes
  void raw(std::string_view value) { out_.append(value); }
  // Writes a varint count of ranges, and for each range its gap to the previous one and its length.
  void ranks(const RankSet& set);

  std::size_t size() const { return out_.size(); }
  const std::string& bytes() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  // Writes the lowest `width` bytes, the least significant first.
  void fixed(std::uint64_t value, int width);
  std::string out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  std::uint8_t u8() { return static_cast<std::uint8_t>(fixed(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(fixed(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(fixed(4)); }
  std::uint64_t u64() { return fixed(8); }
  bool flag() { return u8() != 0; }
  std::uint64_t varint();
  std::uint32_t varint32();  // fails above 2^32 - 1
  std::string_view text();   // borrowed from the range
  // Returns the next `length` bytes, borrowed as for text().
  std::string_view raw(std::size_t length);
  RankSet ranks();

  bool ok() const { return ok_; }
  bool done() const { return ok_ && rest_.empty(); }  // all was read and was well formed
  std::string_view rest() const { return rest_; }
  void fail() {
    ok_ = false;
    rest_ = {};
  }

 private:
  std::uint64_t fixed(int width);
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace scela
