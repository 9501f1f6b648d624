// Who connects to which node, and when: the connections of one process (ScELA thesis, chapter 4).
//
// XRC (Mode::shared, Mode::owned). A process has one send queue pair for each node that it sends
// to, its *link*. It is made when something is first to be sent there: the peer concerned is asked
// for a receive queue pair (it is the DIRECT one of the node); the others of that node (INDIRECT)
// are asked for the number of their shared receive queue, and join: they hold the receive queue
// pair too (ibv_open_qp), so that it lives until the last of them lets go, also when the direct
// peer has ended. Without ibv_open_qp it ends with the direct peer, and the link is made anew with
// another. Links are simplex: two nodes that connect to each other at once have two, as the
// device's queue pairs have one direction, and those at the receiving end belong to the node and
// not to a peer. So nobody waits for anybody, and there is nothing to resolve.
//
// RC (Mode::pairs). Two processes have one queue pair each, for both directions. Where both ask at
// once the request of the lower name counts, and the other answers it with the queue pair that it
// has.
//
// A request is repeated until it is answered; one that was seen is answered and not carried out
// again. A process that ends without a word is told of by event::PeerEnded; one that leaves says
// so, and waits until nobody sends to it any more. Beyond Options::most_links the link that was
// used longest ago is drained and closed.
//
// Events in, actions out; no time but what it is told. Not for two threads at once. Copies are
// independent. The table of states: connection_table.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm-channel/core/connection_events.h"
#include "comm-channel/core/connection_state.h"
#include "comm-channel/core/handshake.h"
#include "comm-channel/core/peer_table.h"

namespace scela {
class ByteWriter;
}

namespace scela::channel::connect {

struct Options {
  Mode mode = Mode::shared;
  std::uint64_t secret = 0;      // of the job: what is said without it is not heard
  std::uint32_t ranks = 0;       // of the job: only they are heard; 0: whoever has the secret
  std::uint32_t srq = 0;         // where this process receives (XRC)
  std::uint8_t mtu = 3;          // of its port, as enum ibv_mtu
  std::uint8_t reads = 1;        // that its device answers at a time
  std::uint32_t most_links = 0;  // open at a time, of this process (RC: queue pairs); 0: any number
  Time first_wait = std::chrono::milliseconds(10);  // until a request is repeated; doubles
  Time longest_wait = std::chrono::seconds(1);
  std::uint8_t tries = 12;  // a request that was sent so often is given up
};

// What a process has, for its accounts and for tests.
struct Counts {
  std::uint32_t links = 0;                  // send queue pairs (RC: queue pairs)
  std::uint32_t held = 0;                   // receive queue pairs that it made or opened
  std::uint64_t requests = 0, repeats = 0;  // of the handshake
  std::uint64_t joins = 0;                  // peers that share a link that was there
  std::uint64_t closed_idle = 0;            // links that made room
  std::uint64_t unheard = 0;                // datagrams of others than the job's processes
  friend bool operator==(const Counts&, const Counts&) = default;
};

class Machine {
 public:
  Machine(const Card& self, const Options& options) : self_(self), options_(options) {}

  // Makes a peer known (a card of a later life: it has started anew). Peers that speak first are
  // known by that.
  PeerId add(const Card& card);
  const PeerTable& peers() const { return table_; }

  void handle(const Event& event, Time now);
  // What is to be done, in order; the caller empties it.
  std::vector<Action>& actions() { return actions_; }
  // When event::Timer is due, also told by action::WakeMe.
  std::optional<Time> next_wake() const;

  // The way to a peer; none: say event::Wanted. Notes that its link is used.
  Route route(PeerId peer) {
    const Route route = table_.route(peer);
    if (route) *used_of(peer) = ++uses_;
    return route;
  }

  Counts counts() const;
  PeerState state_of(PeerId peer) const { return peers_[peer].state; }
  PairState pair_of(PeerId peer) const { return peers_[peer].pair.state; }
  HoldState hold_of(PeerId peer) const { return peers_[peer].hold.state; }
  LinkState link_of(NodeIndex node) const { return links_[node].state; }
  bool is_direct(PeerId peer) const;
  // All that it knows, with times as from `now`: machines with equal ones do the same from now on.
  void snapshot(ByteWriter& out, Time now) const;

 private:
  // connection.cpp: what all modes share
  void take_datagram(std::string_view bytes);
  bool is_of_job(const Handshake& shake) const;
  bool meet(const Handshake& shake, PeerId& peer);
  void dispatch(PeerId peer, const Handshake& shake);
  void say(PeerId peer, Said said, std::uint32_t number, bool own, const Handshake& rest = {});
  void repeat(PeerId peer, Slot& slot, Said said, std::uint32_t number, bool own);
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
  void ask(PeerId peer, Said said);
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
  void unanswered(PeerId peer, Said said);
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
  void pair_unanswered(PeerId peer, Said said);
  void pair_dispatch(PeerId peer, const Handshake& shake);
  void pair_ended(PeerId peer);
  void leave_pairs();

  Card self_;
  Options options_;
  PeerTable table_;
  std::vector<Peer> peers_;    // by PeerId
  std::vector<Link> links_;    // by NodeIndex
  std::vector<QpOwner> qps_;   // by QpId
  std::vector<PeerId> timed_;  // those with a slot that is active, and some that have none any more
  std::vector<Action> actions_;
  Time now_{};
  std::optional<Time> told_wake_;
  std::uint32_t numbers_ = 0;  // of requests
  std::uint64_t turns_ = 0, uses_ = 0;
  std::uint32_t open_links_ = 0;
  Counts counts_;
  bool leaving_ = false, left_ = false;
};

}  // namespace scela::channel::connect
