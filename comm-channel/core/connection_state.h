// What a process remembers of each peer and each node (connection.h). Values, and what their states
// are called.
#pragma once

#include <cstdint>
#include <string_view>

#include "comm-channel/core/connection_events.h"
#include "comm-channel/core/handshake.h"
#include "comm-channel/core/peer_table.h"

namespace scela::channel::connect {

// The send queue pair for a node.
enum class LinkState : std::uint8_t {
  none,
  queued,  // waits until another makes room
  making,
  asking,  // the direct peer, for a receive queue pair
  connecting,
  ready,
  draining,
};

// What a process is to who sends.
enum class PeerState : std::uint8_t {
  idle,
  waiting,  // for the link
  asking,   // it is the direct peer to be
  joining,
  ready,
  draining,
};

// A receive queue pair that a peer sends through.
enum class HoldState : std::uint8_t {
  none,
  making,  // or opening
  held,
  leaving,  // the peer was asked to let go
};

// The queue pair for a peer with RC.
enum class PairState : std::uint8_t {
  none,
  queued,
  making,
  asking,
  connecting,
  answering,  // has accepted, waits for the confirmation
  ready,
  draining,
  closing,  // has drained, waits for the other
};

std::string_view name_of(LinkState state);
std::string_view name_of(PeerState state);
std::string_view name_of(HoldState state);
std::string_view name_of(PairState state);

// What is said again until it is answered.
struct Slot {
  bool active = false;
  Said said = Said::connect;
  bool own = false;
  std::uint8_t tries = 0;
  std::uint32_t number = 0;
  Time at{};
};

// What a peer sends through. Its requests up to `voided` are void.
struct Hold {
  HoldState state = HoldState::none;
  bool made = false;  // by this process, and not opened
  std::uint32_t number = 0, voided = 0;
  std::uint32_t target = 0;  // the device's number
  QpId qp = kNone;           // none: it is held by another (Mode::owned)
  Slot slot;
};

struct Pair {
  PairState state = PairState::none;
  bool mine = false;   // the request was this process's
  bool asked = false;  // draining: the other wants it too
  bool wanted = false;
  std::uint32_t number = 0, voided = 0;
  std::uint32_t qpn = 0, psn = 0;
  QpId qp = kNone;
  QpEnd far;
  std::uint64_t used = 0, turn = 0;
};

struct Peer {
  PeerState state = PeerState::idle;
  bool wanted = false;      // again, while it drains
  bool ended = false;       // so it was told, or the peer is of an earlier life
  bool leaving = false;     // so it said
  bool registered = false;  // it knows of us: `number` is what it knows us by
  bool member = false;      // it holds the link's receive queue pair
  bool timed = false;       // is in timed_
  std::uint32_t number = 0;
  std::uint32_t srq = 0;
  Slot out;
  Hold hold;
  Pair pair;
};

struct Link {
  LinkState state = LinkState::none;
  QpId qp = kNone;
  std::uint32_t number = 0, psn = 0;  // the device's, of our end
  PeerId direct = kNone;
  PeerId prefer = kNone;     // who is to be asked first
  std::uint32_t target = 0;  // the device's number of the other end
  std::uint64_t used = 0, turn = 0;
};

enum class QpUse : std::uint8_t { none, link, hold, pair };
struct QpOwner {
  QpUse use = QpUse::none;
  std::uint32_t index = 0;  // a node or a peer
};

}  // namespace scela::channel::connect
