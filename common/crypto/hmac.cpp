#define OPENSSL_SUPPRESS_DEPRECATED  // the header says why

#include "common/crypto/hmac.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <array>

namespace scela {

namespace {

std::array<unsigned char, SHA256_DIGEST_LENGTH> digest_of(
    const std::array<unsigned char, SHA256_CBLOCK>& pad, const void* text, std::size_t size) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256_CTX context;
  ::SHA256_Init(&context);
  ::SHA256_Update(&context, pad.data(), pad.size());
  ::SHA256_Update(&context, text, size);
  ::SHA256_Final(digest.data(), &context);
  ::OPENSSL_cleanse(&context, sizeof context);
  return digest;
}

}  // namespace

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::array<unsigned char, SHA256_CBLOCK> inner{}, outer{};
  for (std::size_t at = 0; at < inner.size(); ++at) {
    const auto byte = static_cast<unsigned char>(at < key.size() ? key[at] : 0);
    inner[at] = byte ^ 0x36U;
    outer[at] = byte ^ 0x5cU;
  }
  auto first = digest_of(inner, text.data(), text.size());
  auto second = digest_of(outer, first.data(), first.size());
  ::OPENSSL_cleanse(inner.data(), inner.size());
  ::OPENSSL_cleanse(outer.data(), outer.size());
  ::OPENSSL_cleanse(first.data(), first.size());
  std::string made(reinterpret_cast<const char*>(second.data()), second.size());
  ::OPENSSL_cleanse(second.data(), second.size());
  return made;
}

std::string hkdf_sha256(std::string_view key, std::string_view purpose) {
  std::string extracted = hmac_sha256(std::string(kHmacBytes, '\0'), key);
  std::string made = hmac_sha256(extracted, std::string(purpose) + '\x01');
  wipe(extracted);
  return made;
}

bool is_equal_secret(std::string_view one, std::string_view other) {
  return one.size() == other.size() && ::CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

void wipe(std::string& secret) {
  ::OPENSSL_cleanse(secret.data(), secret.size());
  secret.clear();
}

}  // namespace scela
