// The processes that one process knows: by name, by node, and the way to each.
//
// Peers are numbered in the order in which they became known, and keep their numbers. route() is
// what each send asks: a look into an array. Values; knows nothing of how connections come to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm-channel/core/handshake.h"

namespace scela::channel::connect {

using PeerId = std::uint32_t;
using NodeIndex = std::uint32_t;
using QpId = std::uint32_t;  // what a queue pair is called between the machine and its shell
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

// How to send to a peer: the queue pair, and the number of its shared receive queue (XRC; ignored
// with RC).
struct Route {
  QpId qp = kNone;
  std::uint32_t srq = 0;
  explicit operator bool() const { return qp != kNone; }
  friend bool operator==(const Route&, const Route&) = default;
};

class PeerTable {
 public:
  // Of a name that is known already: the same number; what the card says new is taken over.
  PeerId add(const Card& card);
  std::optional<PeerId> find(const Name& name) const;
  std::size_t size() const { return cards_.size(); }
  const Card& card(PeerId peer) const { return cards_[peer]; }

  std::size_t nodes() const { return nodes_.size(); }
  std::optional<NodeIndex> find_node(NodeKey node) const;
  NodeIndex node_of(PeerId peer) const { return node_of_[peer]; }
  // In the order of their numbers.
  const std::vector<PeerId>& on_node(NodeIndex node) const { return nodes_[node].peers; }
  NodeKey key_of(NodeIndex node) const { return nodes_[node].key; }

  Route route(PeerId peer) const { return routes_[peer]; }
  void set_route(PeerId peer, Route route) { routes_[peer] = route; }

 private:
  struct Node {
    NodeKey key = 0;
    std::vector<PeerId> peers;
  };
  NodeIndex node_for(NodeKey key);

  std::vector<Card> cards_;
  std::vector<NodeIndex> node_of_;
  std::vector<Route> routes_;
  std::vector<PeerId> by_name_;    // sorted
  std::vector<Node> nodes_;        // in the order in which they became known
  std::vector<NodeIndex> by_key_;  // sorted
};

}  // namespace scela::channel::connect
