// The two hash functions that host keys need. They use OpenSSL, so that launcher/core has no
// cryptography. ssh_hosts.cpp and launcher/hosts/host_contacts.cpp use them.
//
// They are safe to call from several threads and never return an error. Without SHA-1 or SHA-256
// the program cannot do ssh at all, and it aborts.
#pragma once

#include <string>
#include <string_view>

#include "launcher/core/ssh/known_hosts.h"

namespace scela {

// Returns HMAC-SHA1 (RFC 2104) of `text`, with which known_hosts files hide host names. `key` is
// the salt.
Sha1Digest hmac_sha1(std::string_view key, std::string_view text);

// Returns the SHA-256 of a host key as 64 lower-case hexadecimal digits. `blob` must be valid
// base64.
std::string key_digest(std::string_view blob);

}  // namespace scela
