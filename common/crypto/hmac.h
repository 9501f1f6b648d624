// HMAC with SHA-256 (RFC 2104) and HKDF (RFC 5869), for keys of up to 64 bytes. nla/, hca/ and the
// other files of this folder use it. Any thread may call the functions, which do not block.
//
// The functions use OpenSSL's low-level SHA-256, which needs none of the providers that the library
// loads for everything else. Those take a megabyte, a large part of an agent's memory. OpenSSL
// stays inside the .cpp file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scela {

// The size in bytes of an HMAC, and of a key that hkdf_sha256() returns.
inline constexpr std::size_t kHmacBytes = 32;

// Returns the HMAC of `text`, kHmacBytes bytes. Requires key.size() <= 64.
std::string hmac_sha256(std::string_view key, std::string_view text);
// Derives a key: returns one for `purpose` from `key`, kHmacBytes bytes, without salt and of one
// block (RFC 5869, sections 2.2 and 2.3). It reveals neither `key` nor a key for another purpose.
// Requires key.size() > 0.
std::string hkdf_sha256(std::string_view key, std::string_view purpose);

// Returns true if both are equal. The time that it takes does not depend on the byte in which they
// differ.
bool is_equal_secret(std::string_view one, std::string_view other);
// Overwrites the bytes of a key that is no longer needed, and empties the string.
void wipe(std::string& secret);

}  // namespace scela
