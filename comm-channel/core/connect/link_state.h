// The states of what a connection machine (connection_machine.h) keeps for each peer and each node,
// and their names. XrcSender has LinkState and PeerState, XrcReceiver has XrcTargetState, and
// RcPairs has PairState. The types are plain values.
#pragma once

#include <cstdint>
#include <string_view>

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

}  // namespace scela::channel::connect
