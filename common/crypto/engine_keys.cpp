#include "common/crypto/engine_keys.h"

#include "common/core/text.h"
#include "common/crypto/hmac.h"

namespace scela {

std::string engine_key(std::string_view node_key, std::string_view job_id) {
  return hkdf_sha256(node_key, cat("scela adapter engine, job ", job_id));
}

std::string engine_key_of(std::string_view job_key, std::uint32_t node) {
  return hkdf_sha256(job_key, cat("scela adapter engine, node ", node));
}

std::string connection_key(std::string_view engine_key, std::uint32_t from) {
  return hkdf_sha256(engine_key, cat("scela adapter engine, TLS 1.3, from node ", from));
}

}  // namespace scela
