// The connections of the RC mode: one queue pair at each end for each two processes. Machine
// (connection_machine.h) owns one object and hands it events and datagrams.
//
//   makes    connect ──▶      The process that wants to send first asks. If both ask, the request
//            ◀── accept       of the lower name counts, and the other request is void.
//            confirm ──▶      The process that has accepted sends nothing before `confirm`.
//
//   closes   close ──▶        Each end drains before it sends that: all that was sent has arrived.
//            ◀── closed       A process that is about to end adds that, and is not asked again.
//                             If a queue pair has broken, its end adds to `close` that it is gone.
//                             No request that the other end has posted is then answered, so the
//                             other end does not drain.
//
// Beyond Options::max_links, pairs wait in a queue, and the least recently used pair is drained and
// closed for them. Parameters named `peer` are known to the peer table. The class is a plain value
// that works on a LocalEnd, and not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/core/connect/handshake.h"
#include "comm-channel/core/connect/link_state.h"
#include "comm-channel/core/connect/local_end.h"
#include "comm-channel/core/connect/peer_table.h"

namespace scela::channel::connect {

class RcPairs : public LocalEndUser {
 public:
  explicit RcPairs(LocalEnd& end) : LocalEndUser(end) {}

  // Makes place for the peers that the peer table knows.
  void grow() { pairs_.resize(local().peers().size()); }
  // Forgets the pair with a peer that has started anew. Its end was reported before.
  void forget(PeerId peer) { pairs_[peer] = {}; }

  // Begins to make the pair with a peer that has no route, because the process has something to
  // send. Success is reported by action::Ready, a failure by action::Failed.
  void want(PeerId peer);
  // Notes that the pair was used. Called for each message.
  void mark_used(PeerId peer) { pairs_[peer].used = ++uses_; }
  // Goes on with closing a pair that drains: all requests that were posted for the peer are
  // complete.
  void on_drained(PeerId peer);

  // Take the shell's answers to actions on the queue pair for the peer: go on with the handshake,
  // or refuse it and give the pair up.
  void on_qp_made(PeerId peer, const event::QpMade& made);
  void on_qp_connected(PeerId peer);
  void on_qp_failed(PeerId peer);
  // Closes the pair: its queue pair is in the error state, here or at the peer. Posted requests are
  // reported as lost.
  void on_qp_broken(PeerId peer);

  // Handles a datagram of any kind from the peer.
  void on_datagram(PeerId peer, const Handshake& shake);
  // Gives up a request of that kind, which was sent often enough without an answer. resend() sends
  // the active request once more.
  void on_unanswered(PeerId peer, HandshakeKind kind);
  void resend(PeerId peer);
  // Drops the pair with a peer that has ended, which the peer table has noted.
  void on_peer_ended(PeerId peer);
  // Drains or closes all pairs, and fails the peers that wait, because this process ends.
  void leave();

  PairState state_of(PeerId peer) const { return pairs_[peer].state; }
  // Returns whether a pair is left that is not in PairState::none.
  bool has_any() const;
  // Returns how many pairs were closed to make room for others.
  std::uint64_t closed_idle() const { return closed_idle_; }
  // Writes the state that decides what this part does next (Machine::snapshot()).
  void snapshot(ByteWriter& out) const;

 private:
  // `number` is that of the request that made the pair. Requests of the peer numbered up to
  // `voided` are void. `used` and `turn` order pairs by their last use and by the time at which
  // they were queued.
  struct Pair {
    PairState state = PairState::none;
    bool mine = false;         // this process sent the request
    bool peer_closes = false;  // the peer has sent `close` too
    bool wanted = false;       // a route is wanted
    std::uint32_t number = 0, voided = 0;
    std::uint32_t qpn = 0, psn = 0;  // the device's, of this end
    QpId qp = kNone;
    QpEnd far;  // the peer's end
    std::uint64_t used = 0, turn = 0;
  };

  // Makes queued pairs in the order of their turns, as long as max_links permits, and drains others
  // for the rest.
  void make_queued();
  // Drains the least recently used pair. Returns false if none is ready, or if enough are ending.
  bool make_room();
  // Creates the queue pair for a request of this process, or for that of the peer.
  void create(PeerId peer, bool mine);
  // Enqueues the action that connects the queue pair to the peer's end (Pair::far).
  void connect(PeerId peer);

  // The functions for each kind of datagram.
  void on_connect(PeerId peer, const Handshake& shake);
  void on_accept(PeerId peer, const Handshake& shake);
  void on_confirm(PeerId peer, const Handshake& shake);
  void on_refuse(PeerId peer, const Handshake& shake);
  void on_close(PeerId peer, const Handshake& shake);
  void on_closed(PeerId peer, const Handshake& shake);
  // Replaces what this end has by the peer's request, which counts.
  void adopt(PeerId peer, const Handshake& shake);
  // Sends `connect` under a new number, because the other end has voided the number before. Returns
  // false if that was done often enough.
  bool request_anew(PeerId peer);

  void make_ready(PeerId peer);
  void drain(PeerId peer);
  // Sends `close` until the peer answers: this end sends nothing more. The peer may send
  // until then.
  void close(PeerId peer);
  // Forgets the pair: this end has nothing left of it. If a route is still wanted, a new pair is
  // queued; if either process is leaving, the wait fails.
  void drop(PeerId peer);
  void fail(PeerId peer, Failure why);
  // Sends a request, and repeats it until it is answered.
  void request(PeerId peer, HandshakeKind kind, bool own, std::uint8_t tries = 0);
  // Sends one datagram, with what `close` and `closed` need besides.
  void send(PeerId peer, HandshakeKind kind, std::uint32_t number, bool own, Handshake rest = {});

  std::vector<Pair> pairs_;             // by PeerId
  std::uint32_t numbers_ = 0;           // the last request number that was used
  std::uint64_t turns_ = 0, uses_ = 0;  // counters of Pair::turn, used
  std::uint64_t closed_idle_ = 0;
};

}  // namespace scela::channel::connect
