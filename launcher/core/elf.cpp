#include "launcher/core/elf.h"

#include <string_view>
#include <utility>

#include "common/core/bytes.h"

namespace scela {

namespace {

// Real programs have about ten segments, and dynamic sections and string tables of some kilobytes;
// Fortran and C++ programs reach a megabyte of strings.
constexpr std::uint16_t kMostSegments = 1024;
constexpr std::uint64_t kMostDynamic = std::uint64_t{256} * 1024;
constexpr std::uint64_t kMostStrings = std::uint64_t{16} * 1024 * 1024;
constexpr std::size_t kMostNames = 4096;
constexpr std::size_t kLongestName = 4096;

constexpr std::size_t kHeader = 64;
constexpr std::size_t kSegment = 56;
constexpr std::size_t kEntry = 16;
constexpr std::uint32_t kLoad = 1;
constexpr std::uint32_t kDynamic = 2;
constexpr std::uint64_t kEndOfTable = 0;
constexpr std::uint64_t kNeeded = 1;
constexpr std::uint64_t kStringTable = 5;
constexpr std::uint64_t kStringSize = 10;

struct Segment {
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;  // in the file
};

std::optional<std::vector<Segment>> segments_of(const ReadAt& read) {
  const std::string header = read(0, kHeader);
  // Class 2: 64 bits; data 1: little-endian.
  if (header.size() < kHeader || !header.starts_with("\177ELF\2\1")) return std::nullopt;
  ByteReader in(std::string_view(header).substr(32));
  const std::uint64_t table = in.u64();
  in.raw(14);  // sections, flags, size of this header
  const std::uint16_t size = in.u16();
  const std::uint16_t count = in.u16();
  if (size != kSegment || count > kMostSegments) return std::nullopt;
  const std::string bytes = read(table, count * kSegment);
  if (bytes.size() < count * kSegment) return std::nullopt;
  std::vector<Segment> segments;
  ByteReader entries(bytes);
  for (std::uint16_t i = 0; i < count; ++i) {
    Segment segment;
    segment.type = entries.u32();
    entries.u32();
    segment.offset = entries.u64();
    segment.address = entries.u64();
    entries.u64();
    segment.size = entries.u64();
    entries.raw(16);
    segments.push_back(segment);
  }
  return segments;
}

std::optional<std::uint64_t> offset_of(std::uint64_t address, const std::vector<Segment>& all) {
  for (const Segment& segment : all) {
    if (segment.type != kLoad || address < segment.address) continue;
    const std::uint64_t within = address - segment.address;
    if (within < segment.size && segment.offset <= UINT64_MAX - within) {
      return segment.offset + within;
    }
  }
  return std::nullopt;
}

// Of the dynamic section.
struct Table {
  std::vector<std::uint64_t> names;  // where in the strings
  std::uint64_t strings = 0;         // their address
  std::uint64_t size = 0;
};

std::optional<Table> table_of(const std::string& bytes) {
  Table table;
  ByteReader in(bytes);
  for (std::size_t left = bytes.size() / kEntry; left > 0; --left) {
    const std::uint64_t tag = in.u64();
    const std::uint64_t value = in.u64();
    if (tag == kEndOfTable) break;
    if (tag == kNeeded) table.names.push_back(value);
    if (tag == kStringTable) table.strings = value;
    if (tag == kStringSize) table.size = value;
    if (table.names.size() > kMostNames) return std::nullopt;
  }
  return table;
}

}  // namespace

std::optional<std::vector<std::string>> needed_libraries(const ReadAt& read) {
  const auto segments = segments_of(read);
  if (!segments) return std::nullopt;
  const Segment* dynamic = nullptr;
  for (const Segment& segment : *segments) {
    if (segment.type == kDynamic && dynamic == nullptr) dynamic = &segment;
  }
  std::vector<std::string> names;
  if (dynamic == nullptr) return names;
  if (dynamic->size > kMostDynamic) return std::nullopt;
  const auto table = table_of(read(dynamic->offset, dynamic->size));
  if (!table) return std::nullopt;
  if (table->names.empty()) return names;
  const auto at = offset_of(table->strings, *segments);
  if (!at || table->size > kMostStrings) return std::nullopt;
  const std::string strings = read(*at, table->size);
  for (const std::uint64_t start : table->names) {
    if (start >= strings.size()) return std::nullopt;
    // Names may lie in each other: a limit for all of them is none.
    const std::string_view name = std::string_view(strings).substr(start, kLongestName);
    const std::size_t end = name.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    names.emplace_back(name.substr(0, end));
  }
  return names;
}

}  // namespace scela
