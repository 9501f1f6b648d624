// Finds the shared libraries that a program itself is linked to: the names in its dynamic section,
// and its run path. launcher/plan/dependencies.cpp uses it.
//
// The functions are pure. They read through a function, as files may be large. The file may be
// anything, also hostile: every offset, size and count is checked, and the number of bytes read is
// bounded. Only 64-bit little-endian ELF is understood.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scela {

// Returns up to `size` bytes of the file from `offset` on, or fewer if the file ends before.
using ReadAt = std::function<std::string(std::uint64_t offset, std::size_t size)>;

// The facts about a program's or library's links that are in its file.
struct Linkage {
  // The names of the libraries (DT_NEEDED). It is empty for a static program.
  std::vector<std::string> libraries;
  // The run path as it is in the file, such as "$ORIGIN/../lib:/opt/lib".
  std::string directories;
  // True if the string table names a function of libc that loads a library or starts a program
  // (dlopen, execve, posix_spawn, system, ...). For a static program: true unless it has all its
  // symbols, and none of them is a function that starts a program. True for a loader (ld.so).
  bool may_load_or_start = false;
  friend bool operator==(const Linkage&, const Linkage&) = default;
};

// Reads the linkage of an ELF file by calls of `read`. Returns std::nullopt if the file is no
// 64-bit little-endian ELF file (a script, for instance), or is malformed.
std::optional<Linkage> linkage_of(const ReadAt& read);

// Returns the paths of the libraries called `name` in the loader's cache; `cache` is the text of
// /etc/ld.so.cache. It does not filter out libraries of other architectures. `cache` may have any
// bytes; reads stay within its bounds.
std::vector<std::string> paths_in_loader_cache(std::string_view cache, std::string_view name);

}  // namespace scela
