#include "comm-channel/core/connect/local_end.h"

namespace scela::channel::connect {

// Any process that reaches this port may send anything under any name. So a stranger's datagram
// leaves no state and gets no answer.
bool LocalEnd::is_of_job(const Handshake& shake) const {
  if (!is_secret(shake.secret, options_.secret)) return false;
  return options_.ranks == 0 ||
         (shake.from.name.job == self_.name.job && shake.from.name.rank < options_.ranks);
}

bool LocalEnd::is_addressed(const Handshake& shake) const {
  if (shake.to != self_.name || shake.from.name == self_.name) return false;
  return shake.to_life == 0 || shake.to_life == self_.life;
}

void LocalEnd::send(PeerId peer, HandshakeKind kind, std::uint32_t number, bool own,
                    const Handshake& rest) {
  const PeerAddress& to = peers_.address(peer);
  Handshake shake = rest;
  shake.secret = options_.secret;
  shake.said = kind;
  shake.mode = options_.mode;
  shake.own = own;
  shake.from = self_;
  shake.to = to.name;
  shake.to_life = to.life;
  shake.number = number;
  enqueue(action::SendDatagram{peer, to.address, encode(shake)});
}

void LocalEnd::refuse(PeerId peer, std::uint32_t number, Refusal why) {
  Handshake rest;
  rest.refusal = why;
  send(peer, HandshakeKind::refuse, number, false, rest);
}

void LocalEnd::close(QpId& qp) {
  if (qp == kNone) return;
  qps_.release(qp);
  enqueue(action::CloseQp{qp});
  qp = kNone;
}

void LocalEnd::fail_route(PeerId peer, Failure why) {
  peers_.set_route(peer, {});
  enqueue(action::Failed{peer, why});
}

}  // namespace scela::channel::connect
