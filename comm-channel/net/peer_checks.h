// Checks whether ranks of other nodes are still there: it sends requests again, asks ranks that are
// silent, doubts those to which a path has failed, and gives up those that do not answer
// (docs/design/channel.md, Ends). NetworkLink (network_link.h) owns one.
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/net/link_requests.h"
#include "comm-channel/net/rank_table.h"
#include "comm-channel/net/refused_moves.h"

namespace scela::channel {

class PeerChecks {
 public:
  struct Rules {
    std::size_t unreachable_after = 0;  // seconds without an answer until a rank is given up
    bool limited_links = false;         // no link is opened only to ask
  };
  // The parts of the link, which must outlive this object.
  struct Parts {
    const World& world;
    LinkDevice& device;
    PortSet& ports;
    LinkTurns& turns;
    RankTable& ranks;
    SendSlots& slots;
    LinkRequests& requests;
    RefusedMoves& refused;
    UnsettledRanks& unsettled;
  };

  PeerChecks(const Parts& parts, const Rules& rules) : parts_(parts), rules_(rules) {}

  // Sets the function that asks the launcher whether a rank that does not answer has ended.
  void ask_with(std::function<bool(int rank)> has_left) { has_left_ = std::move(has_left); }
  // Looks at the unsettled ranks: repeats requests, and gives up ranks that do not answer.
  void settle();
  // The contract is that of NetworkPeers::look_around().
  void look_around();
  // The contract is that of NetworkPeers::is_connected().
  bool is_connected(int rank) const;

  // Doubts whether the ranks of a node live, because a path to `rank`, which is on it, has failed
  // for the reason `why`. The doubt ends when one of them answers.
  void doubt_node_of(int rank, const std::string& why);
  // Ends the doubt about the node of a rank that has answered.
  void trust_node_of(int rank);
  // Ends the doubt about the other ranks of a node, if the path of `rank` caused it: another part
  // has found that this rank has ended, which broke the path.
  void on_ended(int rank);
  // Handles that the first port could not connect to the rank: asks again later, or loses the rank.
  void on_not_connected(Remote& remote, connect::Failure why);

 private:
  // Returns true if nothing is left to do for the rank.
  bool settle(Remote& remote);
  // Returns true if this process asked the rank for a connection at least a second ago
  // (kBetweenQuestions), still wants it, and has none. `remote` is what it knows of the rank.
  bool is_awaited(const Remote& remote) const;
  connect::Route route_to(const Remote& remote) const {
    return parts_.ports.first().peers().route(remote.paths.id());
  }

  const Parts parts_;
  const Rules rules_;
  std::function<bool(int rank)> has_left_;
  connect::Time looked_around_{};
  std::size_t asked_last_ = 0;  // the rank
};

}  // namespace scela::channel
