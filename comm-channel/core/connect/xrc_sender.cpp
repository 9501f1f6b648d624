#include "comm-channel/core/connect/xrc_sender.h"

#include <algorithm>

#include "common/core/bytes.h"

namespace scela::channel::connect {

void XrcSender::grow() {
  destinations_.resize(local().peers().size());
  links_.resize(local().peers().nodes());
}

// ---- wanted links, and room for them ----

void XrcSender::want(PeerId peer) {
  Destination& to = destinations_[peer];
  if (to.state == PeerState::draining) to.wanted_again = true;
  if (to.state != PeerState::idle) return;
  to.state = PeerState::waiting;
  advance(local().peers().node_of(peer));
}

void XrcSender::advance(NodeIndex node) {
  Link& link = links_[node];
  if (link.state == LinkState::ready) return join_waiting(node);
  if (link.state != LinkState::none) return;
  link.state = LinkState::queued;
  link.turn = ++turns_;
  make_queued();
}

void XrcSender::make_queued() {
  const std::uint32_t max_links = local().options().max_links;
  for (;;) {
    Link* next = nullptr;
    for (Link& link : links_) {
      if (link.state == LinkState::queued && (next == nullptr || link.turn < next->turn))
        next = &link;
    }
    if (next == nullptr) return;
    if (max_links == 0 || local().qps().connections() < max_links) {
      next->state = LinkState::making;
      next->qp =
          local().qps().allocate(QpUse::link, static_cast<std::uint32_t>(next - links_.data()));
      local().enqueue(action::CreateSendQp{next->qp});
      continue;
    }
    if (!make_room()) return;
  }
}

// A link that a peer is joining stays until the peer is through; otherwise it might never be.
bool XrcSender::make_room() {
  std::size_t queued = 0, draining = 0;
  Link* oldest = nullptr;
  for (Link& link : links_) {
    queued += link.state == LinkState::queued;
    draining += link.state == LinkState::draining;
    if (link.state != LinkState::ready) continue;
    const auto& there = local().peers().on_node(static_cast<NodeIndex>(&link - links_.data()));
    const bool in_use = std::any_of(there.begin(), there.end(), [this](PeerId peer) {
      return destinations_[peer].state == PeerState::joining;
    });
    if (!in_use && (oldest == nullptr || link.used < oldest->used)) oldest = &link;
  }
  if (oldest == nullptr || draining >= queued) return false;
  ++counts_.closed_idle;
  drain_link(static_cast<NodeIndex>(oldest - links_.data()));
  return true;
}

// ---- a link is made ----

void XrcSender::on_qp_made(NodeIndex node, const event::QpMade& made) {
  Link& link = links_[node];
  link.number = made.number;
  link.psn = made.psn;
  link.state = LinkState::asking;
  choose_direct(node);
}

void XrcSender::choose_direct(NodeIndex node) {
  Link& link = links_[node];
  link.direct = kNone;
  for (const PeerId peer : local().peers().on_node(node)) {
    if (destinations_[peer].state != PeerState::waiting) continue;
    if (link.direct == kNone || peer == link.prefer) link.direct = peer;
  }
  link.prefer = kNone;
  if (link.direct == kNone) return end_link(node);
  destinations_[link.direct].state = PeerState::asking;
  request(link.direct, HandshakeKind::connect);
}

void XrcSender::request(PeerId peer, HandshakeKind kind, std::uint8_t tries) {
  const std::uint32_t number = ++numbers_;
  destinations_[peer].number = number;
  local().timer().start(peer, RequestPurpose::connection, kind, number, true, tries);
  resend(peer);
}

void XrcSender::resend(PeerId peer) {
  const PendingRequest& pending = local().timer().request(peer, RequestPurpose::connection);
  const Link& link = link_to(peer);
  Handshake rest;
  if (pending.kind == HandshakeKind::connect) rest.end = local().end_of(link.number, link.psn);
  if (pending.kind == HandshakeKind::join) rest.end.qpn = link.target;
  local().send(peer, pending.kind, pending.number, pending.own, rest);
}

void XrcSender::on_accept(PeerId peer, const Handshake& shake) {
  Destination& to = destinations_[peer];
  HandshakeTimer& timer = local().timer();
  if (timer.request(peer, RequestPurpose::connection).is(HandshakeKind::connect, shake.number)) {
    timer.stop(peer, RequestPurpose::connection);
    to.srq = shake.srq;
    to.membership = Membership::member;
    Link& link = link_to(peer);
    link.target = shake.end.qpn;
    link.state = LinkState::connecting;
    local().enqueue(action::ConnectQp{link.qp, local().peers().address(peer).address, shake.end});
  } else if (!(to.is_registered() && to.number == shake.number) && shake.number <= to.number) {
    // The answer is to a request that was given up.
    local().send(peer, HandshakeKind::close, shake.number, true);
  }
}

void XrcSender::on_qp_connected(NodeIndex node) {
  Link& link = links_[node];
  link.state = LinkState::ready;
  make_ready(link.direct);
  join_waiting(node);
  make_queued();
}

void XrcSender::on_qp_failed(NodeIndex node) {
  Link& link = links_[node];
  if (link.state == LinkState::connecting)
    fail(link.direct, Failure::resources);  // other waiting peers try another direct peer
  else
    fail_waiting(node, Failure::resources);
  end_link(node);
}

// With Mode::owned the peers need not hold the far end. So a peer that sent the number of its
// shared receive queue before is not asked again.
void XrcSender::join_waiting(NodeIndex node) {
  for (const PeerId peer : local().peers().on_node(node)) {
    Destination& to = destinations_[peer];
    if (to.state != PeerState::waiting) continue;
    ++counts_.joins;
    if (local().options().mode == Mode::owned && to.is_registered()) {
      make_ready(peer);
    } else {
      to.state = PeerState::joining;
      request(peer, HandshakeKind::join);
    }
  }
}

void XrcSender::make_ready(PeerId peer) {
  Link& link = link_to(peer);
  link.used = ++uses_;
  destinations_[peer].state = PeerState::ready;
  local().peers().set_route(peer, {link.qp, destinations_[peer].srq});
  local().enqueue(action::Ready{peer});
}

void XrcSender::on_joined(PeerId peer, const Handshake& shake) {
  Destination& to = destinations_[peer];
  HandshakeTimer& timer = local().timer();
  if (timer.request(peer, RequestPurpose::connection).is(HandshakeKind::join, shake.number)) {
    timer.stop(peer, RequestPurpose::connection);
    to.srq = shake.srq;
    to.membership = local().options().mode == Mode::shared ? Membership::member  //
                                                           : Membership::registered;
    make_ready(peer);
    make_queued();
  } else if (!(to.is_registered() && to.number == shake.number) && shake.number <= to.number) {
    local().send(peer, HandshakeKind::close, shake.number, true);
  }
}

// ---- a peer refuses, does not answer, or leaves ----

void XrcSender::on_refuse(PeerId peer, const Handshake& shake) {
  const PendingRequest pending = local().timer().request(peer, RequestPurpose::connection);
  const bool join = pending.is(HandshakeKind::join, shake.number);
  if (!join && !pending.is(HandshakeKind::connect, shake.number)) return;
  local().timer().stop(peer, RequestPurpose::connection);
  Destination& to = destinations_[peer];
  to.membership = Membership::none;
  const NodeIndex node = local().peers().node_of(peer);
  if (shake.refusal == Refusal::gone && join) {
    // The far end went away with its last holder. Requests that are under way are still waited for.
    to.state = PeerState::waiting;
    links_[node].prefer = peer;
    return drain_link(node);
  }
  if (shake.refusal == Refusal::gone && pending.tries + 1 < local().options().tries) {
    // The number was old, so the request is made with a new one.
    return request(peer, HandshakeKind::connect, static_cast<std::uint8_t>(pending.tries + 1));
  }
  if (shake.refusal == Refusal::leaving) local().peers().advance_presence(peer, Presence::leaving);
  fail(peer, failure_of(shake.refusal));
  join ? end_if_unused(node) : choose_direct(node);
}

void XrcSender::on_unanswered(PeerId peer, HandshakeKind kind) {
  if (kind == HandshakeKind::close) return;  // the peer holds nothing of use
  fail(peer, Failure::unreachable);
  release(peer);  // the answer may have been lost
  const NodeIndex node = local().peers().node_of(peer);
  kind == HandshakeKind::connect ? choose_direct(node) : end_if_unused(node);
}

void XrcSender::release(PeerId peer) {
  Destination& to = destinations_[peer];
  to.membership = Membership::none;
  if (local().peers().presence(peer) == Presence::ended) return;
  local().timer().start(peer, RequestPurpose::connection, HandshakeKind::close, to.number, true);
  resend(peer);
}

void XrcSender::on_closed(PeerId peer, std::uint32_t number) {
  HandshakeTimer& timer = local().timer();
  if (timer.request(peer, RequestPurpose::connection).is(HandshakeKind::close, number))
    timer.stop(peer, RequestPurpose::connection);
}

void XrcSender::on_leave(PeerId peer, std::uint32_t number) {
  local().peers().advance_presence(peer, Presence::leaving);
  Destination& to = destinations_[peer];
  const NodeIndex node = local().peers().node_of(peer);
  const LinkState link = links_[node].state;
  const PendingRequest pending = local().timer().request(peer, RequestPurpose::connection);
  if (pending.active && pending.number == number) {
    if (pending.kind == HandshakeKind::close) return;
    fail(peer, Failure::leaving);
    release(peer);
    return pending.kind == HandshakeKind::connect ? choose_direct(node) : end_if_unused(node);
  }
  if (!to.is_registered() || to.number != number)
    return local().send(peer, HandshakeKind::close, number, true);
  // With Mode::owned the queue pair of a member serves the other peers, and ends with it.
  const bool owner = local().options().mode == Mode::owned && to.is_member();
  if (to.state == PeerState::ready) return owner ? drain_link(node) : drain_peer(peer);
  if (to.state == PeerState::draining) return;
  if (to.state == PeerState::waiting) fail(peer, Failure::leaving);
  if (owner && link == LinkState::ready) return drain_link(node);
  if (link == LinkState::draining && to.is_member()) return;
  release(peer);
  end_if_unused(node);
}

// ---- a link ends ----

void XrcSender::drain_peer(PeerId peer) {
  destinations_[peer].state = PeerState::draining;
  local().peers().set_route(peer, {});
  local().enqueue(action::Drain{peer});
}

void XrcSender::drain_link(NodeIndex node) {
  Link& link = links_[node];
  if (link.state != LinkState::ready) return;
  link.state = LinkState::draining;
  for (const PeerId peer : local().peers().on_node(node)) {
    Destination& to = destinations_[peer];
    if (to.state == PeerState::ready) drain_peer(peer);
    if (to.state == PeerState::joining) {
      to.state = PeerState::waiting;
      release(peer);
    }
  }
  end_if_drained(node);
}

void XrcSender::on_drained(PeerId peer) {
  Destination& to = destinations_[peer];
  if (to.state != PeerState::draining) return;
  const NodeIndex node = local().peers().node_of(peer);
  to.state = to.wanted_again ? PeerState::waiting : PeerState::idle;
  to.wanted_again = false;
  const bool leaves = local().peers().presence(peer) != Presence::present || local().is_leaving();
  if (to.state == PeerState::waiting && leaves) fail(peer, Failure::leaving);
  if (links_[node].state == LinkState::draining) return end_if_drained(node);
  release(peer);  // only this peer leaves the link
  end_if_unused(node);
}

void XrcSender::end_if_drained(NodeIndex node) {
  for (const PeerId peer : local().peers().on_node(node)) {
    if (destinations_[peer].state == PeerState::draining) return;
  }
  end_link(node);
}

// Requests that were posted and are not complete are reported as lost.
void XrcSender::on_qp_broken(NodeIndex node) {
  for (const PeerId peer : local().peers().on_node(node)) {
    Destination& to = destinations_[peer];
    if (to.state == PeerState::ready || to.state == PeerState::draining) {
      local().peers().set_route(peer, {});
      to.state = to.wanted_again ? PeerState::waiting : PeerState::idle;
      to.wanted_again = false;
      local().enqueue(action::Lost{peer});
      if (to.state == PeerState::waiting && local().peers().presence(peer) != Presence::present)
        fail(peer, Failure::leaving);
    } else if (to.state == PeerState::joining || to.state == PeerState::asking) {
      to.state = PeerState::waiting;
      release(peer);
    }
  }
  end_link(node);
}

void XrcSender::end_link(NodeIndex node) {
  Link& link = links_[node];
  local().close(link.qp);
  const PeerId prefer = link.prefer;
  link = {};
  link.prefer = prefer;
  bool waited_for = false;
  for (const PeerId peer : local().peers().on_node(node)) {
    Destination& to = destinations_[peer];
    if (to.state == PeerState::waiting && local().is_leaving()) fail(peer, Failure::leaving);
    waited_for = waited_for || to.state == PeerState::waiting;
    if (to.is_member() || (local().is_leaving() && to.is_registered())) release(peer);
  }
  if (waited_for) advance(node);
  make_queued();
}

void XrcSender::end_if_unused(NodeIndex node) {
  if (links_[node].state != LinkState::ready) return;
  const auto& there = local().peers().on_node(node);
  const bool of_use = std::any_of(there.begin(), there.end(), [this](PeerId peer) {
    return destinations_[peer].is_member() || destinations_[peer].state == PeerState::joining;
  });
  of_use ? make_queued() : end_link(node);
}

// ---- peers that end, and the end of this process ----

void XrcSender::fail(PeerId peer, Failure why) {
  destinations_[peer].state = PeerState::idle;
  destinations_[peer].wanted_again = false;
  local().fail_route(peer, why);
}

void XrcSender::fail_waiting(NodeIndex node, Failure why) {
  for (const PeerId peer : local().peers().on_node(node)) {
    if (destinations_[peer].state == PeerState::waiting) fail(peer, why);
  }
}

void XrcSender::on_peer_ended(PeerId peer) {
  Destination& to = destinations_[peer];
  const PeerState before = to.state;
  if (before != PeerState::idle) fail(peer, Failure::ended);
  const NodeIndex node = local().peers().node_of(peer);
  const LinkState link = links_[node].state;
  const bool owned_it = local().options().mode == Mode::owned && to.is_member();
  to.membership = Membership::none;
  if (before == PeerState::asking) return choose_direct(node);
  if (owned_it && (link == LinkState::ready || link == LinkState::draining))
    return on_qp_broken(node);
  if (link == LinkState::draining) return end_if_drained(node);
  end_if_unused(node);
}

void XrcSender::leave() {
  for (NodeIndex node = 0; node < links_.size(); ++node) {
    Link& link = links_[node];
    for (const PeerId peer : local().peers().on_node(node)) {
      const PeerState before = destinations_[peer].state;
      if (before == PeerState::waiting || before == PeerState::joining ||
          before == PeerState::asking) {
        fail(peer, Failure::leaving);
        if (before != PeerState::waiting) release(peer);
      }
    }
    if (link.state == LinkState::queued) link.state = LinkState::none;
    if (link.state == LinkState::asking) end_link(node);
    drain_link(node);
    if (link.state != LinkState::none) continue;
    for (const PeerId peer : local().peers().on_node(node)) {
      if (destinations_[peer].is_registered()) release(peer);
    }
  }
}

bool XrcSender::is_direct(PeerId peer) const {
  const Link& link = links_[local().peers().node_of(peer)];
  return link.state != LinkState::none && link.direct == peer;
}

void XrcSender::snapshot(ByteWriter& out) const {
  for (const Destination& to : destinations_) {
    out.u8(static_cast<std::uint8_t>(to.state));
    out.flag(to.wanted_again);
    out.u8(static_cast<std::uint8_t>(to.membership));
    out.u32(to.number);
    out.u32(to.srq);
  }
  for (const Link& link : links_) {
    out.u8(static_cast<std::uint8_t>(link.state));
    out.u32(link.qp);
    out.u32(link.number);
    out.u32(link.direct);
    out.u32(link.prefer);
    out.u32(link.target);
  }
  // Only the order of turns and uses matters, not their values.
  for (const Link& link : links_) {
    for (const Link& other : links_) {
      out.flag(link.turn < other.turn);
      out.flag(link.used < other.used);
    }
  }
  out.u32(numbers_);
}

}  // namespace scela::channel::connect
