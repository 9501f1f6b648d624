// Counts with their noun, as sentences need them. The texts for users in launcher/ and nla/ use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/core/text.h"

namespace scela {

// Returns "1 rank" or "2 ranks" for the noun "rank". The plural is formed with an s.
inline std::string counted(std::uint64_t count, std::string_view noun) {
  return cat(count, ' ', noun, count == 1 ? "" : "s");
}

}  // namespace scela
