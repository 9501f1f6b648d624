// The connection state machine of one process: it decides when queue pairs to which nodes are made
// and closed (ScELA thesis, chapter 4). PortLinks (comm-channel/net/port/port_links.h) runs one
// machine for each port.
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
// The machine takes events, returns actions, and knows no time but what it is told. It hands each
// event to the part that has the state for it: XrcSender (xrc_sender.h), XrcReceiver
// (xrc_receiver.h) or RcPairs (rc_pairs.h). They share a LocalEnd (local_end.h). The machine is not
// thread-safe. Copies are independent. docs/design/channel.md has the table of states.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/core/connect/handshake.h"
#include "comm-channel/core/connect/link_state.h"
#include "comm-channel/core/connect/local_end.h"
#include "comm-channel/core/connect/peer_table.h"
#include "comm-channel/core/connect/rc_pairs.h"
#include "comm-channel/core/connect/xrc_receiver.h"
#include "comm-channel/core/connect/xrc_sender.h"

namespace scela {
class ByteWriter;
}

namespace scela::channel::connect {

// The counters of one machine, for statistics and for tests.
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
  Machine(const PeerAddress& self, const Options& options)
      : local_(self, options), sender_(local_), receiver_(local_), pairs_(local_) {}
  // The parts of a copy work on its own LocalEnd.
  Machine(const Machine& other);
  Machine(Machine&& other) noexcept;
  Machine& operator=(Machine other) noexcept;
  ~Machine() = default;

  // Adds a peer, or returns the number of a known one. If the peer address has a later life, the
  // peer has started anew: its earlier life is treated as ended. A peer that speaks first is added
  // from its datagram.
  PeerId add(const PeerAddress& address);
  const PeerTable& peers() const { return local_.peers(); }

  // Carries out the state changes of an event, and appends to actions(). `now` must not decrease.
  void handle(const Event& event, Time now);
  // The actions to carry out, in order. The caller empties the vector.
  std::vector<Action>& actions() { return local_.actions(); }
  // Returns when event::Timer is due, or std::nullopt if no request is pending. action::WakeMe
  // tells the same time.
  std::optional<Time> next_wake() const { return local_.timer().next_wake(); }

  // Returns the route to a peer and marks its link as used. If the route is empty, the caller gives
  // event::Wanted.
  Route route(PeerId peer) {
    const Route route = local_.peers().route(peer);
    if (route) local_.is_rc() ? pairs_.mark_used(peer) : sender_.mark_used(peer);
    return route;
  }

  Counts counts() const;
  // These return the states of link_state.h. state_of(), hold_of() and link_of() are for XRC,
  // pair_of() is for RC.
  PeerState state_of(PeerId peer) const { return sender_.state_of(peer); }
  PairState pair_of(PeerId peer) const { return pairs_.state_of(peer); }
  XrcTargetState hold_of(PeerId peer) const { return receiver_.state_of(peer); }
  LinkState link_of(NodeIndex node) const { return sender_.link_of(node); }
  // Returns true if the peer is the direct peer of its node's link. With RC it is always true.
  bool is_direct(PeerId peer) const { return local_.is_rc() || sender_.is_direct(peer); }
  // Writes the state that decides what the machine does next, with times relative to `now`.
  // Machines with equal snapshots act alike from then on.
  void snapshot(ByteWriter& out, Time now) const;

 private:
  // Parameters named `peer` are known to the peer table.
  void attach();
  // Drops datagrams that are not a handshake of this job, and those of earlier or ended lives.
  void on_datagram(std::string_view bytes);
  // Returns the sender of a datagram for this process in its present life; an unknown sender is
  // added. Returns kNone if the datagram is of an earlier or ended life of its sender.
  PeerId sender_of(const Handshake& shake);
  // Hands a datagram to the part for its kind (XRC).
  void dispatch(PeerId peer, const Handshake& shake);
  // Sends again what is due, and ends requests that were sent often enough. expire() does so for
  // one request.
  void on_timer();
  void expire(PeerId peer, RequestPurpose purpose);
  void on_wanted(PeerId peer);
  void on_drained(PeerId peer);
  // These hand answers about a queue pair to the part that uses it.
  void on_qp_made(const event::QpMade& made);
  void on_qp_connected(QpId qp);
  void on_qp_failed(const event::QpFailed& failed);
  void on_qp_broken(QpId qp);
  // Treats a peer, or all known peers of a node, as ended. Both do nothing if that is known.
  void on_peer_ended(PeerId peer);
  void on_node_lost(NodeKey key);
  // Begins to close all connections. check_left() gives action::Left when none is left.
  void leave();
  void check_left();
  // Gives action::WakeMe if the time of the next repeat has changed.
  void report_wake();

  LocalEnd local_;
  XrcSender sender_;
  XrcReceiver receiver_;
  RcPairs pairs_;
  std::optional<Time> reported_wake_;
  std::uint64_t unheard_ = 0;  // Counts::unheard
};

}  // namespace scela::channel::connect
