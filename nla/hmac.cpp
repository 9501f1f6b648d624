#define OPENSSL_SUPPRESS_DEPRECATED  // see the header

#include "nla/hmac.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <array>

namespace scela::nla {

namespace {

std::array<unsigned char, SHA256_DIGEST_LENGTH> digest_of(
    const std::array<unsigned char, SHA256_CBLOCK>& pad, const void* text, std::size_t size) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256_CTX context;
  ::SHA256_Init(&context);
  ::SHA256_Update(&context, pad.data(), pad.size());
  ::SHA256_Update(&context, text, size);
  ::SHA256_Final(digest.data(), &context);
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
  const auto first = digest_of(inner, text.data(), text.size());
  const auto second = digest_of(outer, first.data(), first.size());
  ::OPENSSL_cleanse(inner.data(), inner.size());
  ::OPENSSL_cleanse(outer.data(), outer.size());
  return {reinterpret_cast<const char*>(second.data()), second.size()};
}

}  // namespace scela::nla
