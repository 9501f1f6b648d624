// What connections between nodes need of the cryptographic library, which stays inside the .cpp
// file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scela::hca {

inline constexpr std::size_t kSecretBytes = 32;
inline constexpr std::size_t kProofBytes = 32;

// All return nothing (an empty string) where the library refuses.

// HMAC-SHA256.
std::string authenticate(std::string_view key, std::string_view text);
// HKDF-SHA256 (RFC 5869); as many bytes as are asked for.
std::string derive(std::string_view key, std::string_view salt, std::string_view purpose,
                   std::size_t bytes);
std::string digest(std::string_view text);  // SHA-256

// X25519 (RFC 7748): what `secret`, any 32 bytes, shows to the other side; and what both sides then
// have in common, which nobody else can know.
std::string public_part(std::string_view secret);
std::string common_part(std::string_view secret, std::string_view others_public);

bool is_equal(std::string_view a, std::string_view b);  // in a time that does not tell where not
void wipe(std::string& secret);

}  // namespace scela::hca
