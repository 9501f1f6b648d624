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
  PeerId add(const PeerAddress& address);
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
  // These return the states of connection_state.h. state_of(), hold_of() and link_of() are for XRC,
  // pair_of() is for RC.
  PeerState state_of(PeerId peer) const { return peers_[peer].state; }
  PairState pair_of(PeerId peer) const { return peers_[peer].pair.state; }
  XrcTargetState hold_of(PeerId peer) const { return peers_[peer].hold.state; }
  LinkState link_of(NodeIndex node) const { return links_[node].state; }
  // Returns true if the peer is the direct peer of its node's link. With RC it is always true.
  bool is_direct(PeerId peer) const;
  // Writes the state that decides what the machine does next, with times relative to `now`.
  // Machines with equal snapshots act alike from then on.
  void snapshot(ByteWriter& out, Time now) const;

 private:
  // connection.cpp: the parts that all modes share. Parameters named `peer` and `node` are known to
  // the table. `number` is the number of a request, and `own` says that this process has chosen
  // that number. take_datagram() drops datagrams that are not a handshake of this job.
  void take_datagram(std::string_view bytes);
  // Returns true if the datagram has the secret of the job and names a rank of the job.
  bool is_of_job(const Handshake& shake) const;
  // Returns true if the datagram is for this process in its present life, and not from an earlier
  // or ended life of its sender. Then `peer` is set, and an unknown sender is added.
  bool meet(const Handshake& shake, PeerId& peer);
  // Hands a datagram to the function for its kind (XRC).
  void dispatch(PeerId peer, const Handshake& shake);
  // Sends one datagram, which is not repeated. `rest` has the fields that depend on its kind.
  void say(PeerId peer, HandshakeKind said, std::uint32_t number, bool own,
           const Handshake& rest = {});
  // Sends a datagram and repeats it from `slot` until the slot is no longer active.
  void repeat(PeerId peer, Slot& slot, HandshakeKind said, std::uint32_t number, bool own);
  // Sends the datagram of an active slot once more.
  void say_again(PeerId peer, const Slot& slot);
  // Repeats what is due in all slots. expire() does so for one slot, and ends the request if it was
  // sent often enough.
  void wake();
  void expire(PeerId peer, Slot& slot);
  // The process wants a route to the peer.
  void want(PeerId peer);
  // Takes the route away and tells the process that messages for the peer fail. Changes no link.
  void fail(PeerId peer, Failure why);
  // Treats a peer, or all known peers of a node, as ended. Both do nothing if that is known.
  void peer_ended(PeerId peer);
  void node_lost(NodeKey key);
  // Begins to close all connections. check_left() gives action::Left when none is left.
  void leave();
  void check_left();
  // Gives action::WakeMe if the time of the next repeat has changed.
  void tell_wake();
  // Chooses a free QpId for a queue pair; `index` is a NodeIndex (link) or a PeerId. The caller
  // gives the action that creates it.
  QpId new_qp(QpUse use, std::uint32_t index);
  // Gives action::CloseQp and sets `qp` to kNone. Does nothing if it is kNone.
  void close_qp(QpId& qp);
  // These take the shell's answers for a queue pair, and hand them to the functions of its use
  // (QpUse).
  void qp_made(const event::QpMade& made);
  void qp_failed(const event::QpFailed& failed);
  // Returns where the last use of the peer's link, or of its queue pair (RC), is kept.
  std::uint64_t* used_of(PeerId peer);

  // connection_links.cpp: the sending side of XRC. Peers in PeerState::waiting wait for the link of
  // their node. advance() queues the link of a node with such a peer, or joins them to a link that
  // is ready.
  void advance(NodeIndex node);
  // Makes queued links as long as max_links permits, and drains others for the rest.
  void pump();
  // Drains the least recently used link. Returns false if no link can be drained, or if enough
  // links are draining.
  bool make_room();
  // Asks the next waiting peer to become the direct peer. Ends the link if no peer waits.
  void choose_direct(NodeIndex node);
  // Sends a request (`connect` or `join`) with a new number, until it is answered.
  void ask(PeerId peer, HandshakeKind said);
  // Lets all waiting peers of the node join its ready link.
  void join_waiting(NodeIndex node);
  // Gives the peer its route over the ready link.
  void make_ready(PeerId peer);
  // Tells the peer, until it answers, that it may let go of what it holds for this process.
  void farewell(PeerId peer);
  // Takes the route of one peer, or of all peers of the link, and waits for its posted requests. A
  // link that is not ready is left as it is.
  void drain_peer(PeerId peer);
  void drain_link(NodeIndex node);
  // All requests posted for the peer are complete. The link ends with the last draining peer.
  void drained(PeerId peer);
  void finish_drained(NodeIndex node);
  // Ends a broken link (its queue pair is in the error state). Posted requests are reported as
  // lost.
  void break_link(NodeIndex node);
  // Closes the queue pair of a link that no peer uses. Waiting peers get a new link.
  void end_link(NodeIndex node);
  // Ends a ready link if no peer holds its far end and none is joining it.
  void settle(NodeIndex node);
  // Removes a peer that has ended from its link. `before` is the state that the peer was in.
  void lose_member(PeerId peer, PeerState before);
  // The next three are the answers of the shell to actions on the link's queue pair.
  void link_made(NodeIndex node, const event::QpMade& made);
  void link_connected(NodeIndex node);
  void link_failed(NodeIndex node);
  // The next five are answers of a peer, or their absence: `accept`, `joined` and `refuse`; a
  // request (`said`) that was repeated often enough; and `leave`. Late answers are recognized by
  // their number.
  void accepted(PeerId peer, const Handshake& shake);
  void joined(PeerId peer, const Handshake& shake);
  void refused(PeerId peer, const Handshake& shake);
  void unanswered(PeerId peer, HandshakeKind said);
  void told_to_leave(PeerId peer, std::uint32_t number);
  // Drains all links, and fails the peers that wait, because this process ends.
  void leave_links();

  // connection_holds.cpp: the receiving side of XRC. A *hold* is the receive queue pair that a peer
  // sends through (XrcTarget). asked() handles `connect` and `join`, also late and repeated ones.
  void asked(PeerId peer, const Handshake& shake);
  // Replaces the hold by that of a new request: creates, opens or only notes a queue pair.
  void asked_anew(PeerId peer, const Handshake& shake);
  // Answers the request of the hold with `accept` or `joined`.
  void answer_hold(PeerId peer);
  void refuse(PeerId peer, std::uint32_t number, Refusal why);
  // Lets go of the hold. Requests up to its number are void from then on. No datagram is sent.
  void release_hold(PeerId peer);
  // The peer has closed its requests up to `number`: lets go of the hold, and answers `closed`.
  void close_hold(PeerId peer, std::uint32_t number);
  // These take the answers of the shell. `gone`: the queue pair to be opened no longer exists.
  void hold_made(PeerId peer, const event::QpMade& made);
  void hold_failed(PeerId peer, bool gone);
  // Asks all peers that send to this process to let go, because this process ends.
  void leave_holds();

  // connection_pairs.cpp: RC. The functions have the meaning of those above, for the queue pair to
  // one peer.
  void want_pair(PeerId peer);
  void pump_pairs();
  // Drains the least recently used pair. Returns false if none is ready, or if enough are ending.
  bool make_room_of_pairs();
  // Creates the queue pair for a request of this process.
  void make_pair(PeerId peer);
  void pair_made(PeerId peer, const event::QpMade& made);
  void pair_connected(PeerId peer);
  void pair_failed(PeerId peer);
  void pair_asked(PeerId peer, const Handshake& shake);
  // Takes the peer's request in place of what this end has, because the peer's request counts.
  void adopt(PeerId peer, const Handshake& shake);
  void pair_accepted(PeerId peer, const Handshake& shake);
  void pair_confirmed(PeerId peer, const Handshake& shake);
  // Repeats the request under a new number. Returns false if that was done often enough.
  bool ask_pair_anew(PeerId peer);
  void pair_refused(PeerId peer, const Handshake& shake);
  // The peer wants to close (`close`), or has answered a `close` of this process (`closed`).
  void pair_close(PeerId peer, const Handshake& shake);
  void pair_closed(PeerId peer, const Handshake& shake);
  void pair_ready(PeerId peer);
  void drain_pair(PeerId peer);
  void pair_drained(PeerId peer);
  // The queue pair is in the error state, here or at the peer. Posted requests are lost.
  void pair_broken(PeerId peer);
  // Sends `close` until the peer answers: this end sends nothing more.
  void close_pair(PeerId peer);
  // Forgets the pair: this end has nothing left of it. If a route is still wanted, a new pair is
  // made.
  void drop_pair(PeerId peer);
  // The peer did not answer `said`, although it was repeated often enough.
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
  std::uint32_t numbers_ = 0;           // the last request number that was used
  std::uint64_t turns_ = 0, uses_ = 0;  // counters of Link::turn, used
  std::uint32_t open_links_ = 0;
  Counts counts_;
  bool leaving_ = false, left_ = false;  // leave() was called; Left given
};

}  // namespace scela::channel::connect
