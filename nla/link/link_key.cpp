#include "nla/link/link_key.h"

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "nla/hmac.h"

namespace scela::nla {

namespace {

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

// HKDF without salt (RFC 5869, sections 2.2 and 2.3), of one block.
std::string derive(const std::string& from, const std::string& info) {
  const std::string extracted = hmac_sha256(std::string(kHmacBytes, '\0'), from);
  return hmac_sha256(extracted, info + '\x01');
}

}  // namespace

LinkKey derive_link_key(const std::string& node_key, const LinkName& name) {
  return {cat("scela ", name.job_id, " ", name.parent, " ", name.child),
          derive(node_key, purpose(name))};
}

std::string derive_engine_key(const std::string& common_key, const std::string& job_id) {
  return derive(common_key, purpose_of_engines(job_id));
}

}  // namespace scela::nla
