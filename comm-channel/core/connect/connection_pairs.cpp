// The RC mode: one queue pair at each end for each two processes. See connection.h.
//
//   asks     connect ──▶      The process that wants to send first asks. If both ask, the request
//            ◀── accept       of the lower name counts, and the other request is void.
//            confirm ──▶      The process that has accepted sends nothing before `confirm`.
//
//   closes   close ──▶        Each end drains before it says so: all that was sent has arrived.
//            ◀── closed       A process that is about to end says that too, and is not asked.
//                             If a queue pair has broken, its end says in `close` that it is gone.
//                             No request that the other end has posted is then answered, so the
//                             other end does not drain.
#include <algorithm>

#include "comm-channel/core/connect/connection.h"

namespace scela::channel::connect {

void Machine::want_pair(PeerId peer) {
  Pair& pair = peers_[peer].pair;
  if (pair.state == PairState::ready) return;
  pair.wanted = true;
  if (pair.state != PairState::none) return;
  pair.state = PairState::queued;
  pair.turn = ++turns_;
  pump_pairs();
}

void Machine::pump_pairs() {
  for (;;) {
    PeerId next = kNone;
    for (PeerId peer = 0; peer < peers_.size(); ++peer) {
      const Pair& pair = peers_[peer].pair;
      if (pair.state == PairState::queued &&
          (next == kNone || pair.turn < peers_[next].pair.turn)) {
        next = peer;
      }
    }
    const bool over = options_.max_links != 0 && open_links_ > options_.max_links;
    if (next == kNone && !over) return;
    if (options_.max_links == 0 || (next != kNone && open_links_ < options_.max_links)) {
      make_pair(next);
    } else if (!make_room_of_pairs()) {
      return;
    }
  }
}

bool Machine::make_room_of_pairs() {
  std::size_t queued = 0, going = 0;
  PeerId oldest = kNone;
  for (PeerId peer = 0; peer < peers_.size(); ++peer) {
    const Pair& pair = peers_[peer].pair;
    queued += pair.state == PairState::queued;
    going += pair.state == PairState::draining || pair.state == PairState::closing;
    if (pair.state == PairState::ready &&
        (oldest == kNone || pair.used < peers_[oldest].pair.used)) {
      oldest = peer;
    }
  }
  const std::size_t over = open_links_ > options_.max_links ? open_links_ - options_.max_links : 0;
  if (oldest == kNone || going >= queued + over) return false;
  ++counts_.closed_idle;
  drain_pair(oldest);
  return true;
}

void Machine::make_pair(PeerId peer) {
  Pair& pair = peers_[peer].pair;
  pair.state = PairState::making;
  pair.mine = true;
  pair.qp = new_qp(QpUse::pair, peer);
  actions_.push_back(action::CreateSendQp{pair.qp});
}

void Machine::pair_made(PeerId peer, const event::QpMade& made) {
  Peer& p = peers_[peer];
  Pair& pair = p.pair;
  pair.qpn = made.number;
  pair.psn = made.psn;
  if (pair.mine) {
    pair.state = PairState::asking;
    pair.number = ++numbers_;
    repeat(peer, p.out, HandshakeKind::connect, pair.number, true);
  } else {
    pair.state = PairState::connecting;
    actions_.push_back(action::ConnectQp{pair.qp, table_.address(peer).address, pair.far});
  }
}

void Machine::pair_connected(PeerId peer) {
  Peer& p = peers_[peer];
  if (p.pair.mine) {
    say(peer, HandshakeKind::confirm, p.pair.number, true);
    return pair_ready(peer);
  }
  p.pair.state = PairState::answering;
  repeat(peer, p.out, HandshakeKind::accept, p.pair.number, false);
}

void Machine::pair_failed(PeerId peer) {
  const Pair pair = peers_[peer].pair;
  if (!pair.mine) {
    refuse(peer, pair.number, Refusal::resources);
  } else if (pair.state == PairState::connecting) {
    say(peer, HandshakeKind::close, pair.number, true);  // if lost, the peer learns by its repeats
  }
  if (pair.wanted) fail(peer, Failure::resources);
  peers_[peer].pair.wanted = false;
  drop_pair(peer);
}

void Machine::pair_dispatch(PeerId peer, const Handshake& shake) {
  const bool ends = shake.said == HandshakeKind::close || shake.said == HandshakeKind::closed;
  if (ends && shake.refusal == Refusal::leaving) peers_[peer].leaving = true;
  switch (shake.said) {
    case HandshakeKind::connect:
      return pair_asked(peer, shake);
    case HandshakeKind::accept:
      return pair_accepted(peer, shake);
    case HandshakeKind::confirm:
      return pair_confirmed(peer, shake);
    case HandshakeKind::refuse:
      return pair_refused(peer, shake);
    case HandshakeKind::close:
      return pair_close(peer, shake);
    case HandshakeKind::closed:
      return pair_closed(peer, shake);
    case HandshakeKind::join:
    case HandshakeKind::joined:
    case HandshakeKind::leave:
      return;  // XRC only
    case HandshakeKind::give_up:
    case HandshakeKind::given_up:
      return;  // give_ups.h
  }
}

void Machine::pair_asked(PeerId peer, const Handshake& shake) {
  Peer& p = peers_[peer];
  Pair& pair = p.pair;
  const bool theirs = pair.state >= PairState::making && !pair.mine;
  if (theirs && shake.number == pair.number) {
    if (pair.state == PairState::answering) say_again(peer, p.out);
    return;
  }
  if (shake.number <= pair.voided || (theirs && shake.number < pair.number))
    return refuse(peer, shake.number, Refusal::gone);
  if (leaving_) return refuse(peer, shake.number, Refusal::leaving);
  if (pair.state == PairState::asking && self_.name < table_.address(peer).name)
    return say_again(peer, p.out);  // our request counts; it may be lost
  adopt(peer, shake);
}

// Adopts the peer's request, which counts. The peer has nothing left of an earlier connection.
void Machine::adopt(PeerId peer, const Handshake& shake) {
  Peer& p = peers_[peer];
  Pair& pair = p.pair;
  const PairState before = pair.state;
  p.out.active = false;
  if (before == PairState::ready || before == PairState::draining) {
    table_.set_route(peer, {});
    actions_.push_back(action::Lost{peer});
  }
  if (before != PairState::asking) close_qp(pair.qp);
  pair.mine = pair.asked = false;
  pair.number = shake.number;
  pair.far = shake.end;
  if (before == PairState::asking) {  // our own new queue pair is used for it
    pair.state = PairState::connecting;
    actions_.push_back(action::ConnectQp{pair.qp, table_.address(peer).address, pair.far});
    return;
  }
  pair.state = PairState::making;
  pair.qp = new_qp(QpUse::pair, peer);
  actions_.push_back(action::CreateSendQp{pair.qp});
}

void Machine::pair_accepted(PeerId peer, const Handshake& shake) {
  Peer& p = peers_[peer];
  Pair& pair = p.pair;
  const bool current = pair.mine && pair.number == shake.number;
  if (current && pair.state == PairState::asking) {
    p.out.active = false;
    pair.far = shake.end;
    pair.voided = std::max(pair.voided, shake.voided);
    pair.state = PairState::connecting;
    actions_.push_back(action::ConnectQp{pair.qp, table_.address(peer).address, pair.far});
  } else if (current && pair.state >= PairState::connecting) {
    // The confirmation is not sent before the queue pair is connected. It is not sent either if the
    // queue pair is gone already: the peer is told so by repeats of `close`.
    if (pair.state >= PairState::ready && pair.qp != kNone)
      say(peer, HandshakeKind::confirm, pair.number, true);
  } else if (shake.number <= numbers_) {
    say(peer, HandshakeKind::close, shake.number, true);  // answers a request that was given up
  }
}

void Machine::pair_confirmed(PeerId peer, const Handshake& shake) {
  const Pair& pair = peers_[peer].pair;
  if (pair.number != shake.number || pair.mine) {
    // The acceptance was given up: this end has nothing left of it.
    if (shake.number <= pair.voided) say(peer, HandshakeKind::close, shake.number, false);
  } else if (pair.state == PairState::answering) {
    pair_ready(peer);
  }
}

void Machine::pair_ready(PeerId peer) {
  Peer& p = peers_[peer];
  p.out.active = false;
  p.pair.state = PairState::ready;
  p.pair.wanted = false;
  p.pair.used = ++uses_;
  table_.set_route(peer, {p.pair.qp, 0});
  actions_.push_back(action::Ready{peer});
  pump_pairs();
}

// The number is void at the other end, so this end asks again with a new one. Returns false if it
// has asked often enough.
bool Machine::ask_pair_anew(PeerId peer) {
  Peer& p = peers_[peer];
  const auto tries = static_cast<std::uint8_t>(p.out.tries + 1);
  if (tries >= options_.tries) return false;
  p.pair.number = ++numbers_;
  repeat(peer, p.out, HandshakeKind::connect, p.pair.number, true);
  p.out.tries = tries;
  return true;
}

void Machine::pair_refused(PeerId peer, const Handshake& shake) {
  Peer& p = peers_[peer];
  Pair& pair = p.pair;
  if (pair.state != PairState::asking || pair.number != shake.number) return;
  if (shake.refusal == Refusal::gone && ask_pair_anew(peer)) return;
  p.leaving = p.leaving || shake.refusal == Refusal::leaving;
  pair.wanted = false;
  fail(peer, failure_of(shake.refusal));
  drop_pair(peer);
}

void Machine::drain_pair(PeerId peer) {
  peers_[peer].pair.state = PairState::draining;
  table_.set_route(peer, {});
  actions_.push_back(action::Drain{peer});
}

void Machine::pair_drained(PeerId peer) {
  Pair& pair = peers_[peer].pair;
  if (pair.state != PairState::draining) return;
  if (!pair.asked) return close_pair(peer);
  say(peer, HandshakeKind::closed, pair.number, pair.mine);
  drop_pair(peer);
}

// The peer is told repeatedly until it has drained too; until then it may send.
void Machine::close_pair(PeerId peer) {
  Peer& p = peers_[peer];
  p.pair.state = PairState::closing;
  repeat(peer, p.out, HandshakeKind::close, p.pair.number, p.pair.mine);
}

void Machine::pair_close(PeerId peer, const Handshake& shake) {
  Pair& pair = peers_[peer].pair;
  const bool current =
      pair.state >= PairState::making && pair.number == shake.number && pair.mine != shake.own;
  if (current && (pair.state == PairState::ready || pair.state == PairState::draining)) {
    pair.asked = true;  // answered when this end has drained
    if (shake.gone) return pair_broken(peer);
    if (pair.state == PairState::ready) drain_pair(peer);
    return;
  }
  say(peer, HandshakeKind::closed, shake.number, !shake.own);
  if (current && pair.state == PairState::asking) {
    // The peer had accepted, or was about to, but its acceptance no longer counts.
    if (peers_[peer].leaving) return drop_pair(peer);
    if (!ask_pair_anew(peer)) pair_unanswered(peer, HandshakeKind::connect);
    return;
  }
  if (current) return drop_pair(peer);
  if (!current && shake.own) pair.voided = std::max(pair.voided, shake.number);
}

void Machine::pair_closed(PeerId peer, const Handshake& shake) {
  const Pair& pair = peers_[peer].pair;
  if (pair.state == PairState::closing && pair.number == shake.number && pair.mine != shake.own)
    drop_pair(peer);
}

void Machine::pair_broken(PeerId peer) {
  Pair& pair = peers_[peer].pair;
  if (pair.state == PairState::ready || pair.state == PairState::draining) {
    table_.set_route(peer, {});
    actions_.push_back(action::Lost{peer});
  }
  if (pair.asked) {
    say(peer, HandshakeKind::closed, pair.number, pair.mine);
    return drop_pair(peer);
  }
  close_qp(pair.qp);
  close_pair(peer);  // the peer may not have noticed
}

// Drops the pair: this end has nothing left of it. If a route is still wanted, a new pair is
// queued; if either process is leaving, the wait fails.
void Machine::drop_pair(PeerId peer) {
  Peer& p = peers_[peer];
  Pair& pair = p.pair;
  close_qp(pair.qp);
  p.out.active = false;
  if (!pair.mine) pair.voided = std::max(pair.voided, pair.number);
  const bool wanted = pair.wanted;
  const std::uint32_t voided = pair.voided;
  pair = {};
  pair.voided = voided;
  if (wanted && (p.leaving || leaving_)) {
    fail(peer, Failure::leaving);
  } else if (wanted) {
    want_pair(peer);
  }
  pump_pairs();
}

void Machine::pair_unanswered(PeerId peer, HandshakeKind said) {
  Pair& pair = peers_[peer].pair;
  if (said != HandshakeKind::close && pair.wanted) {
    pair.wanted = false;
    fail(peer, Failure::unreachable);
  }
  drop_pair(peer);
}

void Machine::pair_ended(PeerId peer) {
  Pair& pair = peers_[peer].pair;
  const bool in_use =
      pair.wanted || pair.state == PairState::ready || pair.state == PairState::draining;
  pair.wanted = false;
  if (in_use) fail(peer, Failure::ended);
  drop_pair(peer);
}

void Machine::leave_pairs() {
  for (PeerId peer = 0; peer < peers_.size(); ++peer) {
    Pair& pair = peers_[peer].pair;
    if (pair.wanted) {
      pair.wanted = false;
      fail(peer, Failure::leaving);
    }
    if (pair.state == PairState::queued) pair.state = PairState::none;
    if (pair.state == PairState::ready) drain_pair(peer);
    const bool unconnected = pair.state == PairState::asking || pair.state == PairState::connecting;
    if (unconnected) close_qp(pair.qp);
    // A peer that has been accepted may be sending already.
    if (unconnected || pair.state == PairState::answering) close_pair(peer);
  }
}

}  // namespace scela::channel::connect
