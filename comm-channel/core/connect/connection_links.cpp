// The sending side of XRC: one link for each node. See connection.h.
#include <algorithm>

#include "comm-channel/core/connect/connection.h"

namespace scela::channel::connect {

// A peer of the node waits for the link.
void Machine::advance(NodeIndex node) {
  Link& link = links_[node];
  if (link.state == LinkState::ready) return join_waiting(node);
  if (link.state != LinkState::none) return;
  link.state = LinkState::queued;
  link.turn = ++turns_;
  pump();
}

// Makes the queued links in the order of their turns, and makes room for those that wait.
void Machine::pump() {
  for (;;) {
    Link* next = nullptr;
    for (Link& link : links_) {
      if (link.state == LinkState::queued && (next == nullptr || link.turn < next->turn))
        next = &link;
    }
    if (next == nullptr) return;
    if (options_.max_links == 0 || open_links_ < options_.max_links) {
      next->state = LinkState::making;
      next->qp = new_qp(QpUse::link, static_cast<std::uint32_t>(next - links_.data()));
      actions_.push_back(action::CreateSendQp{next->qp});
      continue;
    }
    if (!make_room()) return;
  }
}

// Drains the least recently used link, if more links are queued than draining. A link that a peer
// is joining stays until the peer is through; otherwise it might never be.
bool Machine::make_room() {
  std::size_t queued = 0, draining = 0;
  Link* oldest = nullptr;
  for (Link& link : links_) {
    queued += link.state == LinkState::queued;
    draining += link.state == LinkState::draining;
    if (link.state != LinkState::ready) continue;
    const auto& there = table_.on_node(static_cast<NodeIndex>(&link - links_.data()));
    const bool in_use = std::any_of(there.begin(), there.end(), [this](PeerId peer) {
      return peers_[peer].state == PeerState::joining;
    });
    if (!in_use && (oldest == nullptr || link.used < oldest->used)) oldest = &link;
  }
  if (oldest == nullptr || draining >= queued) return false;
  ++counts_.closed_idle;
  drain_link(static_cast<NodeIndex>(oldest - links_.data()));
  return true;
}

void Machine::link_made(NodeIndex node, const event::QpMade& made) {
  Link& link = links_[node];
  link.number = made.number;
  link.psn = made.psn;
  link.state = LinkState::asking;
  choose_direct(node);
}

void Machine::choose_direct(NodeIndex node) {
  Link& link = links_[node];
  link.direct = kNone;
  for (const PeerId peer : table_.on_node(node)) {
    if (peers_[peer].state != PeerState::waiting) continue;
    if (link.direct == kNone || peer == link.prefer) link.direct = peer;
  }
  link.prefer = kNone;
  if (link.direct == kNone) return end_link(node);
  peers_[link.direct].state = PeerState::asking;
  ask(link.direct, HandshakeKind::connect);
}

void Machine::ask(PeerId peer, HandshakeKind said) {
  Peer& p = peers_[peer];
  p.number = ++numbers_;
  repeat(peer, p.out, said, p.number, true);
}

void Machine::accepted(PeerId peer, const Handshake& shake) {
  Peer& p = peers_[peer];
  const NodeIndex node = table_.node_of(peer);
  Link& link = links_[node];
  if (p.out.active && p.out.said == HandshakeKind::connect && p.out.number == shake.number) {
    p.out.active = false;
    p.srq = shake.srq;
    p.registered = p.member = true;
    link.target = shake.end.qpn;
    link.state = LinkState::connecting;
    actions_.push_back(action::ConnectQp{link.qp, table_.address(peer).address, shake.end});
  } else if (!(p.registered && p.number == shake.number) && shake.number <= p.number) {
    say(peer, HandshakeKind::close, shake.number, true);  // answers a request that was given up
  }
}

void Machine::link_connected(NodeIndex node) {
  Link& link = links_[node];
  link.state = LinkState::ready;
  make_ready(link.direct);
  join_waiting(node);
  pump();
}

void Machine::link_failed(NodeIndex node) {
  Link& link = links_[node];
  if (link.state == LinkState::connecting) {
    const PeerId direct = link.direct;
    fail(direct, Failure::resources);
    return end_link(node);  // other waiting peers try another direct
  }
  const std::vector<PeerId> there = table_.on_node(node);
  for (const PeerId peer : there) {
    if (peers_[peer].state == PeerState::waiting) fail(peer, Failure::resources);
  }
  end_link(node);
}

// The link is ready, so the waiting peers join it. With Mode::owned they need not hold its far end.
// So a peer that told its shared receive queue's number before is not asked again.
void Machine::join_waiting(NodeIndex node) {
  for (const PeerId peer : table_.on_node(node)) {
    Peer& p = peers_[peer];
    if (p.state != PeerState::waiting) continue;
    ++counts_.joins;
    if (options_.mode == Mode::owned && p.registered) {
      make_ready(peer);
    } else {
      p.state = PeerState::joining;
      ask(peer, HandshakeKind::join);
    }
  }
}

void Machine::make_ready(PeerId peer) {
  Link& link = links_[table_.node_of(peer)];
  link.used = ++uses_;
  peers_[peer].state = PeerState::ready;
  table_.set_route(peer, {link.qp, peers_[peer].srq});
  actions_.push_back(action::Ready{peer});
}

void Machine::joined(PeerId peer, const Handshake& shake) {
  Peer& p = peers_[peer];
  if (p.out.active && p.out.said == HandshakeKind::join && p.out.number == shake.number) {
    p.out.active = false;
    p.srq = shake.srq;
    p.registered = true;
    p.member = options_.mode == Mode::shared;
    make_ready(peer);
    pump();
  } else if (!(p.registered && p.number == shake.number) && shake.number <= p.number) {
    say(peer, HandshakeKind::close, shake.number, true);
  }
}

void Machine::refused(PeerId peer, const Handshake& shake) {
  Peer& p = peers_[peer];
  const NodeIndex node = table_.node_of(peer);
  const HandshakeKind asked_for = p.out.said;
  if (!p.out.active || p.out.number != shake.number ||
      (asked_for != HandshakeKind::connect && asked_for != HandshakeKind::join)) {
    return;
  }
  p.out.active = false;
  p.registered = p.member = false;
  if (shake.refusal == Refusal::gone && asked_for == HandshakeKind::join) {
    // The far end went away with its last holder. Requests that are under way are still waited for.
    p.state = PeerState::waiting;
    links_[node].prefer = peer;
    return drain_link(node);
  }
  if (shake.refusal == Refusal::gone && p.out.tries + 1 < options_.tries) {
    const std::uint8_t tries = p.out.tries;  // the number was old: ask with a new one
    ask(peer, HandshakeKind::connect);
    p.out.tries = static_cast<std::uint8_t>(tries + 1);
    return;
  }
  p.leaving = p.leaving || shake.refusal == Refusal::leaving;
  fail(peer, failure_of(shake.refusal));
  asked_for == HandshakeKind::connect ? choose_direct(node) : settle(node);
}

void Machine::unanswered(PeerId peer, HandshakeKind said) {
  if (said == HandshakeKind::close) return;  // the peer holds nothing of use
  fail(peer, Failure::unreachable);
  farewell(peer);  // the answer may have been lost
  const NodeIndex node = table_.node_of(peer);
  said == HandshakeKind::connect ? choose_direct(node) : settle(node);
}

// Tells the peer that it may let go of what it holds for this process.
void Machine::farewell(PeerId peer) {
  Peer& p = peers_[peer];
  p.registered = p.member = false;
  if (!p.ended) repeat(peer, p.out, HandshakeKind::close, p.number, true);
}

// Handles `leave`: the peer is about to end.
void Machine::told_to_leave(PeerId peer, std::uint32_t number) {
  Peer& p = peers_[peer];
  const NodeIndex node = table_.node_of(peer);
  p.leaving = true;
  if (p.out.active && p.out.number == number) {
    if (p.out.said == HandshakeKind::close) return;
    const HandshakeKind said = p.out.said;
    fail(peer, Failure::leaving);
    farewell(peer);
    return said == HandshakeKind::connect ? choose_direct(node) : settle(node);
  }
  if (!p.registered || p.number != number) return say(peer, HandshakeKind::close, number, true);
  if (p.state == PeerState::ready) {
    if (options_.mode == Mode::owned && p.member) return drain_link(node);
    return drain_peer(peer);
  }
  if (p.state == PeerState::draining) return;
  if (p.state == PeerState::waiting) fail(peer, Failure::leaving);
  if (options_.mode == Mode::owned && p.member && links_[node].state == LinkState::ready)
    return drain_link(node);  // its queue pair serves the other peers
  if (links_[node].state == LinkState::draining && p.member) return;
  farewell(peer);
  settle(node);
}

void Machine::drain_peer(PeerId peer) {
  peers_[peer].state = PeerState::draining;
  table_.set_route(peer, {});
  actions_.push_back(action::Drain{peer});
}

void Machine::drain_link(NodeIndex node) {
  Link& link = links_[node];
  if (link.state != LinkState::ready) return;
  link.state = LinkState::draining;
  for (const PeerId peer : table_.on_node(node)) {
    Peer& p = peers_[peer];
    if (p.state == PeerState::ready) drain_peer(peer);
    if (p.state == PeerState::joining) {
      p.state = PeerState::waiting;
      farewell(peer);
    }
  }
  finish_drained(node);
}

void Machine::drained(PeerId peer) {
  Peer& p = peers_[peer];
  if (p.state != PeerState::draining) return;
  const NodeIndex node = table_.node_of(peer);
  p.state = p.wanted ? PeerState::waiting : PeerState::idle;
  p.wanted = false;
  if (p.state == PeerState::waiting && (p.leaving || leaving_)) fail(peer, Failure::leaving);
  if (links_[node].state == LinkState::draining) return finish_drained(node);
  farewell(peer);  // only this peer leaves the link
  settle(node);
}

void Machine::finish_drained(NodeIndex node) {
  for (const PeerId peer : table_.on_node(node)) {
    if (peers_[peer].state == PeerState::draining) return;
  }
  end_link(node);
}

// Ends a broken link. Requests that were posted and are not complete are reported as lost.
void Machine::break_link(NodeIndex node) {
  for (const PeerId peer : table_.on_node(node)) {
    Peer& p = peers_[peer];
    if (p.state == PeerState::ready || p.state == PeerState::draining) {
      table_.set_route(peer, {});
      p.state = p.wanted ? PeerState::waiting : PeerState::idle;
      p.wanted = false;
      actions_.push_back(action::Lost{peer});
      if (p.state == PeerState::waiting && p.leaving) fail(peer, Failure::leaving);
    } else if (p.state == PeerState::joining || p.state == PeerState::asking) {
      p.state = PeerState::waiting;
      farewell(peer);
    }
  }
  end_link(node);
}

// Closes a link that no peer uses any more. If peers of the node wait, the link is made anew.
void Machine::end_link(NodeIndex node) {
  Link& link = links_[node];
  close_qp(link.qp);
  const PeerId prefer = link.prefer;
  link = {};
  link.prefer = prefer;
  bool waited_for = false;
  for (const PeerId peer : table_.on_node(node)) {
    Peer& p = peers_[peer];
    if (p.state == PeerState::waiting && leaving_) fail(peer, Failure::leaving);
    waited_for = waited_for || p.state == PeerState::waiting;
    if (p.member || (leaving_ && p.registered)) farewell(peer);
  }
  if (waited_for) advance(node);
  pump();
}

// Ends a link if no peer holds its far end any more.
void Machine::settle(NodeIndex node) {
  if (links_[node].state != LinkState::ready) return;
  const auto& there = table_.on_node(node);
  const bool of_use = std::any_of(there.begin(), there.end(), [this](PeerId peer) {
    return peers_[peer].member || peers_[peer].state == PeerState::joining;
  });
  of_use ? pump() : end_link(node);
}

// Removes a peer that has ended from its link. `before` is the state that the peer was in.
void Machine::lose_member(PeerId peer, PeerState before) {
  Peer& p = peers_[peer];
  const NodeIndex node = table_.node_of(peer);
  const LinkState link = links_[node].state;
  const bool owned_it = options_.mode == Mode::owned && p.member;
  p.registered = p.member = false;
  if (before == PeerState::asking) return choose_direct(node);
  if (owned_it && (link == LinkState::ready || link == LinkState::draining))
    return break_link(node);
  if (link == LinkState::draining) return finish_drained(node);
  settle(node);
}

void Machine::leave_links() {
  for (NodeIndex node = 0; node < links_.size(); ++node) {
    Link& link = links_[node];
    for (const PeerId peer : table_.on_node(node)) {
      Peer& p = peers_[peer];
      const PeerState before = p.state;
      if (before == PeerState::waiting || before == PeerState::joining ||
          before == PeerState::asking) {
        fail(peer, Failure::leaving);
        if (before != PeerState::waiting) farewell(peer);
      }
    }
    if (link.state == LinkState::queued) link.state = LinkState::none;
    if (link.state == LinkState::asking) end_link(node);
    drain_link(node);
    if (link.state != LinkState::none) continue;
    for (const PeerId peer : table_.on_node(node)) {
      if (peers_[peer].registered) farewell(peer);
    }
  }
}

}  // namespace scela::channel::connect
