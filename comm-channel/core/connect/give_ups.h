// Tells peers that this process has given them up although they live, because this process's own
// device has failed. Otherwise these peers may wait for messages that never come, and nothing else
// would tell them. PortLinks uses it (comm-channel/net/port/port_links.h).
//
// A peer is told again until it answers, or until it has been told often enough: it may have ended,
// or no datagram reaches it. If the peer then asks for a connection, it is told once more.
//
// Datagrams go in and out. The class knows no time but what it is told. It is a plain value and not
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/core/connect/handshake.h"

namespace scela::channel::connect {

class GiveUps {
 public:
  struct Rules {
    Mode mode = Mode::shared;
    std::uint64_t secret = 0;                         // the job's; other datagrams are dropped
    Time first_wait = std::chrono::milliseconds(10);  // until the first repeat; doubles
    Time longest_wait = std::chrono::seconds(1);
    std::uint8_t tries = 12;            // sends of a notice in all
    std::uint8_t tries_of_leaving = 5;  // a process that ends waits no longer
  };
  // A datagram that the owner must send.
  struct OutgoingDatagram {
    PeerAddress to;
    std::string bytes;
  };

  GiveUps() = default;
  GiveUps(const PeerAddress& self, const Rules& rules) : self_(self), rules_(rules) {}

  // Adds a notice to the peer to sayings(); wake() repeats it until the peer answers. Does nothing
  // if the peer was given up before.
  void give_up(const PeerAddress& peer, Time now);
  // Repeats the notices that are due.
  void wake(Time now);
  // Returns when wake() is due, or std::nullopt if no notice is to be repeated.
  std::optional<Time> next_wake() const;
  // Returns true if every peer that was given up knows, or was told so often that this process may
  // end.
  bool settled() const;

  // Handles a datagram that has come. Returns true if it was a notice or an answer to one, which no
  // other part needs to see. Returns false for all others.
  bool take(std::string_view bytes, Time now);
  // The datagrams to send, in order. The caller empties the vector.
  std::vector<OutgoingDatagram>& sayings() { return sayings_; }
  // Returns the peers that have given this process up since the last call.
  std::vector<PeerAddress> take_those_that_did();

 private:
  // A peer that this process has given up.
  struct One {
    PeerAddress address;
    std::uint32_t number = 0;  // of the notice
    std::uint8_t tries = 0;    // how often it was sent
    bool heard = false;        // the peer has answered
    Time at{};                 // of the next repeat
  };

  void say(HandshakeKind said, const PeerAddress& to, std::uint32_t number);
  // Sends the notice, the first time or again, counts the try, and sets when the next one is due.
  void say_again(One& one, Time now);
  // Returns true if the notice is still to be repeated.
  bool goes_on(const One& one) const { return !one.heard && one.tries < rules_.tries; }
  // Returns null if this process has not given the peer up.
  One* find(const PeerAddress& peer);

  PeerAddress self_;
  Rules rules_;
  std::vector<One> given_up_;
  std::vector<PeerAddress> gave_up_;  // peers that gave this process up
  std::vector<PeerAddress> told_;     // of them, not taken yet
  std::vector<OutgoingDatagram> sayings_;
  std::uint32_t numbers_ = 0;
};

}  // namespace scela::channel::connect
