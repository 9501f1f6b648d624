#include "comm-channel/core/connect/give_ups.h"

#include <algorithm>
#include <utility>

namespace scela::channel::connect {

GiveUps::One* GiveUps::find(const PeerAddress& peer) {
  const auto at = std::ranges::find_if(given_up_, [&](const One& one) {
    return one.address.name == peer.name &&
           (one.address.life == 0 || one.address.life == peer.life);
  });
  return at == given_up_.end() ? nullptr : &*at;
}

void GiveUps::say(HandshakeKind said, const PeerAddress& to, std::uint32_t number) {
  Handshake shake;
  shake.secret = rules_.secret;
  shake.said = said;
  shake.mode = rules_.mode;
  shake.own = said == HandshakeKind::give_up;
  shake.from = self_;
  shake.to = to.name;
  shake.to_life = to.life;
  shake.number = number;
  sayings_.push_back({to, encode(shake)});
}

void GiveUps::say_again(One& one, Time now) {
  const Time wait = rules_.first_wait * (1LL << std::min<int>(one.tries, 20));
  one.at = now + std::min(wait, rules_.longest_wait);
  ++one.tries;
  say(HandshakeKind::give_up, one.address, one.number);
}

void GiveUps::give_up(const PeerAddress& peer, Time now) {
  if (find(peer) != nullptr) return;
  given_up_.push_back({peer, ++numbers_, 0, false, now});
  say_again(given_up_.back(), now);
}

void GiveUps::wake(Time now) {
  for (One& one : given_up_)
    if (goes_on(one) && one.at <= now) say_again(one, now);
}

std::optional<Time> GiveUps::next_wake() const {
  std::optional<Time> next;
  for (const One& one : given_up_)
    if (goes_on(one) && (!next || one.at < *next)) next = one.at;
  return next;
}

bool GiveUps::settled() const {
  return std::ranges::all_of(given_up_, [this](const One& one) {
    return one.heard || one.tries >= std::min(rules_.tries, rules_.tries_of_leaving);
  });
}

bool GiveUps::take(std::string_view bytes, Time now) {
  const auto shake = decode(bytes);
  if (!shake || !is_secret(shake->secret, rules_.secret)) return false;
  const bool is_ours =
      shake->said == HandshakeKind::give_up || shake->said == HandshakeKind::given_up;
  const bool is_for_me = shake->to == self_.name && shake->from.name.job == self_.name.job &&
                         shake->from.name != self_.name &&
                         (shake->to_life == 0 || shake->to_life == self_.life);
  One* const one = is_for_me ? find(shake->from) : nullptr;
  if (!is_for_me) return is_ours;
  if (shake->said == HandshakeKind::given_up) {
    if (one != nullptr && one->number == shake->number) one->heard = true;
  } else if (shake->said == HandshakeKind::give_up) {
    say(HandshakeKind::given_up, shake->from, shake->number);
    if (std::ranges::find(gave_up_, shake->from) == gave_up_.end()) {
      gave_up_.push_back(shake->from);
      told_.push_back(shake->from);
    }
  } else if (one != nullptr && !goes_on(*one) &&
             (shake->said == HandshakeKind::connect || shake->said == HandshakeKind::join)) {
    say(HandshakeKind::give_up, one->address,
        one->number);  // heard and forgotten, or heard only now
    one->at = now;
  }
  return is_ours || one != nullptr;
}

std::vector<PeerAddress> GiveUps::take_those_that_did() {
  return std::exchange(told_, {});
}

}  // namespace scela::channel::connect
