#include "comm-channel/core/connect/rc_pairs.h"

#include <algorithm>
#include <cstddef>

#include "common/core/bytes.h"

namespace scela::channel::connect {

// ---- wanted pairs, and room for them ----

void RcPairs::want(PeerId peer) {
  Pair& pair = pairs_[peer];
  if (pair.state == PairState::ready) return;
  pair.wanted = true;
  if (pair.state != PairState::none) return;
  pair.state = PairState::queued;
  pair.turn = ++turns_;
  make_queued();
}

void RcPairs::make_queued() {
  const std::uint32_t max_links = local().options().max_links;
  for (;;) {
    PeerId next = kNone;
    for (PeerId peer = 0; peer < pairs_.size(); ++peer) {
      const Pair& pair = pairs_[peer];
      if (pair.state == PairState::queued && (next == kNone || pair.turn < pairs_[next].turn))
        next = peer;
    }
    const std::uint32_t open = local().qps().connections();
    const bool over = max_links != 0 && open > max_links;
    if (next == kNone && !over) return;
    if (max_links == 0 || (next != kNone && open < max_links)) {
      create(next, true);
    } else if (!make_room()) {
      return;
    }
  }
}

bool RcPairs::make_room() {
  std::size_t queued = 0, going = 0;
  PeerId oldest = kNone;
  for (PeerId peer = 0; peer < pairs_.size(); ++peer) {
    const Pair& pair = pairs_[peer];
    queued += pair.state == PairState::queued;
    going += pair.state == PairState::draining || pair.state == PairState::closing;
    if (pair.state == PairState::ready && (oldest == kNone || pair.used < pairs_[oldest].used))
      oldest = peer;
  }
  const std::uint32_t open = local().qps().connections(), most = local().options().max_links;
  const std::size_t over = open > most ? open - most : 0;
  if (oldest == kNone || going >= queued + over) return false;
  ++closed_idle_;
  drain(oldest);
  return true;
}

// ---- a pair is made ----

void RcPairs::create(PeerId peer, bool mine) {
  Pair& pair = pairs_[peer];
  pair.state = PairState::making;
  pair.mine = mine;
  pair.qp = local().qps().allocate(QpUse::pair, peer);
  local().enqueue(action::CreateSendQp{pair.qp});
}

void RcPairs::connect(PeerId peer) {
  Pair& pair = pairs_[peer];
  pair.state = PairState::connecting;
  local().enqueue(action::ConnectQp{pair.qp, local().peers().address(peer).address, pair.far});
}

void RcPairs::on_qp_made(PeerId peer, const event::QpMade& made) {
  Pair& pair = pairs_[peer];
  pair.qpn = made.number;
  pair.psn = made.psn;
  if (!pair.mine) return connect(peer);
  pair.state = PairState::asking;
  pair.number = ++numbers_;
  request(peer, HandshakeKind::connect, true);
}

void RcPairs::on_qp_connected(PeerId peer) {
  Pair& pair = pairs_[peer];
  if (pair.mine) {
    send(peer, HandshakeKind::confirm, pair.number, true);
    return make_ready(peer);
  }
  pair.state = PairState::answering;
  request(peer, HandshakeKind::accept, false);
}

void RcPairs::on_qp_failed(PeerId peer) {
  Pair& pair = pairs_[peer];
  if (!pair.mine) {
    local().refuse(peer, pair.number, Refusal::resources);
  } else if (pair.state == PairState::connecting) {
    // If that is lost, the peer learns it by its repeats.
    send(peer, HandshakeKind::close, pair.number, true);
  }
  if (pair.wanted) fail(peer, Failure::resources);
  drop(peer);
}

void RcPairs::make_ready(PeerId peer) {
  Pair& pair = pairs_[peer];
  local().timer().stop(peer, RequestPurpose::connection);
  pair.state = PairState::ready;
  pair.wanted = false;
  pair.used = ++uses_;
  local().peers().set_route(peer, {pair.qp, 0});
  local().enqueue(action::Ready{peer});
  make_queued();
}

// ---- datagrams ----

void RcPairs::on_datagram(PeerId peer, const Handshake& shake) {
  const bool ends = shake.said == HandshakeKind::close || shake.said == HandshakeKind::closed;
  if (ends && shake.refusal == Refusal::leaving)
    local().peers().advance_presence(peer, Presence::leaving);
  switch (shake.said) {
    case HandshakeKind::connect:
      return on_connect(peer, shake);
    case HandshakeKind::accept:
      return on_accept(peer, shake);
    case HandshakeKind::confirm:
      return on_confirm(peer, shake);
    case HandshakeKind::refuse:
      return on_refuse(peer, shake);
    case HandshakeKind::close:
      return on_close(peer, shake);
    case HandshakeKind::closed:
      return on_closed(peer, shake);
    case HandshakeKind::join:
    case HandshakeKind::joined:
    case HandshakeKind::leave:
      return;  // XRC only
    case HandshakeKind::give_up:
    case HandshakeKind::given_up:
      return;  // give_ups.h
  }
}

void RcPairs::on_connect(PeerId peer, const Handshake& shake) {
  Pair& pair = pairs_[peer];
  const bool theirs = pair.state >= PairState::making && !pair.mine;
  if (theirs && shake.number == pair.number) {
    if (pair.state == PairState::answering) resend(peer);
    return;
  }
  if (shake.number <= pair.voided || (theirs && shake.number < pair.number))
    return local().refuse(peer, shake.number, Refusal::gone);
  if (local().is_leaving()) return local().refuse(peer, shake.number, Refusal::leaving);
  if (pair.state == PairState::asking && local().self().name < local().peers().address(peer).name)
    return resend(peer);  // the request of this process counts; it may be lost
  adopt(peer, shake);
}

// The peer has nothing left of an earlier connection.
void RcPairs::adopt(PeerId peer, const Handshake& shake) {
  Pair& pair = pairs_[peer];
  const PairState before = pair.state;
  local().timer().stop(peer, RequestPurpose::connection);
  if (before == PairState::ready || before == PairState::draining) {
    local().peers().set_route(peer, {});
    local().enqueue(action::Lost{peer});
  }
  if (before != PairState::asking) local().close(pair.qp);
  pair.mine = pair.peer_closes = false;
  pair.number = shake.number;
  pair.far = shake.end;
  // The new queue pair that this process made for its own request is used for that of the peer.
  before == PairState::asking ? connect(peer) : create(peer, false);
}

void RcPairs::on_accept(PeerId peer, const Handshake& shake) {
  Pair& pair = pairs_[peer];
  const bool current = pair.mine && pair.number == shake.number;
  if (current && pair.state == PairState::asking) {
    local().timer().stop(peer, RequestPurpose::connection);
    pair.far = shake.end;
    pair.voided = std::max(pair.voided, shake.voided);
    connect(peer);
  } else if (current && pair.state >= PairState::connecting) {
    // The confirmation is not sent before the queue pair is connected. It is not sent either if the
    // queue pair is gone already: the peer learns that by repeats of `close`.
    if (pair.state >= PairState::ready && pair.qp != kNone)
      send(peer, HandshakeKind::confirm, pair.number, true);
  } else if (shake.number <= numbers_) {
    // The answer is to a request that was given up.
    send(peer, HandshakeKind::close, shake.number, true);
  }
}

void RcPairs::on_confirm(PeerId peer, const Handshake& shake) {
  const Pair& pair = pairs_[peer];
  if (pair.number != shake.number || pair.mine) {
    // The acceptance was given up: this end has nothing left of it.
    if (shake.number <= pair.voided) send(peer, HandshakeKind::close, shake.number, false);
  } else if (pair.state == PairState::answering) {
    make_ready(peer);
  }
}

bool RcPairs::request_anew(PeerId peer) {
  const auto tries = static_cast<std::uint8_t>(
      local().timer().request(peer, RequestPurpose::connection).tries + 1);
  if (tries >= local().options().tries) return false;
  pairs_[peer].number = ++numbers_;
  request(peer, HandshakeKind::connect, true, tries);
  return true;
}

void RcPairs::on_refuse(PeerId peer, const Handshake& shake) {
  Pair& pair = pairs_[peer];
  if (pair.state != PairState::asking || pair.number != shake.number) return;
  if (shake.refusal == Refusal::gone && request_anew(peer)) return;
  if (shake.refusal == Refusal::leaving) local().peers().advance_presence(peer, Presence::leaving);
  fail(peer, failure_of(shake.refusal));
  drop(peer);
}

void RcPairs::on_close(PeerId peer, const Handshake& shake) {
  Pair& pair = pairs_[peer];
  const bool current =
      pair.state >= PairState::making && pair.number == shake.number && pair.mine != shake.own;
  if (current && (pair.state == PairState::ready || pair.state == PairState::draining)) {
    pair.peer_closes = true;  // answered when this end has drained
    if (shake.gone) return on_qp_broken(peer);
    if (pair.state == PairState::ready) drain(peer);
    return;
  }
  send(peer, HandshakeKind::closed, shake.number, !shake.own);
  if (current && pair.state == PairState::asking) {
    // The peer had accepted, or was about to, but its acceptance no longer counts.
    if (local().peers().presence(peer) != Presence::present) return drop(peer);
    if (!request_anew(peer)) on_unanswered(peer, HandshakeKind::connect);
    return;
  }
  if (current) return drop(peer);
  if (shake.own) pair.voided = std::max(pair.voided, shake.number);
}

void RcPairs::on_closed(PeerId peer, const Handshake& shake) {
  const Pair& pair = pairs_[peer];
  if (pair.state == PairState::closing && pair.number == shake.number && pair.mine != shake.own)
    drop(peer);
}

void RcPairs::on_unanswered(PeerId peer, HandshakeKind kind) {
  if (kind != HandshakeKind::close && pairs_[peer].wanted) fail(peer, Failure::unreachable);
  drop(peer);
}

void RcPairs::request(PeerId peer, HandshakeKind kind, bool own, std::uint8_t tries) {
  local().timer().start(peer, RequestPurpose::connection, kind, pairs_[peer].number, own, tries);
  resend(peer);
}

void RcPairs::resend(PeerId peer) {
  const PendingRequest& pending = local().timer().request(peer, RequestPurpose::connection);
  const Pair& pair = pairs_[peer];
  Handshake rest;
  if (pending.kind == HandshakeKind::connect || pending.kind == HandshakeKind::accept)
    rest.end = local().end_of(pair.qpn, pair.psn);
  if (pending.kind == HandshakeKind::accept) rest.voided = numbers_;
  send(peer, pending.kind, pending.number, pending.own, rest);
}

// RC has no other message by which the peer learns that a closing process does not come back, or
// that its queue pair has broken. Otherwise the peer would wait for answers to what it has posted.
void RcPairs::send(PeerId peer, HandshakeKind kind, std::uint32_t number, bool own,
                   Handshake rest) {
  if (local().is_leaving() && (kind == HandshakeKind::close || kind == HandshakeKind::closed))
    rest.refusal = Refusal::leaving;
  const Pair& pair = pairs_[peer];
  rest.gone = kind == HandshakeKind::close &&
              (pair.qp == kNone || pair.number != number || pair.mine != own);
  local().send(peer, kind, number, own, rest);
}

// ---- a pair ends ----

void RcPairs::drain(PeerId peer) {
  pairs_[peer].state = PairState::draining;
  local().peers().set_route(peer, {});
  local().enqueue(action::Drain{peer});
}

void RcPairs::on_drained(PeerId peer) {
  Pair& pair = pairs_[peer];
  if (pair.state != PairState::draining) return;
  if (!pair.peer_closes) return close(peer);
  send(peer, HandshakeKind::closed, pair.number, pair.mine);
  drop(peer);
}

void RcPairs::close(PeerId peer) {
  pairs_[peer].state = PairState::closing;
  request(peer, HandshakeKind::close, pairs_[peer].mine);
}

void RcPairs::on_qp_broken(PeerId peer) {
  Pair& pair = pairs_[peer];
  if (pair.state == PairState::ready || pair.state == PairState::draining) {
    local().peers().set_route(peer, {});
    local().enqueue(action::Lost{peer});
  }
  if (pair.peer_closes) {
    send(peer, HandshakeKind::closed, pair.number, pair.mine);
    return drop(peer);
  }
  local().close(pair.qp);
  close(peer);  // the peer may not have noticed
}

void RcPairs::drop(PeerId peer) {
  Pair& pair = pairs_[peer];
  local().close(pair.qp);
  local().timer().stop(peer, RequestPurpose::connection);
  if (!pair.mine) pair.voided = std::max(pair.voided, pair.number);
  const bool wanted = pair.wanted;
  const std::uint32_t voided = pair.voided;
  pair = {};
  pair.voided = voided;
  const bool leaves = local().peers().presence(peer) != Presence::present || local().is_leaving();
  if (wanted && leaves) {
    fail(peer, Failure::leaving);
  } else if (wanted) {
    want(peer);
  }
  make_queued();
}

void RcPairs::fail(PeerId peer, Failure why) {
  pairs_[peer].wanted = false;
  local().fail_route(peer, why);
}

void RcPairs::on_peer_ended(PeerId peer) {
  Pair& pair = pairs_[peer];
  const bool in_use =
      pair.wanted || pair.state == PairState::ready || pair.state == PairState::draining;
  if (in_use) fail(peer, Failure::ended);
  drop(peer);
}

void RcPairs::leave() {
  for (PeerId peer = 0; peer < pairs_.size(); ++peer) {
    Pair& pair = pairs_[peer];
    if (pair.wanted) fail(peer, Failure::leaving);
    if (pair.state == PairState::queued) pair.state = PairState::none;
    if (pair.state == PairState::ready) drain(peer);
    const bool unconnected = pair.state == PairState::asking || pair.state == PairState::connecting;
    if (unconnected) local().close(pair.qp);
    // A peer that has been accepted may be sending already.
    if (unconnected || pair.state == PairState::answering) close(peer);
  }
}

bool RcPairs::has_any() const {
  return std::ranges::any_of(pairs_,
                             [](const Pair& pair) { return pair.state != PairState::none; });
}

void RcPairs::snapshot(ByteWriter& out) const {
  for (const Pair& pair : pairs_) {
    out.u8(static_cast<std::uint8_t>(pair.state));
    out.flag(pair.mine);
    out.flag(pair.peer_closes);
    out.flag(pair.wanted);
    out.u32(pair.number);
    out.u32(pair.voided);
    out.u32(pair.qpn);
    out.u32(pair.qp);
    out.u32(pair.far.qpn);
  }
  // Only the order of turns and uses matters, not their values.
  for (const Pair& pair : pairs_) {
    for (const Pair& other : pairs_) {
      out.flag(pair.turn < other.turn);
      out.flag(pair.used < other.used);
    }
  }
  out.u32(numbers_);
}

}  // namespace scela::channel::connect
