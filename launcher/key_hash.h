// The two hashes that host keys need: by OpenSSL, so that the core has no cryptography.
//
// Safe for several threads. Never fail: without SHA-1 or SHA-256 the program cannot do ssh at all,
// and ends.
#pragma once

#include <string>
#include <string_view>

#include "launcher/core/known_hosts.h"

namespace scela {

// Of a hidden name in known_hosts files.
Sha1Digest hmac_sha1(std::string_view key, std::string_view text);

// SHA-256 of a host key, 64 lower-case hexadecimal digits; `blob` is base64 that decodes.
std::string key_digest(std::string_view blob);

}  // namespace scela
