// SHA-256 (FIPS 180-4) of bytes, in hexadecimal. The agent compares programs that it gets from
// elsewhere by it. Any thread may call the function, which does not block.
//
// As in hmac.h, OpenSSL's low-level functions are used, and stay inside the .cpp file.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace scela {

// Returns the digest of the pieces, one after the other: 64 lower-case hexadecimal digits.
std::string sha256_hex(std::initializer_list<std::string_view> pieces);

}  // namespace scela
