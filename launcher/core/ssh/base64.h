// Decodes base64 (RFC 4648, section 4), in which ssh's files have keys and hashes. known_hosts.cpp
// and launcher/hosts/key_hash.cpp use it. Pure function.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace scela {

// Returns the decoded bytes. Returns std::nullopt if `text` is empty, has an invalid character, or
// has a length that no base64 text has. Padding is required.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace scela
