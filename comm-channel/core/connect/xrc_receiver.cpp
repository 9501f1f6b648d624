#include "comm-channel/core/connect/xrc_receiver.h"

#include <algorithm>

#include "common/core/bytes.h"

namespace scela::channel::connect {

void XrcReceiver::on_request(PeerId peer, const Handshake& shake) {
  XrcTarget& target = targets_[peer];
  const bool none = target.state == XrcTargetState::none;
  const std::uint32_t number = shake.number;
  if (!none && target.number == number) {
    if (target.state == XrcTargetState::leaving)
      return local().refuse(peer, number, Refusal::leaving);
    return answer(peer);
  }
  if (number <= target.voided || (!none && number < target.number))
    return local().refuse(peer, number, Refusal::gone);
  if (local().is_leaving()) {
    release(peer);  // earlier requests are void
    target.voided = number;
    return local().refuse(peer, number, Refusal::leaving);
  }
  replace(peer, shake);
}

void XrcReceiver::replace(PeerId peer, const Handshake& shake) {
  XrcTarget& target = targets_[peer];
  const bool join = shake.said == HandshakeKind::join;
  if (join && target.state == XrcTargetState::held && target.qp != kNone &&
      target.qpn == shake.end.qpn) {
    target.number = shake.number;  // this process holds it already
    return answer(peer);
  }
  release(peer);
  target.number = shake.number;
  target.made = !join;
  if (join && local().options().mode == Mode::owned) {
    target.state = XrcTargetState::held;  // its maker holds it; this process sends `leave`
    return answer(peer);
  }
  target.state = XrcTargetState::making;
  target.qp = local().qps().allocate(QpUse::target, peer);
  if (join) {
    target.qpn = shake.end.qpn;
    local().enqueue(action::OpenReceiveQp{target.qp, shake.end.qpn});
  } else {
    const UdAddress& from = local().peers().address(peer).address;
    local().enqueue(action::CreateReceiveQp{target.qp, from, shake.end});
  }
}

void XrcReceiver::on_qp_made(PeerId peer, const event::QpMade& made) {
  XrcTarget& target = targets_[peer];
  target.state = XrcTargetState::held;
  if (target.made) target.qpn = made.number;
  answer(peer);
}

void XrcReceiver::on_qp_failed(PeerId peer, bool gone) {
  const std::uint32_t number = targets_[peer].number;
  release(peer);
  local().refuse(peer, number, gone ? Refusal::gone : Refusal::resources);
}

void XrcReceiver::answer(PeerId peer) {
  const XrcTarget& target = targets_[peer];
  Handshake rest;
  rest.srq = local().options().srq;
  if (target.made) rest.end = local().end_of(target.qpn, 0);
  const HandshakeKind kind = target.made ? HandshakeKind::accept : HandshakeKind::joined;
  local().send(peer, kind, target.number, false, rest);
}

void XrcReceiver::release(PeerId peer) {
  XrcTarget& target = targets_[peer];
  if (target.state == XrcTargetState::none) return;
  const std::uint32_t number = target.number;
  local().close(target.qp);
  local().timer().stop(peer, RequestPurpose::departure);
  target = {};
  target.voided = number;
}

void XrcReceiver::on_close(PeerId peer, std::uint32_t number) {
  XrcTarget& target = targets_[peer];
  if (target.state == XrcTargetState::none || number >= target.number) {
    release(peer);
    if (number > target.voided) target.voided = number;
  }
  local().send(peer, HandshakeKind::closed, number, false);
}

// No message is lost, because the peers let go before the queue pairs go.
void XrcReceiver::leave() {
  for (PeerId peer = 0; peer < targets_.size(); ++peer) {
    XrcTarget& target = targets_[peer];
    if (target.state != XrcTargetState::held) continue;
    target.state = XrcTargetState::leaving;
    local().timer().start(peer, RequestPurpose::departure, HandshakeKind::leave, target.number,
                          false);
    resend(peer);
  }
}

void XrcReceiver::resend(PeerId peer) {
  const PendingRequest& pending = local().timer().request(peer, RequestPurpose::departure);
  local().send(peer, pending.kind, pending.number, pending.own);
}

bool XrcReceiver::holds_any() const {
  return std::ranges::any_of(
      targets_, [](const XrcTarget& target) { return target.state != XrcTargetState::none; });
}

void XrcReceiver::snapshot(ByteWriter& out) const {
  for (const XrcTarget& target : targets_) {
    out.u8(static_cast<std::uint8_t>(target.state));
    out.flag(target.made);
    out.u32(target.number);
    out.u32(target.voided);
    out.u32(target.qpn);
    out.u32(target.qp);
  }
}

}  // namespace scela::channel::connect
