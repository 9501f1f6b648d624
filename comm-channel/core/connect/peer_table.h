// The processes that one process knows: by name, by node, whether each is there, and the route to
// each. LocalEnd (local_end.h) owns one.
//
// Peers are numbered in the order in which they became known, and keep their numbers. Each send
// calls route(), which is one array access. The table is a plain value and knows nothing about how
// connections are made. It is not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm-channel/core/connect/handshake.h"

namespace scela::channel::connect {

using PeerId = std::uint32_t;     // number of a peer in the table, from 0
using NodeIndex = std::uint32_t;  // number of a node in it, from 0
using QpId = std::uint32_t;       // names a QP to machine and shell
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

// The route to a peer: the queue pair, and the number of the peer's shared receive queue (XRC;
// ignored with RC).
struct Route {
  QpId qp = kNone;
  std::uint32_t srq = 0;
  explicit operator bool() const { return qp != kNone; }
  friend bool operator==(const Route&, const Route&) = default;
};

// The knowledge of this process about a peer's life. In one life a later state is never followed by
// an earlier one.
enum class Presence : std::uint8_t {
  present,  // nothing else is known
  leaving,  // the peer has reported that it is about to end
  ended,
};

class PeerTable {
 public:
  // Adds a peer, which is present, and returns its number. If the name is known already, the peer
  // address is replaced, and the number and the presence stay.
  PeerId add(const PeerAddress& address);
  // Returns std::nullopt if no peer of that name is known.
  std::optional<PeerId> find(const Name& name) const;
  std::size_t size() const { return addresses_.size(); }
  const PeerAddress& address(PeerId peer) const { return addresses_[peer]; }

  std::size_t nodes() const { return nodes_.size(); }
  // Returns std::nullopt if no peer of that node is known.
  std::optional<NodeIndex> find_node(NodeKey node) const;
  NodeIndex node_of(PeerId peer) const { return node_of_[peer]; }
  // Returns the peers of a node, in the order of their numbers.
  const std::vector<PeerId>& on_node(NodeIndex node) const { return nodes_[node].peers; }
  NodeKey key_of(NodeIndex node) const { return nodes_[node].key; }

  Presence presence(PeerId peer) const { return presences_[peer]; }
  // Notes that a peer is leaving or has ended. Does nothing if it is known to have ended.
  void advance_presence(PeerId peer, Presence to) {
    presences_[peer] = std::max(presences_[peer], to);
  }
  // The peer has started anew.
  void reset_presence(PeerId peer) { presences_[peer] = Presence::present; }

  // Returns the route that was set last; it is empty (false) if there is none.
  Route route(PeerId peer) const { return routes_[peer]; }
  void set_route(PeerId peer, Route route) { routes_[peer] = route; }

 private:
  struct Node {
    NodeKey key = 0;
    std::vector<PeerId> peers;
  };
  // Returns the number of the node, which is added if it is not known.
  NodeIndex node_for(NodeKey key);

  std::vector<PeerAddress> addresses_;
  std::vector<NodeIndex> node_of_;
  std::vector<Route> routes_;
  std::vector<Presence> presences_;
  std::vector<PeerId> by_name_;    // sorted by name
  std::vector<Node> nodes_;        // indexed by NodeIndex
  std::vector<NodeIndex> by_key_;  // sorted by key
};

}  // namespace scela::channel::connect
