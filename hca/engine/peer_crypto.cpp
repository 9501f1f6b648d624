#include "hca/engine/peer_crypto.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <memory>

namespace scela::hca {

namespace {

template <class T, void (*kFree)(T*)>
struct Free {
  void operator()(T* one) const { kFree(one); }
};
using Kdf = std::unique_ptr<EVP_KDF, Free<EVP_KDF, ::EVP_KDF_free>>;
using KdfContext = std::unique_ptr<EVP_KDF_CTX, Free<EVP_KDF_CTX, ::EVP_KDF_CTX_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY, ::EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Free<EVP_PKEY_CTX, ::EVP_PKEY_CTX_free>>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* room_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

Key private_key(std::string_view secret) {
  return Key(
      ::EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, bytes_of(secret), secret.size()));
}

}  // namespace

std::string authenticate(std::string_view key, std::string_view text) {
  std::string out(kProofBytes, '\0');
  unsigned int size = 0;
  const auto* const made = ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                  bytes_of(text), text.size(), room_of(out), &size);
  return made != nullptr && size == kProofBytes ? out : std::string();
}

std::string derive(std::string_view key, std::string_view salt, std::string_view purpose,
                   std::size_t bytes) {
  const Kdf kdf(::EVP_KDF_fetch(nullptr, OSSL_KDF_NAME_HKDF, nullptr));
  const KdfContext context(kdf ? ::EVP_KDF_CTX_new(kdf.get()) : nullptr);
  std::string hash = "SHA256";
  // The library asks for what it could write to, and does not.
  const auto octets = [](const char* name, std::string_view value) {
    return ::OSSL_PARAM_construct_octet_string(name, const_cast<char*>(value.data()), value.size());
  };
  OSSL_PARAM parameters[5] = {
      ::OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, hash.data(), 0),
      octets(OSSL_KDF_PARAM_KEY, key), octets(OSSL_KDF_PARAM_INFO, purpose),
      ::OSSL_PARAM_construct_end(), ::OSSL_PARAM_construct_end()};
  // It refuses an empty one, and takes none for one of zeros (RFC 5869 2.2).
  if (!salt.empty()) parameters[3] = octets(OSSL_KDF_PARAM_SALT, salt);
  std::string out(bytes, '\0');
  const bool made =
      context && ::EVP_KDF_derive(context.get(), room_of(out), out.size(), parameters) == 1;
  if (!made) wipe(out);
  return out;
}

std::string digest(std::string_view text) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  const bool made =
      ::EVP_Digest(text.data(), text.size(), room_of(out), &size, ::EVP_sha256(), nullptr) == 1;
  out.resize(made ? size : 0);
  return out;
}

std::string public_part(std::string_view secret) {
  const Key key = private_key(secret);
  std::string out(kSecretBytes, '\0');
  std::size_t size = out.size();
  const bool made = key && ::EVP_PKEY_get_raw_public_key(key.get(), room_of(out), &size) == 1 &&
                    size == kSecretBytes;
  return made ? out : std::string();
}

std::string common_part(std::string_view secret, std::string_view others_public) {
  const Key key = private_key(secret);
  const Key other(::EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, bytes_of(others_public),
                                                others_public.size()));
  const KeyContext context(key ? ::EVP_PKEY_CTX_new(key.get(), nullptr) : nullptr);
  std::string out(kSecretBytes, '\0');
  std::size_t size = out.size();
  // A point of small order, which would lead to a number that all know, is refused here.
  const bool made = other && context && ::EVP_PKEY_derive_init(context.get()) == 1 &&
                    ::EVP_PKEY_derive_set_peer(context.get(), other.get()) == 1 &&
                    ::EVP_PKEY_derive(context.get(), room_of(out), &size) == 1 &&
                    size == kSecretBytes;
  if (!made) wipe(out);
  return out;  // not a copy of it, which nobody would wipe
}

bool is_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void wipe(std::string& secret) {
  ::OPENSSL_cleanse(secret.data(), secret.size());
  secret.clear();
}

}  // namespace scela::hca
