#include "nla/link/link_key.h"

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <memory>

#include "common/core/bytes.h"
#include "common/core/text.h"

namespace scela::nla {

namespace {

constexpr std::size_t kSecretBytes = 32;

// What the secret is good for: the parent connects, the child answers.
std::string purpose(const LinkName& name) {
  ByteWriter out;
  out.raw("scela link, TLS 1.3, parent connects");
  out.text(name.job_id);
  out.u32(name.parent);
  out.u32(name.child);
  return out.take();
}

std::string purpose_of_engines(const std::string& job_id) {
  ByteWriter out;
  out.raw("scela adapter engines, HMAC-SHA256");
  out.text(job_id);
  return out.take();
}

// Error: of what.
Result<std::string> derive(const std::string& job_key, std::string info, const char* what) {
  const std::unique_ptr<EVP_KDF, void (*)(EVP_KDF*)> kdf(
      ::EVP_KDF_fetch(nullptr, OSSL_KDF_NAME_HKDF, nullptr), ::EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, void (*)(EVP_KDF_CTX*)> context(
      kdf ? ::EVP_KDF_CTX_new(kdf.get()) : nullptr, ::EVP_KDF_CTX_free);
  std::string digest = "SHA256";
  std::string key = job_key;
  const OSSL_PARAM parameters[] = {
      ::OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
      ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
      ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      ::OSSL_PARAM_construct_end()};
  std::string secret(kSecretBytes, '\0');
  if (!context || ::EVP_KDF_derive(context.get(), reinterpret_cast<unsigned char*>(secret.data()),
                                   secret.size(), parameters) != 1) {
    return fail(Error{ErrorKind::internal, what, {}, "the library refuses", {}});
  }
  return secret;
}

}  // namespace

Result<LinkKey> derive_link_key(const std::string& job_key, const LinkName& name) {
  auto secret = derive(job_key, purpose(name), "derive the key of a link");
  if (!secret) return fail(secret.error());
  return LinkKey{cat("scela ", name.job_id, " ", name.parent, " ", name.child), std::move(*secret)};
}

Result<std::string> derive_engine_key(const std::string& job_key, const std::string& job_id) {
  return derive(job_key, purpose_of_engines(job_id), "derive the key of the adapter's engines");
}

}  // namespace scela::nla
