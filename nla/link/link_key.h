// The secret of one link, derived from the key of its child's node (node_keys.h), and the name by
// which its two ends call it.
//
// HKDF with SHA-256 (RFC 5869). Who parent and child are is part of the derivation, so no link's
// secret opens another link, and none of them tells another, or the node's key. Values only.
#pragma once

#include <cstdint>
#include <string>

#include "common/crypto/tls_session.h"

namespace scela::nla {

inline constexpr std::uint32_t kRootNode = UINT32_MAX;  // scela-run, where a node's index is asked

struct LinkName {
  std::string job_id;
  std::uint32_t parent = 0;  // node's index, or kRootNode
  std::uint32_t child = 0;
};

SharedKey derive_link_key(const std::string& node_key, const LinkName& name);

}  // namespace scela::nla
