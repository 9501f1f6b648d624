// The connection state machine of one process: it decides when queue pairs to which nodes are made
// and closed (ScELA thesis, chapter 4). PortLinks (comm-channel/net/port_links.h) runs one machine
// for each port.
//
// XRC (Mode::shared, Mode::owned). A process has one send queue pair for each node that it sends
// to: its *link*. The machine makes the link when the process first sends to that node. It asks the
// peer concerned, the DIRECT peer of the node, for a receive queue pair. It asks the other peers of
// that node, the INDIRECT peers, for the numbers of their shared receive queues.
//
// With ibv_open_qp (Mode::shared) the indirect peers join: they also hold the receive queue pair.
// So it lives until its last holder lets go, even if the direct peer has ended. Without ibv_open_qp
// (Mode::owned) the receive queue pair ends with the direct peer, and the link is made anew with
// another peer.
//
// Links are simplex. Two nodes that connect to each other at the same time have two links, because
// each XRC queue pair has one direction. The receiving queue pairs belong to the node and not to a
// peer. So no process waits for another, and there is no conflict to resolve.
//
// RC (Mode::pairs). Two processes have one queue pair each, for both directions. If both ask at the
// same time, the request of the lower name counts. The other process answers it with the queue pair
// that it already has.
//
// A request is repeated until it is answered. A repeated request is answered again but not carried
// out again. event::PeerEnded reports a process that ends without a word. A process that leaves
// says so, and waits until no peer sends to it any more. Beyond Options::max_links the machine
// drains and closes the least recently used link.
//
// The machine takes events, returns actions, and knows no time but what it is told. It is not
// thread-safe. Copies are independent. The table of states is in connection_table.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/core/connect/connection_state.h"
#include "comm-channel/core/connect/handshake.h"
#include "comm-channel/core/connect/peer_table.h"

namespace scela {
class ByteWriter;
}

namespace scela::channel::connect {

struct Options {
  Mode mode = Mode::shared;
  std::uint64_t secret = 0;                         // the job's; other datagrams are dropped
  std::uint32_t ranks = 0;                          // size of the job; 0: any with the secret
  std::uint32_t srq = 0;                            // this process's SRQ number (XRC)
  std::uint8_t mtu = 3;                             // MTU of its port, as enum ibv_mtu
  std::uint8_t reads = 1;                           // RDMA reads its device answers at a time
  std::uint32_t max_links = 0;                      // links (RC: queue pairs); 0: any number
  Time first_wait = std::chrono::milliseconds(10);  // until a request is repeated; doubles
  Time longest_wait = std::chrono::seconds(1);
  std::uint8_t tries = 12;  // sends of a request before it is given up
};

// The counters of one process, for its statistics and for tests.
struct Counts {
  std::uint32_t links = 0;                  // send queue pairs (RC: queue pairs)
  std::uint32_t held = 0;                   // receive queue pairs made or opened
  std::uint64_t requests = 0, repeats = 0;  // handshake requests sent, and sent again
  std::uint64_t joins = 0;                  // peers that share an existing link
  std::uint64_t closed_idle = 0;            // links closed to make room for others
  std::uint64_t unheard = 0;                // datagrams from outside the job, dropped
  friend bool operator==(const Counts&, const Counts&) = default;
};

class Machine {
 public:
  Machine(const PeerAddress& self, const Options& options) : self_(self), options_(options) {}

  // Adds a peer, or returns the number of a known one. If the peer address has a later life, the
  // peer has started anew: its earlier life is treated as ended. A peer that speaks first is added
  // from its datagram.
  PeerId add(const PeerAddress& card);
  const PeerTable& peers() const { return table_; }

  void handle(const Event& event, Time now);
  // The actions to carry out, in order. The caller empties the vector.
  std::vector<Action>& actions() { return actions_; }
  // Returns when event::Timer is due, or std::nullopt if no request is pending. action::WakeMe
  // tells the same time.
  std::optional<Time> next_wake() const;

  // Returns the route to a peer and marks its link as used. If the route is empty, the caller gives
  // event::Wanted.
  Route route(PeerId peer) {
    const Route route = table_.route(peer);
    if (route) *used_of(peer) = ++uses_;
    return route;
  }

  Counts counts() const;
  PeerState state_of(PeerId peer) const { return peers_[peer].state; }
  PairState pair_of(PeerId peer) const { return peers_[peer].pair.state; }
  XrcTargetState hold_of(PeerId peer) const { return peers_[peer].hold.state; }
  LinkState link_of(NodeIndex node) const { return links_[node].state; }
  bool is_direct(PeerId peer) const;
  // Writes the state that decides what the machine does next, with times relative to `now`.
  // Machines with equal snapshots act alike from then on.
  void snapshot(ByteWriter& out, Time now) const;

 private:
  // connection.cpp: the parts that all modes share
  void take_datagram(std::string_view bytes);
  bool is_of_job(const Handshake& shake) const;
  bool meet(const Handshake& shake, PeerId& peer);
  void dispatch(PeerId peer, const Handshake& shake);
  void say(PeerId peer, HandshakeKind said, std::uint32_t number, bool own,
           const Handshake& rest = {});
  void repeat(PeerId peer, Slot& slot, HandshakeKind said, std::uint32_t number, bool own);
  void say_again(PeerId peer, const Slot& slot);
  void wake();
  void expire(PeerId peer, Slot& slot);
  void want(PeerId peer);
  void fail(PeerId peer, Failure why);
  void peer_ended(PeerId peer);
  void node_lost(NodeKey key);
  void leave();
  void check_left();
  void tell_wake();
  QpId new_qp(QpUse use, std::uint32_t index);
  void close_qp(QpId& qp);
  void qp_made(const event::QpMade& made);
  void qp_failed(const event::QpFailed& failed);
  std::uint64_t* used_of(PeerId peer);

  // connection_links.cpp: the sending side of XRC
  void advance(NodeIndex node);
  void pump();
  bool make_room();
  void choose_direct(NodeIndex node);
  void ask(PeerId peer, HandshakeKind said);
  void join_waiting(NodeIndex node);
  void make_ready(PeerId peer);
  void farewell(PeerId peer);
  void drain_peer(PeerId peer);
  void drain_link(NodeIndex node);
  void drained(PeerId peer);
  void finish_drained(NodeIndex node);
  void break_link(NodeIndex node);
  void end_link(NodeIndex node);
  void settle(NodeIndex node);
  void lose_member(PeerId peer, PeerState before);
  void link_made(NodeIndex node, const event::QpMade& made);
  void link_connected(NodeIndex node);
  void link_failed(NodeIndex node);
  void accepted(PeerId peer, const Handshake& shake);
  void joined(PeerId peer, const Handshake& shake);
  void refused(PeerId peer, const Handshake& shake);
  void unanswered(PeerId peer, HandshakeKind said);
  void told_to_leave(PeerId peer, std::uint32_t number);
  void leave_links();

  // connection_holds.cpp: the receiving side of XRC
  void asked(PeerId peer, const Handshake& shake);
  void asked_anew(PeerId peer, const Handshake& shake);
  void answer_hold(PeerId peer);
  void refuse(PeerId peer, std::uint32_t number, Refusal why);
  void release_hold(PeerId peer);
  void close_hold(PeerId peer, std::uint32_t number);
  void hold_made(PeerId peer, const event::QpMade& made);
  void hold_failed(PeerId peer, bool gone);
  void leave_holds();

  // connection_pairs.cpp: RC
  void want_pair(PeerId peer);
  void pump_pairs();
  bool make_room_of_pairs();
  void make_pair(PeerId peer);
  void pair_made(PeerId peer, const event::QpMade& made);
  void pair_connected(PeerId peer);
  void pair_failed(PeerId peer);
  void pair_asked(PeerId peer, const Handshake& shake);
  void adopt(PeerId peer, const Handshake& shake);
  void pair_accepted(PeerId peer, const Handshake& shake);
  void pair_confirmed(PeerId peer, const Handshake& shake);
  bool ask_pair_anew(PeerId peer);
  void pair_refused(PeerId peer, const Handshake& shake);
  void pair_close(PeerId peer, const Handshake& shake);
  void pair_closed(PeerId peer, const Handshake& shake);
  void pair_ready(PeerId peer);
  void drain_pair(PeerId peer);
  void pair_drained(PeerId peer);
  void pair_broken(PeerId peer);
  void close_pair(PeerId peer);
  void drop_pair(PeerId peer);
  void pair_unanswered(PeerId peer, HandshakeKind said);
  void pair_dispatch(PeerId peer, const Handshake& shake);
  void pair_ended(PeerId peer);
  void leave_pairs();

  PeerAddress self_;
  Options options_;
  PeerTable table_;
  std::vector<Peer> peers_;    // indexed by PeerId
  std::vector<Link> links_;    // indexed by NodeIndex
  std::vector<QpOwner> qps_;   // indexed by QpId
  std::vector<PeerId> timed_;  // peers with an active slot, or stale
  std::vector<Action> actions_;
  Time now_{};
  std::optional<Time> told_wake_;
  std::uint32_t numbers_ = 0;  // the last request number that was used
  std::uint64_t turns_ = 0, uses_ = 0;
  std::uint32_t open_links_ = 0;
  Counts counts_;
  bool leaving_ = false, left_ = false;
};

}  // namespace scela::channel::connect
