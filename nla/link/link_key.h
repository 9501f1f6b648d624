// The secret of one link, derived from the key of its child's node (node_keys.h), and the name by
// which its two ends call it; and the key of the job's adapter engines, derived from what all
// agents have.
//
// HKDF with SHA-256 (RFC 5869). Who parent and child are is part of the derivation, so no link's
// secret opens another link, and none of them tells another, or the node's key. Values only;
// OpenSSL stays inside the .cpp file.
#pragma once

#include <cstdint>
#include <string>

namespace scela::nla {

inline constexpr std::uint32_t kRootNode = UINT32_MAX;  // scela-run, where a node's index is asked

struct LinkName {
  std::string job_id;
  std::uint32_t parent = 0;  // node's index, or kRootNode
  std::uint32_t child = 0;
};

struct LinkKey {
  std::string identity;  // travels in the clear
  std::string secret;    // 32 bytes
};

LinkKey derive_link_key(const std::string& node_key, const LinkName& name);
// By which the engines of the job's nodes know each other: 32 bytes, the same on all nodes.
std::string derive_engine_key(const std::string& common_key, const std::string& job_id);

}  // namespace scela::nla
