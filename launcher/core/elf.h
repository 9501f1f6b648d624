// Which shared libraries a program asks for by itself: the names in its dynamic section, and where
// it would have them looked for.
//
// Pure: reads through a function, for files may be large. The file may be anything, hostile
// included: every offset, size and count is checked, and what is read is bounded. 64-bit
// little-endian ELF; anything else is no program of a kind that this can read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace scela {

// Up to `size` bytes from `offset` on; fewer where the file ends.
using ReadAt = std::function<std::string(std::uint64_t offset, std::size_t size)>;

struct Linkage {
  std::vector<std::string> libraries;  // empty: it is linked to none (static)
  std::string directories;             // its run path as it stands there: "$ORIGIN/../lib:/opt/lib"
  // Its strings name a function of libc that loads a library or starts a program (dlopen, execve,
  // posix_spawn, system, ...).
  bool can_become_more = false;
  friend bool operator==(const Linkage&, const Linkage&) = default;
};

// Nothing: it is no such file, a script for instance.
std::optional<Linkage> linkage_of(const ReadAt& read);

// Of the loader's cache (/etc/ld.so.cache): the paths of a library of that name, as they stand
// there; of other machines' kinds too. Any bytes are read within bounds.
std::vector<std::string> paths_in_loader_cache(std::string_view cache, std::string_view name);

}  // namespace scela
