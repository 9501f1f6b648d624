// HMAC with SHA-256 (RFC 2104) and HKDF (RFC 5869), for keys of up to 64 bytes.
//
// By OpenSSL's low-level SHA-256, which needs none of the providers that the library loads for
// everything else: those take a megabyte, which would be a large part of an agent's memory. OpenSSL
// stays inside the .cpp file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scela {

inline constexpr std::size_t kHmacBytes = 32;

// Requires key.size() <= 64. Returns kHmacBytes bytes.
std::string hmac_sha256(std::string_view key, std::string_view text);
// Without salt, of one block (RFC 5869, sections 2.2 and 2.3): a key for `purpose` that tells
// neither `key` nor a key for another purpose. Requires key.size() > 0. Returns kHmacBytes bytes.
std::string hkdf_sha256(std::string_view key, std::string_view purpose);

// Takes the same time wherever the two differ.
bool is_equal_secret(std::string_view one, std::string_view other);
// Overwrites the bytes of a key that is not needed any more, and empties the string.
void wipe(std::string& secret);

}  // namespace scela
