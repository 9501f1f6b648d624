// The requests of one process that its peers have not answered yet, and when each is repeated.
// XrcSender, XrcReceiver and RcPairs start and stop requests; Machine (connection_machine.h) asks
// for those that are due, and has the part that started a request send its datagram again.
//
// A peer has at most one request for each RequestPurpose. A request is repeated after ever longer
// waits, until it is answered (stop()) or was sent Rules::tries times. The class sends nothing and
// knows no time but what it is told. It is a plain value and not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/core/connect/handshake.h"
#include "comm-channel/core/connect/peer_table.h"

namespace scela {
class ByteWriter;
}

namespace scela::channel::connect {

// The purpose of a request.
enum class RequestPurpose : std::uint8_t {
  connection,  // to make or close this process's connection to the peer
  departure,   // XRC: `leave`, so that the peer lets go of its connection to this process
};

// A request that is repeated until the peer answers it.
struct PendingRequest {
  bool active = false;                          // waits for an answer
  HandshakeKind kind = HandshakeKind::connect;  // what is repeated
  bool own = false;                             // `number` is of this process
  std::uint8_t tries = 0;                       // how often it was repeated
  std::uint32_t number = 0;                     // of the request
  Time at{};                                    // of the next repeat
  // Returns true if an answer to this request is awaited.
  bool is(HandshakeKind asked_for, std::uint32_t of_number) const {
    return active && kind == asked_for && number == of_number;
  }
};

class HandshakeTimer {
 public:
  struct Rules {
    Time first_wait{};  // until the first repeat; doubles
    Time longest_wait{};
    std::uint8_t tries = 0;  // sends of a request before it is given up
  };
  // The state of a request when Machine looks at it.
  enum class Expiry : std::uint8_t {
    waiting,     // no repeat is due, or the request is answered
    repeat,      // the datagram is to be sent again
    unanswered,  // it was sent often enough, and is not active any more
  };

  explicit HandshakeTimer(const Rules& rules) : rules_(rules) {}

  // Sets the time for the calls that follow.
  void set_now(Time now) { now_ = now; }
  // Makes place for peers up to this number.
  void grow(std::size_t peers) { peers_.resize(peers); }

  // Starts a request, in place of an earlier one of that purpose. The caller sends the datagram.
  // `own` says that this process has chosen `number`. `tries` is how often requests that this one
  // continues were repeated.
  void start(PeerId peer, RequestPurpose purpose, HandshakeKind kind, std::uint32_t number,
             bool own, std::uint8_t tries = 0);
  // Ends a request: it is answered, or void. Keeps its number and tries.
  void stop(PeerId peer, RequestPurpose purpose) { slot(peer, purpose).active = false; }
  // Forgets the requests to a peer, which has started anew.
  void forget(PeerId peer);
  const PendingRequest& request(PeerId peer, RequestPurpose purpose) const {
    return peers_[peer].requests[static_cast<std::size_t>(purpose)];
  }
  // Returns true if a request of this purpose waits for an answer of any peer.
  bool is_any_active(RequestPurpose purpose) const;

  // Returns the peers with a request that is due, in the order of their numbers.
  std::vector<PeerId> due() const;
  // Returns what is to be done with a request. If a repeat is due, sets the time of the next one.
  Expiry expire(PeerId peer, RequestPurpose purpose);
  // Forgets which peers have had requests that are not active any more.
  void prune();
  // Returns when the next request is due, or std::nullopt if none is active.
  std::optional<Time> next_wake() const;

  std::uint64_t requests() const { return requests_; }  // started
  std::uint64_t repeats() const { return repeats_; }    // sent again

  // Writes the requests to a peer, with times relative to `now`.
  void snapshot(PeerId peer, ByteWriter& out, Time now) const;

 private:
  struct Peer {
    std::array<PendingRequest, 2> requests;  // by RequestPurpose
    bool timed = false;                      // it is in timed_
  };
  PendingRequest& slot(PeerId peer, RequestPurpose purpose) {
    return peers_[peer].requests[static_cast<std::size_t>(purpose)];
  }

  Rules rules_;
  Time now_{};
  std::vector<Peer> peers_;    // by PeerId
  std::vector<PeerId> timed_;  // peers with an active request, or stale
  std::uint64_t requests_ = 0, repeats_ = 0;
};

}  // namespace scela::channel::connect
