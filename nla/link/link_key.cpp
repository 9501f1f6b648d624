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

}  // namespace

Result<LinkKey> derive_link_key(const std::string& job_key, const LinkName& name) {
  const std::unique_ptr<EVP_KDF, void (*)(EVP_KDF*)> kdf(
      ::EVP_KDF_fetch(nullptr, OSSL_KDF_NAME_HKDF, nullptr), ::EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, void (*)(EVP_KDF_CTX*)> context(
      kdf ? ::EVP_KDF_CTX_new(kdf.get()) : nullptr, ::EVP_KDF_CTX_free);
  std::string digest = "SHA256";
  std::string key = job_key;
  std::string info = purpose(name);
  const OSSL_PARAM parameters[] = {
      ::OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
      ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
      ::OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      ::OSSL_PARAM_construct_end()};
  LinkKey out;
  out.identity = cat("scela ", name.job_id, " ", name.parent, " ", name.child);
  out.secret.resize(kSecretBytes);
  if (!context ||
      ::EVP_KDF_derive(context.get(), reinterpret_cast<unsigned char*>(out.secret.data()),
                       out.secret.size(), parameters) != 1) {
    return fail(
        Error{ErrorKind::internal, "derive the key of a link", {}, "the library refuses", {}});
  }
  return out;
}

}  // namespace scela::nla
