// Makes a program's file as the loader reads it, for tests of code that reads what a program is
// linked to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/bytes.h"

namespace scela::test {

inline constexpr std::uint64_t kAddress = 0x400000;

struct ProgramSample {
  std::vector<std::string> libraries;
  std::uint16_t segments = 2;
  std::uint64_t dynamic_size = UINT64_MAX;  // as said; UINT64_MAX: the true one
  std::uint64_t strings_size = UINT64_MAX;
  std::uint64_t strings_at = UINT64_MAX;
  std::string directories{};
  std::vector<std::string> imports{};  // names of functions among its strings
};

inline void segment(ByteWriter& out, std::uint32_t type, std::uint64_t offset, std::uint64_t size) {
  out.u32(type);
  out.u32(4);
  out.u64(offset);
  out.u64(kAddress + offset);
  out.u64(kAddress + offset);
  out.u64(size);
  out.u64(size);
  out.u64(8);
}

// Returns a program with one loaded segment: header, segments, dynamic section, strings.
inline std::string program(const ProgramSample& sample) {
  const std::uint64_t dynamic_at = 64 + 2 * 56;
  const std::uint64_t dynamic_size = (sample.libraries.size() + 4) * 16;
  const std::uint64_t strings_at = dynamic_at + dynamic_size;
  std::string strings(1, '\0');
  std::vector<std::uint64_t> names;
  for (const std::string& library : sample.libraries) {
    names.push_back(strings.size());
    strings += library + '\0';
  }
  const std::uint64_t directories_at = strings.size();
  strings += sample.directories + '\0';
  for (const std::string& name : sample.imports)
    strings += name + '\0';
  const auto said = [](std::uint64_t wanted, std::uint64_t real) {
    return wanted == UINT64_MAX ? real : wanted;
  };
  ByteWriter out;
  out.raw(std::string_view("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16));
  out.u16(3);
  out.u16(62);
  out.u32(1);
  out.u64(kAddress);
  out.u64(64);
  out.u64(0);
  out.u32(0);
  out.u16(64);
  out.u16(56);
  out.u16(sample.segments);
  out.u16(0);
  out.u16(0);
  out.u16(0);
  segment(out, 1, 0, strings_at + strings.size());
  segment(out, 2, dynamic_at, said(sample.dynamic_size, dynamic_size));
  for (const std::uint64_t name : names) {
    out.u64(1);
    out.u64(name);
  }
  out.u64(29);
  out.u64(directories_at);
  out.u64(5);
  out.u64(said(sample.strings_at, kAddress + strings_at));
  out.u64(10);
  out.u64(said(sample.strings_size, strings.size()));
  out.u64(0);
  out.u64(0);
  out.raw(strings);
  return out.take();
}

// The form of a program that needs no libraries.
enum class StaticKind : std::uint8_t {
  fixed,        // at a fixed address: no dynamic section
  pie,          // a dynamic section with the flag of position-independent programs
  loader,       // a dynamic section without that flag, as ld.so has
  interpreted,  // as `loader`, and the name of a loader
};

// Returns a static program with these names of symbols; `says` is what its header says of the
// number of sections.
inline std::string static_program(const std::vector<std::string>& symbols, std::uint16_t says = 2,
                                  StaticKind kind = StaticKind::fixed) {
  const std::uint16_t segments = kind == StaticKind::fixed         ? 0
                                 : kind == StaticKind::interpreted ? 2
                                                                   : 1;
  const std::uint64_t dynamic = 64 + segments * 56u;
  const std::uint64_t sections = dynamic + (segments == 0 ? 0 : 32);
  std::string strings(1, '\0');
  for (const std::string& symbol : symbols)
    strings += symbol + '\0';
  ByteWriter out;
  out.raw(std::string_view("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", 16));
  out.raw(std::string(16, '\0'));
  out.u64(64);
  out.u64(sections);
  out.raw(std::string(6, '\0'));
  out.u16(56);  // size of a segment
  out.u16(segments);
  out.u16(64);  // size of a section
  out.u16(says);
  out.u16(0);
  const auto section = [&](std::uint32_t type, std::uint64_t at, std::uint64_t size) {
    out.u32(0);
    out.u32(type);
    out.raw(std::string(16, '\0'));
    out.u64(at);
    out.u64(size);
    out.u32(1);  // its names
    out.raw(std::string(20, '\0'));
  };
  if (segments > 0) {
    segment(out, 2, dynamic, 32);
    if (kind == StaticKind::interpreted) segment(out, 3, dynamic, 1);
    out.u64(0x6ffffffb);  // DT_FLAGS_1
    out.u64(kind == StaticKind::pie ? 0x08000000 : 0);
    out.raw(std::string(16, '\0'));
  }
  section(2, 0, 0);  // symbols
  section(3, sections + 2 * 64, strings.size());
  out.raw(strings);
  return out.take();
}

}  // namespace scela::test
