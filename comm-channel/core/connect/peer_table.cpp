#include "comm-channel/core/connect/peer_table.h"

#include <algorithm>

namespace scela::channel::connect {

PeerId PeerTable::add(const PeerAddress& address) {
  const auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), address.name,
      [this](PeerId peer, const Name& name) { return addresses_[peer].name < name; });
  if (at != by_name_.end() && addresses_[*at].name == address.name) {
    const PeerId peer = *at;
    const NodeIndex before = node_of_[peer], now = node_for(address.node);
    addresses_[peer] = address;
    if (before != now) {
      std::erase(nodes_[before].peers, peer);
      auto& there = nodes_[now].peers;
      there.insert(std::lower_bound(there.begin(), there.end(), peer), peer);
      node_of_[peer] = now;
    }
    return peer;
  }
  const PeerId peer = static_cast<PeerId>(addresses_.size());
  by_name_.insert(at, peer);
  addresses_.push_back(address);
  routes_.emplace_back();
  presences_.push_back(Presence::present);
  node_of_.push_back(node_for(address.node));
  nodes_[node_of_.back()].peers.push_back(peer);
  return peer;
}

std::optional<PeerId> PeerTable::find(const Name& name) const {
  const auto at = std::lower_bound(
      by_name_.begin(), by_name_.end(), name,
      [this](PeerId peer, const Name& wanted) { return addresses_[peer].name < wanted; });
  if (at == by_name_.end() || addresses_[*at].name != name) return std::nullopt;
  return *at;
}

std::optional<NodeIndex> PeerTable::find_node(NodeKey node) const {
  const auto at = std::lower_bound(
      by_key_.begin(), by_key_.end(), node,
      [this](NodeIndex index, NodeKey wanted) { return nodes_[index].key < wanted; });
  if (at == by_key_.end() || nodes_[*at].key != node) return std::nullopt;
  return *at;
}

NodeIndex PeerTable::node_for(NodeKey key) {
  if (const auto known = find_node(key)) return *known;
  const auto index = static_cast<NodeIndex>(nodes_.size());
  const auto at = std::lower_bound(
      by_key_.begin(), by_key_.end(), key,
      [this](NodeIndex other, NodeKey wanted) { return nodes_[other].key < wanted; });
  by_key_.insert(at, index);
  nodes_.push_back({key, {}});
  return index;
}

}  // namespace scela::channel::connect
