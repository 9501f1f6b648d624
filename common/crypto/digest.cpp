#define OPENSSL_SUPPRESS_DEPRECATED  // the header says why

#include "common/crypto/digest.h"

#include <openssl/sha.h>

#include "common/core/hex.h"

namespace scela {

std::string sha256_hex(std::initializer_list<std::string_view> pieces) {
  SHA256_CTX context;
  ::SHA256_Init(&context);
  for (const std::string_view piece : pieces)
    ::SHA256_Update(&context, piece.data(), piece.size());
  unsigned char digest[SHA256_DIGEST_LENGTH];
  ::SHA256_Final(digest, &context);
  return hex_digits(digest, sizeof digest);
}

}  // namespace scela
