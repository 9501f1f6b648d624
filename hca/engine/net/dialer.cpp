#include "hca/engine/net/dialer.h"

#include <utility>

namespace scela::hca {

namespace {

// The time for one address if the node has others that are to be tried.
constexpr Moment kOneOfManyNs = 1'000'000'000;
// The pause after an attempt that failed.
constexpr Moment kHoldOffNs = 100'000'000;
// The time after which the directory is asked again, since an answer may be lost.
constexpr Moment kAskAgainNs = 1'000'000'000;

}  // namespace

bool Dialer::begin(const TaggedPoller& poller) const {
  if (!can_ask()) return true;
  if (!poller.add(directory_.descriptor(), EPOLLIN, {Tag::Kind::directory})) return false;
  directory_.tell_listening(own_.reached());
  return true;
}

bool Dialer::connect(std::uint32_t node, OtherNode& peer, Moment now) {
  if (now < peer.not_before) return false;
  if (peer.addresses.empty() || !own_.knows_key(peer.key)) return ask(node, peer, now);
  // The first try begins the time that frames may wait.
  if (peer.outbox.empty()) peer.give_up = now + kGreetingNs;
  peer.untried = peer.addresses.count();
  return try_next(node, peer, now);
}

bool Dialer::try_next(std::uint32_t node, OtherNode& peer, Moment now) {
  while (peer.untried > 0) {
    --peer.untried;
    auto link = PeerLink::connect(
        peer.addresses.next(),
        Greeting::connecting(own_.identity(), node, ++peer.attempts, own_.key_to(node, peer.key)));
    const std::uint32_t id = link ? links_.add(std::move(*link), EPOLLIN | EPOLLOUT) : 0;
    if (id != 0) {
      peer.trying = id;
      timers_.set({now + (peer.untried > 0 ? kOneOfManyNs : kGreetingNs),
                   FabricTimers::Kind::greeting, id});
      return true;
    }
    peer.addresses.failed();
  }
  peer.not_before = now + kHoldOffNs;
  return false;
}

// Frames wait for the answer as for a connection. It may be lost, so the question is repeated
// (Fabric::retry).
bool Dialer::ask(std::uint32_t node, OtherNode& peer, Moment now) {
  if (!can_ask()) return false;
  if (peer.outbox.empty()) peer.give_up = now + kGreetingNs;
  peer.was_asked = true;
  if (now < peer.ask_again) return true;
  directory_.ask(node);
  peer.ask_again = now + kAskAgainNs;
  timers_.set({peer.ask_again, FabricTimers::Kind::retry, node});
  return true;
}

bool Dialer::take(const Directory::Answer& answer, OtherNode& peer, Moment now) {
  peer.ask_again = 0;
  if (answer.endpoint && !peer.addresses.is_fixed()) peer.addresses.fix(*answer.endpoint);
  if (!answer.key.empty()) peer.key = answer.key;
  if (peer.established != 0 || peer.trying != 0 || peer.outbox.empty()) return true;
  const bool is_told = answer.endpoint && own_.knows_key(peer.key);
  if (is_told) peer.not_before = 0;
  if (is_told && connect(answer.node, peer, now)) return true;
  peer.not_before = now + kHoldOffNs;
  return false;
}

}  // namespace scela::hca
