// Bounded reading and writing of little-endian integers, varints and length-prefixed strings. All
// rooms use it for messages and for values in shared memory.
//
// This is the only file in the tree that turns bytes into integers. A ByteReader never reads past
// its range. After the first short or malformed field it returns zeros and empty texts, and ok() is
// false, so a decoder checks once at its end. Varints are LEB128, at most 10 bytes. Both classes
// are values; nothing blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/rank_set.h"

namespace scela {

// Appends fields to a string of bytes.
class ByteWriter {
 public:
  // These append an integer of 1, 2, 4 or 8 bytes, the least significant byte first.
  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u16(std::uint16_t value) { fixed(value, 2); }
  void u32(std::uint32_t value) { fixed(value, 4); }
  void u64(std::uint64_t value) { fixed(value, 8); }
  void flag(bool value) { u8(value ? 1 : 0); }  // one byte, 1 or 0
  // Appends a varint: 1 to 10 bytes, of which each holds seven bits.
  void varint(std::uint64_t value);
  void text(std::string_view value);  // varint length, then the bytes
  // Appends the bytes without a length.
  void raw(std::string_view value) { out_.append(value); }
  // Writes a varint count of ranges, and two varints for each: the distance of its first number
  // from the last number before it (or from 0), and that of its last number from its first.
  void ranks(const RankSet& set);

  std::size_t size() const { return out_.size(); }
  const std::string& bytes() const { return out_; }
  // Moves the bytes out; the writer is not used any more.
  std::string take() { return std::move(out_); }

 private:
  // Writes the lowest `width` bytes, the least significant first.
  void fixed(std::uint64_t value, int width);
  std::string out_;
};

// Reads the fields that a ByteWriter wrote, in the same order. The bytes must outlive the reader
// and the views that it returns.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  // These read an integer as the writer's functions of the same name have written it. They return 0
  // if the bytes are too few.
  std::uint8_t u8() { return static_cast<std::uint8_t>(fixed(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(fixed(2)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(fixed(4)); }
  std::uint64_t u64() { return fixed(8); }
  // Returns true if the byte is not 0.
  bool flag() { return u8() != 0; }
  // Reads a varint. varint32() fails if it is above 2^32 - 1.
  std::uint64_t varint();
  std::uint32_t varint32();
  // Reads a length as a varint and returns so many bytes, as a view of the reader's bytes.
  std::string_view text();
  // Returns the next `length` bytes, as a view of the reader's bytes. Fails if fewer are left.
  std::string_view raw(std::size_t length);
  // Returns the set that ByteWriter::ranks() wrote. Fails if its ranges overlap or do not ascend.
  RankSet ranks();

  // Returns true if no field was short or malformed yet.
  bool ok() const { return ok_; }
  // Returns true if all bytes were read and all fields were well formed.
  bool done() const { return ok_ && rest_.empty(); }
  // Returns the bytes that are not read yet.
  std::string_view rest() const { return rest_; }
  // Makes ok() false for good, for a decoder that finds a value that is not allowed.
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
