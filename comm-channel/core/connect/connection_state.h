// The state that Machine (connection.h) keeps for each peer and each node, and the names of the
// states. The types are plain values.
#pragma once

#include <cstdint>
#include <string_view>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/core/connect/handshake.h"
#include "comm-channel/core/connect/peer_table.h"

namespace scela::channel::connect {

// The state of the send queue pair for a node (XRC).
enum class LinkState : std::uint8_t {
  none,        // no queue pair
  queued,      // waits until another link makes room
  making,      // CreateSendQp is not answered
  asking,      // asks the direct peer for a receive QP
  connecting,  // ConnectQp is not answered
  ready,       // messages can be sent
  draining,    // ends when its requests are over
};

// The state of a peer as a destination of this process's messages (XRC).
enum class PeerState : std::uint8_t {
  idle,      // nothing is wanted from it
  waiting,   // waits for the link
  asking,    // is asked to become the direct peer
  joining,   // is asked to join a ready link
  ready,     // has a route
  draining,  // its requests are waited for
};

// The state of a receive queue pair that a peer sends through (XRC).
enum class XrcTargetState : std::uint8_t {
  none,     // this process holds none
  making,   // is being made or opened
  held,     // the peer may send through it
  leaving,  // the peer was asked to let go
};

// The state of the queue pair for a peer (RC).
enum class PairState : std::uint8_t {
  none,        // no queue pair, nothing wanted
  queued,      // waits until another makes room
  making,      // CreateSendQp is not answered
  asking,      // has sent `connect`
  connecting,  // ConnectQp is not answered
  answering,   // has accepted, waits for `confirm`
  ready,       // has a route
  draining,    // its requests are waited for
  closing,     // has drained, waits for the other end
};

std::string_view name_of(LinkState state);
std::string_view name_of(PeerState state);
std::string_view name_of(XrcTargetState state);
std::string_view name_of(PairState state);

// A request that is repeated until the peer answers it.
struct Slot {
  bool active = false;                          // waits for an answer
  HandshakeKind said = HandshakeKind::connect;  // what is repeated
  bool own = false;                             // `number` is of this process
  std::uint8_t tries = 0;                       // how often it was repeated
  std::uint32_t number = 0;                     // of the request
  Time at{};                                    // of the next repeat
};

// The receive queue pair that a peer sends through. `number` is that of the peer's request.
// Requests of the peer numbered up to `voided` are void. `slot` repeats `leave`.
struct XrcTarget {
  XrcTargetState state = XrcTargetState::none;
  bool made = false;  // this process made it, not opened it
  std::uint32_t number = 0, voided = 0;
  std::uint32_t target = 0;  // the device's number of the queue pair
  QpId qp = kNone;           // kNone: another holds it (Mode::owned)
  Slot slot;
};

// The queue pair for a peer (RC). `number` is that of the request that made it. Requests of the
// peer numbered up to `voided` are void. `used` and `turn` order pairs by their last use and by the
// time at which they were queued.
struct Pair {
  PairState state = PairState::none;
  bool mine = false;    // this process sent the request
  bool asked = false;   // the peer has sent `close` too
  bool wanted = false;  // a route is wanted
  std::uint32_t number = 0, voided = 0;
  std::uint32_t qpn = 0, psn = 0;  // the device's, of this end
  QpId qp = kNone;
  QpEnd far;  // the peer's end
  std::uint64_t used = 0, turn = 0;
};

// The machine keeps one such object for each peer. `number` is that of the last request to it,
// which `out` repeats. `hold` and `pair` are the queue pairs that the peer shares with this
// process.
struct Peer {
  PeerState state = PeerState::idle;
  bool wanted = false;      // a route is wanted again after draining
  bool ended = false;       // the peer has ended
  bool leaving = false;     // the peer said that it is leaving
  bool registered = false;  // the peer has answered request `number`
  bool member = false;      // holds the link's receive queue pair
  bool timed = false;       // the peer is in Machine::timed_
  std::uint32_t number = 0;
  std::uint32_t srq = 0;  // the peer's SRQ number (XRC)
  Slot out;
  XrcTarget hold;
  Pair pair;
};

// The send queue pair for a node (XRC). `used` and `turn` order links by their last use and by the
// time at which they were queued.
struct Link {
  LinkState state = LinkState::none;
  QpId qp = kNone;
  std::uint32_t number = 0, psn = 0;  // the device's, of this end
  PeerId direct = kNone;
  PeerId prefer = kNone;     // the peer to be asked first
  std::uint32_t target = 0;  // the device's number of the far end
  std::uint64_t used = 0, turn = 0;
};

// The use of a queue pair: the link to a node (XRC), a receive queue pair that a peer sends through
// (XRC), or the queue pair for a peer (RC). `none`: the QpId is free.
enum class QpUse : std::uint8_t { none, link, hold, pair };
struct QpOwner {
  QpUse use = QpUse::none;
  std::uint32_t index = 0;  // a NodeIndex or a PeerId
};

}  // namespace scela::channel::connect
