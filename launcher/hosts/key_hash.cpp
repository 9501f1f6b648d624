#include "launcher/hosts/key_hash.h"

#include <openssl/evp.h>

#include <cstdlib>

#include "common/crypto/digest.h"
#include "launcher/core/ssh/base64.h"

namespace scela {

namespace {

// Keeps a digest and its context, one per thread. OpenSSL's lookup by name costs more than the
// digest itself.
class Hasher {
 public:
  explicit Hasher(const char* name)
      : digest_(EVP_MD_fetch(nullptr, name, nullptr)), context_(EVP_MD_CTX_new()) {
    if (digest_ == nullptr || context_ == nullptr) std::abort();
  }
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  ~Hasher() {
    EVP_MD_CTX_free(context_);
    EVP_MD_free(digest_);
  }

  // Computes the digest of `first` followed by `second`. `out` must have room for the digest.
  void run(std::string_view first, std::string_view second, unsigned char* out) {
    if (EVP_DigestInit_ex2(context_, digest_, nullptr) != 1 ||
        EVP_DigestUpdate(context_, first.data(), first.size()) != 1 ||
        EVP_DigestUpdate(context_, second.data(), second.size()) != 1 ||
        EVP_DigestFinal_ex(context_, out, nullptr) != 1) {
      std::abort();
    }
  }

 private:
  EVP_MD* digest_;
  EVP_MD_CTX* context_;
};

}  // namespace

// Implements RFC 2104 directly. EVP_MAC sets up its key anew for each call, which costs three times
// as much, and each hidden name has a key of its own.
Sha1Digest hmac_sha1(std::string_view key, std::string_view text) {
  constexpr std::size_t kBlock = 64;
  thread_local Hasher sha1("SHA1");
  Sha1Digest short_key;
  if (key.size() > kBlock) {
    sha1.run(key, {}, short_key.data());
    key = {reinterpret_cast<const char*>(short_key.data()), short_key.size()};
  }
  char inner[kBlock];
  char outer[kBlock];
  for (std::size_t i = 0; i < kBlock; ++i) {
    const char byte = i < key.size() ? key[i] : '\0';
    inner[i] = static_cast<char>(byte ^ 0x36);
    outer[i] = static_cast<char>(byte ^ 0x5c);
  }
  Sha1Digest out;
  sha1.run({inner, kBlock}, text, out.data());
  sha1.run({outer, kBlock}, {reinterpret_cast<const char*>(out.data()), out.size()}, out.data());
  return out;
}

std::string key_digest(std::string_view blob) {
  return sha256_hex({decode_base64(blob).value_or("")});
}

}  // namespace scela
