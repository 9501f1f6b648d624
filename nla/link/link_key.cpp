#include "nla/link/link_key.h"

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "common/crypto/hmac.h"

namespace scela::nla {

namespace {

// Returns the context of the derivation. It includes the roles: the parent connects, the child
// answers.
std::string purpose(const LinkName& name) {
  ByteWriter out;
  out.raw("scela link, TLS 1.3, parent connects");
  out.text(name.job_id);
  out.u32(name.parent);
  out.u32(name.child);
  return out.take();
}

}  // namespace

SharedKey derive_link_key(std::string node_key, const LinkName& name) {
  SharedKey key{cat("scela ", name.job_id, " ", name.parent, " ", name.child),
                hkdf_sha256(node_key, purpose(name))};
  wipe(node_key);
  return key;
}

}  // namespace scela::nla
