#include "launcher/core/program/elf.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "common/core/bytes.h"

namespace scela {

namespace {

// Limits against hostile files. Real programs have about ten segments, and dynamic sections and
// string tables of some kilobytes. Fortran and C++ programs reach a megabyte of strings.
constexpr std::uint16_t kMaxSegments = 1024;
constexpr std::uint16_t kMaxSections = 4096;
constexpr std::uint64_t kMaxDynamic = std::uint64_t{256} * 1024;
constexpr std::uint64_t kMaxStrings = std::uint64_t{16} * 1024 * 1024;
constexpr std::size_t kMaxNames = 4096;
constexpr std::size_t kLongestName = 4096;

constexpr std::size_t kHeader = 64;
constexpr std::size_t kSegment = 56;
constexpr std::size_t kSection = 64;
constexpr std::size_t kEntry = 16;
constexpr std::uint32_t kLoad = 1;
constexpr std::uint32_t kDynamic = 2;
constexpr std::uint32_t kInterpreter = 3;
constexpr std::uint32_t kSymbols = 2;
constexpr std::uint64_t kEndOfTable = 0;
constexpr std::uint64_t kNeeded = 1;
constexpr std::uint64_t kStringTable = 5;
constexpr std::uint64_t kStringSize = 10;
constexpr std::uint64_t kRunPathOfOld = 15;  // DT_RPATH: used if kRunPath is absent
constexpr std::uint64_t kRunPath = 29;
constexpr std::uint64_t kMoreFlags = 0x6ffffffb;  // DT_FLAGS_1
constexpr std::uint64_t kIsProgram = 0x08000000;  // DF_1_PIE: no library, and no loader

struct Segment {
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;  // in the file
};

std::optional<std::vector<Segment>> segments_of(const ReadAt& read) {
  const std::string header = read(0, kHeader);
  // Class 2 means 64 bits, and data 1 means little-endian.
  if (header.size() < kHeader || !header.starts_with("\177ELF\2\1")) return std::nullopt;
  ByteReader in(std::string_view(header).substr(32));
  const std::uint64_t table = in.u64();
  in.raw(14);  // sections, flags, size of this header
  const std::uint16_t size = in.u16();
  const std::uint16_t count = in.u16();
  if (size != kSegment || count > kMaxSegments) return std::nullopt;
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

// The entries of the dynamic section that are needed.
struct Table {
  std::vector<std::uint64_t> names;  // offsets in the strings
  std::uint64_t strings = 0;         // address of the strings
  std::uint64_t size = 0;
  std::optional<std::uint64_t> run_path;
  bool is_program = false;  // by the flag of position-independent programs
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
    if (tag == kMoreFlags) table.is_program = (value & kIsProgram) != 0;
    if (tag == kRunPath || (tag == kRunPathOfOld && !table.run_path)) table.run_path = value;
    if (table.names.size() > kMaxNames) return std::nullopt;
  }
  return table;
}

// Returns the string at `start`. Returns std::nullopt if it does not end within `strings` or is
// longer than names are.
std::optional<std::string> string_at(std::string_view strings, std::uint64_t start) {
  if (start >= strings.size()) return std::nullopt;
  // Names may overlap, so a limit for the sum of their lengths would be no limit.
  const std::string_view text = strings.substr(start, kLongestName);
  const std::size_t end = text.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(0, end));
}

constexpr std::string_view kLoaders[] = {"dlopen", "dlmopen"};
// The last three are of programs in Go, which have no libc.
constexpr std::string_view kStarters[] = {
    "execl",   "execle",  "execlp",   "execv",       "execve",       "execvp",
    "execvpe", "fexecve", "execveat", "posix_spawn", "posix_spawnp", "system",
    "popen",   "syscall", "wordexp",  "forkExec",    "syscall.Exec", "os.StartProcess"};
// Every static program has one of these: with glibc or musl the first, in Go the second. Symbols
// without them are a part of the program's (objcopy --keep-symbol, for instance).
constexpr std::string_view kStartOfProgram[] = {"__libc_start_main", "runtime.main"};

// Linkers let names share their ends, so any string that ends in such a name may stand for it.
bool names_one_of(std::span<const std::string_view> names, std::string_view strings) {
  return std::ranges::any_of(names, [&](std::string_view name) {
    return strings.find(std::string(name) + '\0') != std::string_view::npos;
  });
}

// Returns the names of a program's symbols. Returns std::nullopt if it has none (it was stripped),
// or is malformed.
std::optional<std::string> names_of_symbols(const ReadAt& read) {
  const std::string header = read(0, kHeader);
  ByteReader in(std::string_view(header).substr(40));
  const std::uint64_t table = in.u64();
  in.raw(10);  // flags, size of this header, and the segments
  const std::uint16_t size = in.u16();
  const std::uint16_t count = in.u16();
  if (size != kSection || count > kMaxSections) return std::nullopt;
  const std::string bytes = read(table, count * kSection);
  std::optional<std::uint32_t> wanted;
  for (std::size_t i = 0; i < bytes.size() / kSection && !wanted; ++i) {
    ByteReader section(std::string_view(bytes).substr(i * kSection, kSection));
    section.u32();
    const bool has_symbols = section.u32() == kSymbols;
    section.raw(32);
    if (has_symbols) wanted = section.u32();
  }
  if (!wanted || *wanted >= bytes.size() / kSection) return std::nullopt;
  ByteReader section(std::string_view(bytes).substr(*wanted * kSection, kSection));
  section.raw(24);
  const std::uint64_t start = section.u64();
  const std::uint64_t length = section.u64();
  if (length > kMaxStrings) return std::nullopt;
  std::string names = read(start, length);
  if (names.size() < length) return std::nullopt;
  return names;
}

// Static programs have dlopen in the C library, but no MPI loads into them.
bool static_may_start(const ReadAt& read) {
  const auto names = names_of_symbols(read);
  return !names || !names_one_of(kStartOfProgram, *names) || names_one_of(kStarters, *names);
}

}  // namespace

std::optional<Linkage> linkage_of(const ReadAt& read) {
  const auto segments = segments_of(read);
  if (!segments) return std::nullopt;
  const Segment* dynamic = nullptr;
  bool is_interpreted = false;
  for (const Segment& segment : *segments) {
    if (segment.type == kDynamic && dynamic == nullptr) dynamic = &segment;
    if (segment.type == kInterpreter) is_interpreted = true;
  }
  Linkage linkage;
  if (dynamic != nullptr && dynamic->size > kMaxDynamic) return std::nullopt;
  const auto table = dynamic == nullptr ? Table() : table_of(read(dynamic->offset, dynamic->size));
  if (!table) return std::nullopt;
  if (table->names.empty()) {
    // ld.so starts the program that its command line names.
    const bool may_be_loader = dynamic != nullptr && !is_interpreted && !table->is_program;
    linkage.may_load_or_start = may_be_loader || static_may_start(read);
    return linkage;
  }
  const auto at = offset_of(table->strings, *segments);
  if (!at || table->size > kMaxStrings) return std::nullopt;
  const std::string strings = read(*at, table->size);
  for (const std::uint64_t start : table->names) {
    auto name = string_at(strings, start);
    if (!name) return std::nullopt;
    linkage.libraries.push_back(std::move(*name));
  }
  linkage.may_load_or_start = names_one_of(kLoaders, strings) || names_one_of(kStarters, strings);
  if (table->run_path) linkage.directories = string_at(strings, *table->run_path).value_or("");
  return linkage;
}

// Parses glibc's format since 2.2, which may follow an older one in the same file. It has a magic,
// counts, and entries of flags, name, path, version and hardware. Offsets count from the magic.
std::vector<std::string> paths_in_loader_cache(std::string_view cache, std::string_view name) {
  constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
  constexpr std::size_t kRestOfHeader = 24;
  std::vector<std::string> paths;
  const std::size_t begin = cache.find(kMagic);
  if (begin == std::string_view::npos) return paths;
  const std::string_view all = cache.substr(begin);
  ByteReader in(all.substr(kMagic.size()));
  const std::uint32_t count = in.u32();
  in.raw(kRestOfHeader);
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    in.u32();
    const std::uint32_t key = in.u32();
    const std::uint32_t value = in.u32();
    in.raw(12);
    if (!in.ok() || string_at(all, key) != name) continue;
    if (auto path = string_at(all, value)) paths.push_back(std::move(*path));
  }
  return paths;
}

}  // namespace scela
