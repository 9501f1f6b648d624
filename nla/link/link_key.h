// The secret of one link, derived from the key of its child's node (nla/keys/node_keys.h), and the
// name by which its two ends call it. The shell and the TLS links use it.
//
// HKDF with SHA-256 (RFC 5869). The numbers of parent and child are part of the derivation. So no
// link's secret opens another link, and none of them reveals another, or the node's key. Values
// only.
#pragma once

#include <cstdint>
#include <string>

#include "common/crypto/tls_session.h"

namespace scela::nla {

inline constexpr std::uint32_t kRootNode = UINT32_MAX;  // scela-run, as a node's index
// Any agent or scela-run that adopts the child, as the parent's index. The child does not know
// which of them comes.
inline constexpr std::uint32_t kAdopterNode = UINT32_MAX - 1;

// The name of one link: its job, and the numbers of its two nodes.
struct LinkName {
  std::string job_id;
  // The number of the parent's node, kRootNode for scela-run, or kAdopterNode.
  std::uint32_t parent = 0;
  std::uint32_t child = 0;
};

// Returns the pre-shared key for TLS on this link. `node_key` is the key of the child's node
// (NodeKeys::of()).
SharedKey derive_link_key(std::string node_key, const LinkName& name);

}  // namespace scela::nla
