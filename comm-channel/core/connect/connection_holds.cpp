// The receiving side of XRC: the queue pairs that peers send through. See connection.h.
#include "comm-channel/core/connect/connection.h"

namespace scela::channel::connect {

// A peer connects or joins. The numbers of its requests grow, so a late request is recognized.
void Machine::asked(PeerId peer, const Handshake& shake) {
  XrcTarget& hold = peers_[peer].hold;
  const std::uint32_t number = shake.number;
  if (hold.state != XrcTargetState::none && hold.number == number) {
    if (hold.state == XrcTargetState::leaving) return refuse(peer, number, Refusal::leaving);
    return answer_hold(peer);
  }
  if (number <= hold.voided || (hold.state != XrcTargetState::none && number < hold.number))
    return refuse(peer, number, Refusal::gone);
  if (leaving_) {
    release_hold(peer);  // earlier requests are void
    hold.voided = number;
    return refuse(peer, number, Refusal::leaving);
  }
  asked_anew(peer, shake);
}

void Machine::asked_anew(PeerId peer, const Handshake& shake) {
  XrcTarget& hold = peers_[peer].hold;
  const bool join = shake.said == HandshakeKind::join;
  const bool owned = options_.mode == Mode::owned;
  if (join && hold.state == XrcTargetState::held && hold.qp != kNone &&
      hold.target == shake.end.qpn) {
    hold.number = shake.number;  // this process holds it already
    return answer_hold(peer);
  }
  release_hold(peer);
  hold.number = shake.number;
  hold.made = !join;
  if (join && owned) {
    hold.state = XrcTargetState::held;  // the maker holds it; we say when we leave
    return answer_hold(peer);
  }
  hold.state = XrcTargetState::making;
  hold.qp = new_qp(QpUse::hold, peer);
  if (join) {
    hold.target = shake.end.qpn;
    actions_.push_back(action::OpenReceiveQp{hold.qp, shake.end.qpn});
  } else {
    actions_.push_back(action::CreateReceiveQp{hold.qp, table_.address(peer).address, shake.end});
  }
}

void Machine::hold_made(PeerId peer, const event::QpMade& made) {
  XrcTarget& hold = peers_[peer].hold;
  hold.state = XrcTargetState::held;
  if (hold.made) hold.target = made.number;
  answer_hold(peer);
}

void Machine::hold_failed(PeerId peer, bool gone) {
  const std::uint32_t number = peers_[peer].hold.number;
  release_hold(peer);
  refuse(peer, number, gone ? Refusal::gone : Refusal::resources);
}

void Machine::answer_hold(PeerId peer) {
  const XrcTarget& hold = peers_[peer].hold;
  Handshake rest;
  rest.srq = options_.srq;
  if (hold.made) rest.end = {hold.target, 0, options_.mtu, options_.reads};
  say(peer, hold.made ? HandshakeKind::accept : HandshakeKind::joined, hold.number, false, rest);
}

void Machine::refuse(PeerId peer, std::uint32_t number, Refusal why) {
  Handshake rest;
  rest.refusal = why;
  say(peer, HandshakeKind::refuse, number, false, rest);
}

void Machine::release_hold(PeerId peer) {
  XrcTarget& hold = peers_[peer].hold;
  if (hold.state == XrcTargetState::none) return;
  const std::uint32_t number = hold.number;
  close_qp(hold.qp);
  hold = {};
  hold.voided = number;
}

// The peer sends nothing more under its requests up to this number.
void Machine::close_hold(PeerId peer, std::uint32_t number) {
  XrcTarget& hold = peers_[peer].hold;
  if (hold.state == XrcTargetState::none || number >= hold.number) {
    release_hold(peer);
    if (number > hold.voided) hold.voided = number;
  }
  say(peer, HandshakeKind::closed, number, false);
}

// Peers that send through queue pairs of this process are asked to let go first, so that no message
// is lost.
void Machine::leave_holds() {
  for (PeerId peer = 0; peer < peers_.size(); ++peer) {
    XrcTarget& hold = peers_[peer].hold;
    if (hold.state != XrcTargetState::held) continue;
    hold.state = XrcTargetState::leaving;
    repeat(peer, hold.slot, HandshakeKind::leave, hold.number, false);
  }
}

}  // namespace scela::channel::connect
