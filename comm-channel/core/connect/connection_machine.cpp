// How events reach the parts of a machine: datagrams, repeats, queue pairs and ends. See
// connection_machine.h.
#include "comm-channel/core/connect/connection_machine.h"

#include <utility>

#include "common/core/bytes.h"
#include "common/core/overloaded.h"

namespace scela::channel::connect {

Machine::Machine(const Machine& other)
    : local_(other.local_),
      sender_(other.sender_),
      receiver_(other.receiver_),
      pairs_(other.pairs_),
      reported_wake_(other.reported_wake_),
      unheard_(other.unheard_) {
  attach();
}

Machine::Machine(Machine&& other) noexcept
    : local_(std::move(other.local_)),
      sender_(std::move(other.sender_)),
      receiver_(std::move(other.receiver_)),
      pairs_(std::move(other.pairs_)),
      reported_wake_(other.reported_wake_),
      unheard_(other.unheard_) {
  attach();
}

Machine& Machine::operator=(Machine other) noexcept {
  local_ = std::move(other.local_);
  sender_ = std::move(other.sender_);
  receiver_ = std::move(other.receiver_);
  pairs_ = std::move(other.pairs_);
  reported_wake_ = other.reported_wake_;
  unheard_ = other.unheard_;
  attach();
  return *this;
}

void Machine::attach() {
  sender_.attach(local_);
  receiver_.attach(local_);
  pairs_.attach(local_);
}

PeerId Machine::add(const PeerAddress& address) {
  PeerTable& peers = local_.peers();
  if (const auto known = peers.find(address.name)) {
    const std::uint64_t life = peers.address(*known).life;
    if (address.life <= life) return *known;
    if (life != 0) {
      on_peer_ended(*known);
      peers.reset_presence(*known);
      local_.timer().forget(*known);
      sender_.forget(*known);
      receiver_.forget(*known);
      pairs_.forget(*known);
    }
  }
  const PeerId peer = peers.add(address);
  local_.timer().grow(peers.size());
  sender_.grow();
  receiver_.grow();
  pairs_.grow();
  return peer;
}

void Machine::handle(const Event& event, Time now) {
  local_.timer().set_now(now);
  std::visit(Overloaded{
                 [&](const event::Wanted& wanted) { on_wanted(wanted.peer); },
                 [&](const event::Datagram& datagram) { on_datagram(datagram.bytes); },
                 [&](const event::Timer&) { on_timer(); },
                 [&](const event::QpMade& made) { on_qp_made(made); },
                 [&](const event::QpConnected& connected) { on_qp_connected(connected.qp); },
                 [&](const event::QpFailed& failed) { on_qp_failed(failed); },
                 [&](const event::Drained& drained) { on_drained(drained.peer); },
                 [&](const event::Broken& broken) { on_qp_broken(broken.qp); },
                 [&](const event::PeerEnded& ended) { on_peer_ended(ended.peer); },
                 [&](const event::NodeLost& lost) { on_node_lost(lost.node); },
                 [&](const event::Leave&) { leave(); },
             },
             event);
  check_left();
  report_wake();
}

// ---- datagrams ----

PeerId Machine::sender_of(const Handshake& shake) {
  const PeerTable& peers = local_.peers();
  if (const auto known = peers.find(shake.from.name)) {
    const std::uint64_t life = peers.address(*known).life;
    if (shake.from.life < life) return kNone;
    const bool present_life = shake.from.life == life || life == 0;
    if (present_life && peers.presence(*known) == Presence::ended) return kNone;
  }
  return add(shake.from);
}

void Machine::on_datagram(std::string_view bytes) {
  const auto shake = decode(bytes);
  if (!shake || !local_.is_of_job(*shake)) {
    ++unheard_;
    return;
  }
  if (local_.phase() == LocalEnd::Phase::left || !local_.is_addressed(*shake)) return;
  const PeerId peer = sender_of(*shake);
  if (peer == kNone) return;
  const bool join = shake->said == HandshakeKind::join;
  const bool request = shake->said == HandshakeKind::connect || join;
  if (request && (shake->mode != local_.options().mode || (join && local_.is_rc()))) {
    local_.refuse(peer, shake->number, Refusal::mode);
  } else if (local_.is_rc()) {
    pairs_.on_datagram(peer, *shake);
  } else {
    dispatch(peer, *shake);
  }
}

void Machine::dispatch(PeerId peer, const Handshake& shake) {
  switch (shake.said) {
    case HandshakeKind::connect:
    case HandshakeKind::join:
      return receiver_.on_request(peer, shake);
    case HandshakeKind::close:
      return receiver_.on_close(peer, shake.number);
    case HandshakeKind::accept:
      return sender_.on_accept(peer, shake);
    case HandshakeKind::joined:
      return sender_.on_joined(peer, shake);
    case HandshakeKind::refuse:
      return sender_.on_refuse(peer, shake);
    case HandshakeKind::closed:
      return sender_.on_closed(peer, shake.number);
    case HandshakeKind::leave:
      return sender_.on_leave(peer, shake.number);
    case HandshakeKind::confirm:
      return;  // RC only
    case HandshakeKind::give_up:
    case HandshakeKind::given_up:
      return;  // give_ups.h
  }
}

// ---- repeats ----

void Machine::on_timer() {
  for (const PeerId peer : local_.timer().due()) {
    expire(peer, RequestPurpose::connection);
    expire(peer, RequestPurpose::departure);
  }
}

void Machine::expire(PeerId peer, RequestPurpose purpose) {
  const HandshakeTimer::Expiry expiry = local_.timer().expire(peer, purpose);
  if (expiry == HandshakeTimer::Expiry::waiting) return;
  const bool again = expiry == HandshakeTimer::Expiry::repeat;
  if (purpose == RequestPurpose::departure)
    return again ? receiver_.resend(peer) : receiver_.release(peer);
  const HandshakeKind kind = local_.timer().request(peer, purpose).kind;
  if (local_.is_rc()) return again ? pairs_.resend(peer) : pairs_.on_unanswered(peer, kind);
  again ? sender_.resend(peer) : sender_.on_unanswered(peer, kind);
}

void Machine::report_wake() {
  local_.timer().prune();
  const auto next = next_wake();
  if (next && next != reported_wake_) local_.enqueue(action::WakeMe{*next});
  reported_wake_ = next;
}

// ---- wishes of the process, and queue pairs ----

void Machine::on_wanted(PeerId peer) {
  const bool ended = local_.peers().presence(peer) == Presence::ended;
  if (local_.peers().presence(peer) != Presence::present || local_.is_leaving())
    return local_.enqueue(action::Failed{peer, ended ? Failure::ended : Failure::leaving});
  local_.is_rc() ? pairs_.want(peer) : sender_.want(peer);
}

void Machine::on_drained(PeerId peer) {
  local_.is_rc() ? pairs_.on_drained(peer) : sender_.on_drained(peer);
}

void Machine::on_qp_made(const event::QpMade& made) {
  const QpOwner owner = local_.qps().owner(made.qp);
  if (owner.use == QpUse::link) sender_.on_qp_made(owner.index, made);
  if (owner.use == QpUse::target) receiver_.on_qp_made(owner.index, made);
  if (owner.use == QpUse::pair) pairs_.on_qp_made(owner.index, made);
}

void Machine::on_qp_connected(QpId qp) {
  const QpOwner owner = local_.qps().owner(qp);
  if (owner.use == QpUse::link) sender_.on_qp_connected(owner.index);
  if (owner.use == QpUse::pair) pairs_.on_qp_connected(owner.index);
}

void Machine::on_qp_failed(const event::QpFailed& failed) {
  const QpOwner owner = local_.qps().owner(failed.qp);
  if (owner.use == QpUse::link) sender_.on_qp_failed(owner.index);
  if (owner.use == QpUse::target) receiver_.on_qp_failed(owner.index, failed.gone);
  if (owner.use == QpUse::pair) pairs_.on_qp_failed(owner.index);
}

void Machine::on_qp_broken(QpId qp) {
  const QpOwner owner = local_.qps().owner(qp);
  if (owner.use == QpUse::link) sender_.on_qp_broken(owner.index);
  if (owner.use == QpUse::target) receiver_.release(owner.index);
  if (owner.use == QpUse::pair) pairs_.on_qp_broken(owner.index);
}

// ---- ends ----

void Machine::on_peer_ended(PeerId peer) {
  if (local_.peers().presence(peer) == Presence::ended) return;
  local_.peers().advance_presence(peer, Presence::ended);
  local_.timer().stop(peer, RequestPurpose::connection);
  receiver_.release(peer);
  local_.is_rc() ? pairs_.on_peer_ended(peer) : sender_.on_peer_ended(peer);
}

void Machine::on_node_lost(NodeKey key) {
  const auto node = local_.peers().find_node(key);
  if (!node) return;
  // The waiting peers fail first, so that no peer of the lost node is asked in their place.
  sender_.fail_waiting(*node, Failure::ended);
  const std::vector<PeerId> there = local_.peers().on_node(*node);
  for (const PeerId peer : there)
    on_peer_ended(peer);
}

void Machine::leave() {
  if (local_.is_leaving()) return;
  local_.set_phase(LocalEnd::Phase::leaving);
  if (local_.is_rc()) return pairs_.leave();
  sender_.leave();
  receiver_.leave();
}

void Machine::check_left() {
  if (local_.phase() != LocalEnd::Phase::leaving || local_.qps().connections() > 0) return;
  if (local_.timer().is_any_active(RequestPurpose::connection)) return;
  if (receiver_.holds_any() || pairs_.has_any()) return;
  local_.set_phase(LocalEnd::Phase::left);
  local_.enqueue(action::Left{});
}

// ---- what tests and statistics see ----

Counts Machine::counts() const {
  Counts counts;
  counts.links = local_.qps().connections();
  counts.held = local_.qps().targets();
  counts.requests = local_.timer().requests();
  counts.repeats = local_.timer().repeats();
  counts.joins = sender_.counts().joins;
  counts.closed_idle = sender_.counts().closed_idle + pairs_.closed_idle();
  counts.unheard = unheard_;
  return counts;
}

void Machine::snapshot(ByteWriter& out, Time now) const {
  for (PeerId peer = 0; peer < peers().size(); ++peer) {
    out.u64(peers().address(peer).life);
    out.u32(peers().route(peer).qp);
    out.u8(static_cast<std::uint8_t>(peers().presence(peer)));
    local_.timer().snapshot(peer, out, now);
  }
  sender_.snapshot(out);
  receiver_.snapshot(out);
  pairs_.snapshot(out);
  out.u8(static_cast<std::uint8_t>(local_.phase()));
}

}  // namespace scela::channel::connect
