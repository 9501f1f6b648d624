#include "common/core/bytes.h"

namespace scela {

void ByteWriter::fixed(std::uint64_t value, int width) {
  for (int i = 0; i < width; ++i)
    out_.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

void ByteWriter::varint(std::uint64_t value) {
  while (value >= 0x80) {
    out_.push_back(static_cast<char>((value & 0x7f) | 0x80));
    value >>= 7;
  }
  out_.push_back(static_cast<char>(value));
}

void ByteWriter::text(std::string_view value) {
  varint(value.size());
  raw(value);
}

void ByteWriter::ranks(const RankSet& set) {
  varint(set.ranges().size());
  Rank at = 0;
  for (const RankSet::Range& range : set.ranges()) {
    varint(range.first - at);
    varint(range.last - range.first);
    at = range.last;
  }
}

std::uint64_t ByteReader::fixed(int width) {
  const auto length = static_cast<std::size_t>(width);
  if (rest_.size() < length) {
    fail();
    return 0;
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < length; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  }
  rest_.remove_prefix(length);
  return value;
}

std::uint64_t ByteReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) break;
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    if (shift == 63 && byte > 1) break;  // would not fit 64 bits
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80u) == 0) return value;
  }
  fail();
  return 0;
}

std::uint32_t ByteReader::varint32() {
  const std::uint64_t value = varint();
  if (value > UINT32_MAX) {
    fail();
    return 0;
  }
  return static_cast<std::uint32_t>(value);
}

std::string_view ByteReader::raw(std::size_t length) {
  if (length > rest_.size()) {
    fail();
    return {};
  }
  const std::string_view out = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return out;
}

std::string_view ByteReader::text() {
  const std::uint64_t length = varint();
  if (length > rest_.size()) {
    fail();
    return {};
  }
  return raw(static_cast<std::size_t>(length));
}

RankSet ByteReader::ranks() {
  const std::uint64_t count = varint();
  // Each range takes at least two bytes, so a false count is found before memory is taken for it.
  if (count > rest_.size()) fail();
  RankSet set;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; ok_ && i < count; ++i) {
    const std::uint64_t first = at + varint32();
    const std::uint64_t last = first + varint32();
    if (last >= UINT32_MAX || (i > 0 && first <= at)) {
      fail();
      break;
    }
    set.add(RankSet::run(static_cast<Rank>(first), static_cast<Rank>(last - first + 1)));
    at = last;
  }
  return ok_ ? set : RankSet{};
}

}  // namespace scela
