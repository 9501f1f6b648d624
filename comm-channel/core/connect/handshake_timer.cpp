#include "comm-channel/core/connect/handshake_timer.h"

#include <algorithm>

#include "common/core/bytes.h"

namespace scela::channel::connect {

void HandshakeTimer::start(PeerId peer, RequestPurpose purpose, HandshakeKind kind,
                           std::uint32_t number, bool own, std::uint8_t tries) {
  slot(peer, purpose) = {true, kind, own, tries, number, now_ + rules_.first_wait};
  ++requests_;
  if (peers_[peer].timed) return;
  peers_[peer].timed = true;
  timed_.push_back(peer);
}

void HandshakeTimer::forget(PeerId peer) {
  peers_[peer].requests = {};  // `timed` stays true: the peer is in timed_ until prune()
}

bool HandshakeTimer::is_any_active(RequestPurpose purpose) const {
  return std::ranges::any_of(timed_, [&](PeerId peer) { return request(peer, purpose).active; });
}

std::vector<PeerId> HandshakeTimer::due() const {
  std::vector<PeerId> due;
  for (const PeerId peer : timed_) {
    if (std::ranges::any_of(peers_[peer].requests, [this](const PendingRequest& one) {
          return one.active && one.at <= now_;
        }))
      due.push_back(peer);
  }
  std::sort(due.begin(), due.end());
  return due;
}

HandshakeTimer::Expiry HandshakeTimer::expire(PeerId peer, RequestPurpose purpose) {
  PendingRequest& one = slot(peer, purpose);
  if (!one.active || one.at > now_) return Expiry::waiting;
  if (++one.tries < rules_.tries) {
    const auto doubled = rules_.first_wait * (1LL << std::min<int>(one.tries, 20));
    one.at = now_ + std::min<Time>(doubled, rules_.longest_wait);
    ++repeats_;
    return Expiry::repeat;
  }
  one.active = false;
  return Expiry::unanswered;
}

void HandshakeTimer::prune() {
  std::erase_if(timed_, [this](PeerId peer) {
    peers_[peer].timed = std::ranges::any_of(peers_[peer].requests,
                                             [](const PendingRequest& one) { return one.active; });
    return !peers_[peer].timed;
  });
}

std::optional<Time> HandshakeTimer::next_wake() const {
  std::optional<Time> next;
  for (const PeerId peer : timed_) {
    for (const PendingRequest& one : peers_[peer].requests)
      if (one.active && (!next || one.at < *next)) next = one.at;
  }
  return next;
}

void HandshakeTimer::snapshot(PeerId peer, ByteWriter& out, Time now) const {
  for (const PendingRequest& one : peers_[peer].requests) {
    out.flag(one.active);
    if (!one.active) continue;
    out.u8(static_cast<std::uint8_t>(one.kind));
    out.flag(one.own);
    out.u8(one.tries);
    out.u32(one.number);
    out.u64(static_cast<std::uint64_t>((one.at - now).count()));
  }
}

}  // namespace scela::channel::connect
