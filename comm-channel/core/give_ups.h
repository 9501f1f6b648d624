// Peers that this process has given up although they live, because its own device has failed. This
// process tells them, since they may wait for what never comes, and nothing else would tell them.
//
// A peer is told again until it has said that it heard, or has been told often enough: it may have
// ended, or nothing gets there. Whatever it says of connections later is answered with the same.
//
// Datagrams in and out; no time but what it is told. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm-channel/core/connection_events.h"
#include "comm-channel/core/handshake.h"

namespace scela::channel::connect {

class GiveUps {
 public:
  struct Rules {
    Mode mode = Mode::shared;
    std::uint64_t secret = 0;  // of the job: what is said without it is not heard
    Time first_wait = std::chrono::milliseconds(10);  // until it is said again; doubles
    Time longest_wait = std::chrono::seconds(1);
    std::uint8_t tries = 12;
    std::uint8_t tries_of_leaving = 5;  // who ends waits for no more than that
  };
  struct Saying {
    Card to;
    std::string bytes;
  };

  GiveUps() = default;
  GiveUps(const Card& self, const Rules& rules) : self_(self), rules_(rules) {}

  void give_up(const Card& peer, Time now);
  // What is due.
  void wake(Time now);
  std::optional<Time> next_wake() const;
  // Whether all that were given up know, or were told so often that this process may end.
  bool settled() const;

  // Whether the datagram was for this class, and nobody else needs to see it.
  bool take(std::string_view bytes, Time now);
  // To be sent, in order; the caller empties it.
  std::vector<Saying>& sayings() { return sayings_; }
  // Who has given this process up since the last call.
  std::vector<Card> take_those_that_did();

 private:
  struct One {
    Card card;
    std::uint32_t number = 0;
    std::uint8_t tries = 0;
    bool heard = false;
    Time at{};
  };

  void say(Said said, const Card& to, std::uint32_t number);
  void say_again(One& one, Time now);
  bool goes_on(const One& one) const { return !one.heard && one.tries < rules_.tries; }
  One* find(const Card& peer);

  Card self_;
  Rules rules_;
  std::vector<One> given_up_;
  std::vector<Card> gave_up_;  // this process
  std::vector<Card> told_;
  std::vector<Saying> sayings_;
  std::uint32_t numbers_ = 0;
};

}  // namespace scela::channel::connect
