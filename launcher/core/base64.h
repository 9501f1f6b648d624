// Base64 (RFC 4648 section 4), as ssh's files write keys and hashes. Values only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace scela {

// Absent: a character that does not belong there, or a length that no text has. Padding is
// required.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace scela
