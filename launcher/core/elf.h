// Which shared libraries a program asks for by itself: the names in its dynamic section.
//
// Pure: reads through a function, for files may be large. The file may be anything, hostile
// included: every offset, size and count is checked, and what is read is bounded. 64-bit
// little-endian ELF; anything else is no program of a kind that this can read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace scela {

// Up to `size` bytes from `offset` on; fewer where the file ends.
using ReadAt = std::function<std::string(std::uint64_t offset, std::size_t size)>;

// Empty: it is linked to none (static). Nothing: it is no such file, a script for instance.
std::optional<std::vector<std::string>> needed_libraries(const ReadAt& read);

}  // namespace scela
