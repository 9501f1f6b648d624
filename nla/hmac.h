// HMAC with SHA-256 (RFC 2104), for keys of up to 64 bytes.
//
// By OpenSSL's low-level SHA-256, which needs none of the providers that the library loads for
// everything else: those take a megabyte, which would be a large part of an agent's memory. OpenSSL
// stays inside the .cpp file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scela::nla {

inline constexpr std::size_t kHmacBytes = 32;

// Requires key.size() <= 64.
std::string hmac_sha256(std::string_view key, std::string_view text);

}  // namespace scela::nla
