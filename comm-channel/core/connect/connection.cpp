// The parts of Machine that all modes share: datagrams, repeats, wake-ups and ends. See
// connection.h.
#include "comm-channel/core/connect/connection.h"

#include <algorithm>

#include "common/core/overloaded.h"

namespace scela::channel::connect {

PeerId Machine::add(const PeerAddress& address) {
  if (const auto known = table_.find(address.name)) {
    const std::uint64_t life = table_.address(*known).life;
    if (address.life <= life) return *known;
    if (life != 0) {
      peer_ended(*known);
      const bool timed = peers_[*known].timed;
      peers_[*known] = Peer{};
      peers_[*known].timed = timed;
    }
  }
  const PeerId peer = table_.add(address);
  if (peer >= peers_.size()) peers_.resize(peer + 1);
  links_.resize(table_.nodes());
  return peer;
}

void Machine::handle(const Event& event, Time now) {
  now_ = now;
  std::visit(Overloaded{
                 [&](const event::Wanted& wanted) { want(wanted.peer); },
                 [&](const event::Datagram& datagram) { take_datagram(datagram.bytes); },
                 [&](const event::Timer&) { wake(); },
                 [&](const event::QpMade& made) { qp_made(made); },
                 [&](const event::QpConnected& connected) {
                   const QpOwner owner = qps_[connected.qp];
                   if (owner.use == QpUse::link) link_connected(owner.index);
                   if (owner.use == QpUse::pair) pair_connected(owner.index);
                 },
                 [&](const event::QpFailed& failed) { qp_failed(failed); },
                 [&](const event::Drained& drained_one) {
                   options_.mode == Mode::pairs ? pair_drained(drained_one.peer)
                                                : drained(drained_one.peer);
                 },
                 [&](const event::Broken& broken) {
                   const QpOwner owner = broken.qp < qps_.size() ? qps_[broken.qp] : QpOwner{};
                   if (owner.use == QpUse::link) break_link(owner.index);
                   if (owner.use == QpUse::pair) pair_broken(owner.index);
                   if (owner.use == QpUse::hold) release_hold(owner.index);
                 },
                 [&](const event::PeerEnded& ended) { peer_ended(ended.peer); },
                 [&](const event::NodeLost& lost) { node_lost(lost.node); },
                 [&](const event::Leave&) { leave(); },
             },
             event);
  check_left();
  tell_wake();
}

// Returns true if the sender belongs to the job. Any process that reaches this port may send
// anything under any name. So a stranger's datagram leaves no state and gets no answer.
bool Machine::is_of_job(const Handshake& shake) const {
  if (!is_secret(shake.secret, options_.secret)) return false;
  return options_.ranks == 0 ||
         (shake.from.name.job == self_.name.job && shake.from.name.rank < options_.ranks);
}

// Returns true if a datagram is for this process in its present life, and is not from an earlier or
// ended life of its sender. A sender that was not known is added.
bool Machine::meet(const Handshake& shake, PeerId& peer) {
  if (shake.to != self_.name || shake.from.name == self_.name) return false;
  if (shake.to_life != 0 && shake.to_life != self_.life) return false;
  if (const auto known = table_.find(shake.from.name)) {
    const std::uint64_t life = table_.address(*known).life;
    if (shake.from.life < life) return false;
    if (shake.from.life == life || life == 0) {
      if (peers_[*known].ended) return false;
    }
  }
  peer = add(shake.from);
  return true;
}

void Machine::take_datagram(std::string_view bytes) {
  const auto shake = decode(bytes);
  if (!shake || !is_of_job(*shake)) {
    ++counts_.unheard;
    return;
  }
  PeerId peer = kNone;
  if (left_ || !meet(*shake, peer)) return;
  const bool request = shake->said == HandshakeKind::connect || shake->said == HandshakeKind::join;
  if (request && (shake->mode != options_.mode ||
                  (shake->said == HandshakeKind::join && options_.mode == Mode::pairs))) {
    refuse(peer, shake->number, Refusal::mode);
  } else if (options_.mode == Mode::pairs) {
    pair_dispatch(peer, *shake);
  } else {
    dispatch(peer, *shake);
  }
}

void Machine::dispatch(PeerId peer, const Handshake& shake) {
  switch (shake.said) {
    case HandshakeKind::connect:
    case HandshakeKind::join:
      return asked(peer, shake);
    case HandshakeKind::accept:
      return accepted(peer, shake);
    case HandshakeKind::joined:
      return joined(peer, shake);
    case HandshakeKind::refuse:
      return refused(peer, shake);
    case HandshakeKind::close:
      return close_hold(peer, shake.number);
    case HandshakeKind::closed: {
      Slot& slot = peers_[peer].out;
      if (slot.active && slot.said == HandshakeKind::close && slot.number == shake.number)
        slot.active = false;
      return;
    }
    case HandshakeKind::leave:
      return told_to_leave(peer, shake.number);
    case HandshakeKind::confirm:
      return;  // RC only
    case HandshakeKind::give_up:
    case HandshakeKind::given_up:
      return;  // give_ups.h
  }
}

void Machine::say(PeerId peer, HandshakeKind said, std::uint32_t number, bool own,
                  const Handshake& rest) {
  Handshake shake = rest;
  shake.secret = options_.secret;
  shake.said = said;
  shake.mode = options_.mode;
  shake.own = own;
  // RC has no other message that tells the peer that a closing process does not come back, or that
  // its queue pair has broken. Otherwise the peer would wait for answers to what it has posted.
  if (options_.mode == Mode::pairs && leaving_ &&
      (said == HandshakeKind::close || said == HandshakeKind::closed))
    shake.refusal = Refusal::leaving;
  const Pair& pair = peers_[peer].pair;
  shake.gone = options_.mode == Mode::pairs && said == HandshakeKind::close &&
               (pair.qp == kNone || pair.number != number || pair.mine != own);
  shake.from = self_;
  shake.to = table_.address(peer).name;
  shake.to_life = table_.address(peer).life;
  shake.number = number;
  actions_.push_back(action::SendDatagram{peer, table_.address(peer).address, encode(shake)});
}

void Machine::repeat(PeerId peer, Slot& slot, HandshakeKind said, std::uint32_t number, bool own) {
  slot = {true, said, own, 0, number, now_ + options_.first_wait};
  ++counts_.requests;
  if (!peers_[peer].timed) {
    peers_[peer].timed = true;
    timed_.push_back(peer);
  }
  say_again(peer, slot);
}

void Machine::say_again(PeerId peer, const Slot& slot) {
  const Peer& p = peers_[peer];
  Handshake rest;
  if (options_.mode == Mode::pairs) {
    if (slot.said == HandshakeKind::connect || slot.said == HandshakeKind::accept)
      rest.end = {p.pair.qpn, p.pair.psn, options_.mtu, options_.reads};
    if (slot.said == HandshakeKind::accept) rest.voided = numbers_;
  } else {
    const Link& link = links_[table_.node_of(peer)];
    if (slot.said == HandshakeKind::connect)
      rest.end = {link.number, link.psn, options_.mtu, options_.reads};
    if (slot.said == HandshakeKind::join) rest.end.qpn = link.target;
  }
  say(peer, slot.said, slot.number, slot.own, rest);
}

void Machine::wake() {
  std::vector<PeerId> due;
  for (const PeerId peer : timed_) {
    const Peer& p = peers_[peer];
    if ((p.out.active && p.out.at <= now_) || (p.hold.slot.active && p.hold.slot.at <= now_))
      due.push_back(peer);
  }
  std::sort(due.begin(), due.end());
  for (const PeerId peer : due) {
    expire(peer, peers_[peer].out);
    expire(peer, peers_[peer].hold.slot);
  }
}

void Machine::expire(PeerId peer, Slot& slot) {
  if (!slot.active || slot.at > now_) return;
  if (++slot.tries < options_.tries) {
    const auto doubled = options_.first_wait * (1LL << std::min<int>(slot.tries, 20));
    slot.at = now_ + std::min<Time>(doubled, options_.longest_wait);
    ++counts_.repeats;
    return say_again(peer, slot);
  }
  slot.active = false;
  if (options_.mode == Mode::pairs) return pair_unanswered(peer, slot.said);
  if (slot.said == HandshakeKind::leave) return release_hold(peer);
  unanswered(peer, slot.said);
}

std::optional<Time> Machine::next_wake() const {
  std::optional<Time> next;
  const auto look = [&next](const Slot& slot) {
    if (slot.active && (!next || slot.at < *next)) next = slot.at;
  };
  for (const PeerId peer : timed_) {
    look(peers_[peer].out);
    look(peers_[peer].hold.slot);
  }
  return next;
}

void Machine::tell_wake() {
  std::erase_if(timed_, [this](PeerId peer) {
    Peer& p = peers_[peer];
    p.timed = p.out.active || p.hold.slot.active;
    return !p.timed;
  });
  const auto next = next_wake();
  if (next && next != told_wake_) actions_.push_back(action::WakeMe{*next});
  told_wake_ = next;
}

void Machine::want(PeerId peer) {
  Peer& p = peers_[peer];
  if (p.ended || p.leaving || leaving_) {
    actions_.push_back(action::Failed{peer, p.ended ? Failure::ended : Failure::leaving});
    return;
  }
  if (options_.mode == Mode::pairs) return want_pair(peer);
  if (p.state == PeerState::draining) p.wanted = true;
  if (p.state != PeerState::idle) return;
  p.state = PeerState::waiting;
  advance(table_.node_of(peer));
}

void Machine::fail(PeerId peer, Failure why) {
  peers_[peer].state = PeerState::idle;
  peers_[peer].wanted = false;
  table_.set_route(peer, {});
  actions_.push_back(action::Failed{peer, why});
}

void Machine::peer_ended(PeerId peer) {
  Peer& p = peers_[peer];
  if (p.ended) return;
  p.ended = true;
  p.out.active = false;
  release_hold(peer);
  if (options_.mode == Mode::pairs) return pair_ended(peer);
  const PeerState before = p.state;
  if (before != PeerState::idle) fail(peer, Failure::ended);
  lose_member(peer, before);
}

void Machine::node_lost(NodeKey key) {
  const auto node = table_.find_node(key);
  if (!node) return;
  // The waiting peers fail first, so that no peer of the lost node is asked in their place.
  for (const PeerId peer : table_.on_node(*node)) {
    if (peers_[peer].state == PeerState::waiting) fail(peer, Failure::ended);
  }
  const std::vector<PeerId> there = table_.on_node(*node);
  for (const PeerId peer : there)
    peer_ended(peer);
}

void Machine::leave() {
  if (leaving_) return;
  leaving_ = true;
  if (options_.mode == Mode::pairs) return leave_pairs();
  leave_links();
  leave_holds();
}

void Machine::check_left() {
  if (!leaving_ || left_ || open_links_ > 0) return;
  for (const Peer& p : peers_) {
    if (p.out.active || p.hold.state != XrcTargetState::none) return;
    if (p.pair.state != PairState::none) return;
  }
  left_ = true;
  actions_.push_back(action::Left{});
}

QpId Machine::new_qp(QpUse use, std::uint32_t index) {
  const auto free = std::find_if(qps_.begin(), qps_.end(),
                                 [](const QpOwner& owner) { return owner.use == QpUse::none; });
  const auto qp = static_cast<QpId>(free - qps_.begin());
  if (free == qps_.end()) qps_.emplace_back();
  qps_[qp] = {use, index};
  open_links_ += use != QpUse::hold;
  return qp;
}

void Machine::close_qp(QpId& qp) {
  if (qp == kNone) return;
  open_links_ -= qps_[qp].use != QpUse::hold;
  qps_[qp] = {};
  actions_.push_back(action::CloseQp{qp});
  qp = kNone;
}

void Machine::qp_made(const event::QpMade& made) {
  const QpOwner owner = qps_[made.qp];
  if (owner.use == QpUse::link) link_made(owner.index, made);
  if (owner.use == QpUse::hold) hold_made(owner.index, made);
  if (owner.use == QpUse::pair) pair_made(owner.index, made);
}

void Machine::qp_failed(const event::QpFailed& failed) {
  const QpOwner owner = qps_[failed.qp];
  if (owner.use == QpUse::link) link_failed(owner.index);
  if (owner.use == QpUse::hold) hold_failed(owner.index, failed.gone);
  if (owner.use == QpUse::pair) pair_failed(owner.index);
}

std::uint64_t* Machine::used_of(PeerId peer) {
  return options_.mode == Mode::pairs ? &peers_[peer].pair.used
                                      : &links_[table_.node_of(peer)].used;
}

bool Machine::is_direct(PeerId peer) const {
  const Link& link = links_[table_.node_of(peer)];
  return options_.mode == Mode::pairs || (link.state != LinkState::none && link.direct == peer);
}

Counts Machine::counts() const {
  Counts counts = counts_;
  counts.links = open_links_;
  for (const QpOwner& owner : qps_)
    counts.held += owner.use == QpUse::hold;
  return counts;
}

}  // namespace scela::channel::connect
