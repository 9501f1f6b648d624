// Counts in sentences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/text.h"

namespace scela {

// "1 rank", "2 ranks": of nouns that take an s.
inline std::string counted(std::uint64_t count, std::string_view noun) {
  return cat(count, ' ', noun, count == 1 ? "" : "s");
}

}  // namespace scela
