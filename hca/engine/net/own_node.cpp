#include "hca/engine/net/own_node.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/core/text.h"

namespace scela::hca {

namespace {

// Returns the part of GIDs that names the job, which is the same on all nodes. It does not reveal
// the key.
std::uint32_t tag_of(const FabricRecord& record) {
  const std::string_view key = record.key_is_own ? std::string_view() : record.key;
  const std::string digest = hmac_sha256(key, "scela-hca address " + record.job);
  std::uint32_t tag = 0;
  if (digest.size() >= sizeof tag) std::memcpy(&tag, digest.data(), sizeof tag);
  return tag;
}

}  // namespace

OwnNode::OwnNode(const FabricRecord& record, std::uint16_t port)
    : record_(record), tag_(tag_of(record_)) {
  record_.listen.port = record_.reached.port = port;
  identity_ = {record_.job, "", record_.node, record_.nodes, 0, record_.encrypt};
  identity_.key = record_.key_is_own ? std::exchange(record_.key, {})
                                     : engine_key_of(record_.key, record_.node);
  static_cast<void>(!::getrandom(&identity_.instance, sizeof identity_.instance, 0));
}

bool OwnNode::is_of(const FabricRecord& record) const {
  return record.job == record_.job && record.node == record_.node &&
         record.nodes == record_.nodes && record.encrypt == record_.encrypt &&
         is_equal_secret(record.key, record_.key);
}

Settings OwnNode::settings() const {
  Settings settings;
  NodeAddress address;
  address.tag = tag_;
  address.node = record_.node;
  if (!record_.reached.is_ipv6 && !record_.reached.is_any()) {
    std::copy_n(record_.reached.address.begin(), 4, address.ipv4.begin());
    address.tcp_port = record_.reached.port;
  }
  settings.gid = gid_of(address);
  settings.first_lid = first_lid_of(record_.node);
  // The number is locally administered, and even: the second port has the next one.
  settings.guid = std::uint64_t{2} << 56 | std::uint64_t{tag_} << 20 | 2 * record_.node;
  return settings;
}

std::optional<OwnNode::Target> OwnNode::target_of(const Gid& gid, bool is_global,
                                                  std::uint16_t lid) const {
  Target target;
  if (is_global) {
    const auto address = address_of(gid);
    if (!address || address->tag != tag_) return std::nullopt;
    target.node = address->node;
    if (!address->by_number()) {
      target.endpoint.emplace();
      std::ranges::copy(address->ipv4, target.endpoint->address.begin());
      target.endpoint->port = address->tcp_port;
    }
  } else if (const auto named = node_of_lid(lid)) {
    target.node = *named;
  } else {
    return std::nullopt;
  }
  if (target.node >= record_.nodes || target.node == record_.node) return std::nullopt;
  return target;
}

std::string OwnNode::key_to(std::uint32_t node, const std::string& told) const {
  if (record_.key.empty()) return told;
  std::string theirs = engine_key_of(record_.key, node);
  std::string key = connection_key(theirs, record_.node);
  wipe(theirs);
  return key;
}

}  // namespace scela::hca
