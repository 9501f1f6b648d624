// Events that happen to a process's connections, and the actions that the machine asks for. The
// shell (comm-channel/net/port/port_links.h) and Machine (connection_machine.h) use them.
//
// The shell gives an event, then carries out the actions in their order. An action on a queue pair
// that has an answer (made, connected, failed) is answered when its turn comes. The answer adds
// actions behind those that are left. Other events wait until all actions are carried out. (Verbs
// that make and change queue pairs do not block on other processes.)
//
// CloseQp follows failures too, and does nothing if there is no queue pair. The types are plain
// values.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "comm-channel/core/connect/peer_table.h"
#include "common/core/error.h"

namespace scela::channel::connect {

using Time = std::chrono::nanoseconds;  // since an epoch that the shell chooses

enum class Failure : std::uint8_t {
  ended,        // the peer has ended, or its node is lost
  unreachable,  // the peer did not answer
  refused,      // the peer's device has no more resources
  resources,    // this process's device has no more
  leaving,      // the peer or this process is about to end
  mode,         // the peer uses another mode
};
std::string_view name_of(Failure failure);
// Returns the failure of a request that the peer has refused.
Failure failure_of(Refusal refusal);
// Returns an error for the user: what was tried, with which rank, what happened, and what to do.
Error explain(Failure failure, const PeerAddress& peer);

namespace event {

// The process has something to send to a peer that has no route.
struct Wanted {
  PeerId peer = kNone;
};
// A datagram has come, from any process. The bytes need be valid only during the call.
struct Datagram {
  std::string_view bytes;
};
struct Timer {};  // WakeMe's time has come; early: ignored
// The next three events answer actions on queue pairs.
//
// The queue pair exists.
struct QpMade {
  QpId qp = kNone;
  std::uint32_t number = 0;  // the device's number of the queue pair
  std::uint32_t psn = 0;     // first PSN; unused if it was opened
};
// The queue pair can send.
struct QpConnected {
  QpId qp = kNone;
};
// The queue pair could not be made, opened or connected.
struct QpFailed {
  QpId qp = kNone;
  bool gone = false;  // OpenReceiveQp: no such queue pair
};
// All requests that were posted for the peer are complete without an error. If one failed, the
// shell gives Broken instead.
struct Drained {
  PeerId peer = kNone;
};
// The queue pair is in the error state: a send has failed, or the device reports it.
struct Broken {
  QpId qp = kNone;
};
// The process has learned from elsewhere that a peer has ended, or that all peers of a node have.
struct PeerEnded {
  PeerId peer = kNone;
};
struct NodeLost {
  NodeKey node = 0;
};
// This process is about to end. The machine answers with action::Left.
struct Leave {};

}  // namespace event

using Event = std::variant<event::Wanted, event::Datagram, event::Timer, event::QpMade,
                           event::QpConnected, event::QpFailed, event::Drained, event::Broken,
                           event::PeerEnded, event::NodeLost, event::Leave>;

namespace action {

// Sends the bytes once, without a report. The machine repeats what must be answered.
struct SendDatagram {
  PeerId peer = kNone;
  UdAddress to;
  std::string bytes;
};
// Creates an XRC_SEND queue pair, or an RC queue pair with the shared receive queue, and brings it
// to INIT. QpMade or QpFailed answers.
struct CreateSendQp {
  QpId qp = kNone;
};
// Brings the queue pair from INIT to RTS. QpConnected or QpFailed answers.
struct ConnectQp {
  QpId qp = kNone;
  UdAddress at;
  QpEnd end;
};
// Creates an XRC_RECV queue pair and brings it to RTR. QpMade or QpFailed answers.
struct CreateReceiveQp {
  QpId qp = kNone;
  UdAddress at;
  QpEnd end;
};
// Opens, by its number, a receive queue pair that another process of this node has made. QpMade or
// QpFailed answers.
struct OpenReceiveQp {
  QpId qp = kNone;
  std::uint32_t number = 0;
};
// Destroys a queue pair, or gives back one that was opened. Its QpId may be used again afterwards.
struct CloseQp {
  QpId qp = kNone;
};
// The peer has a route: messages that wait for it can be sent.
struct Ready {
  PeerId peer = kNone;
};
// The peer has no route any more. The shell gives Drained when all requests that were posted for
// the peer are complete. If the process has more to send, the shell gives Wanted.
struct Drain {
  PeerId peer = kNone;
};
// The peer has no route any more. Requests that were posted for the peer and are not complete may
// have arrived or not. They are sent again, with their numbers, after Wanted and Ready.
struct Lost {
  PeerId peer = kNone;
};
// Messages that wait for the peer fail. Wanted tries anew, unless the peer has ended.
struct Failed {
  PeerId peer = kNone;
  Failure why = Failure::ended;
};
// The shell gives event::Timer at this time. Only the latest WakeMe counts.
struct WakeMe {
  Time at{};
};
// All connections are closed after event::Leave, so this process may end.
struct Left {};

}  // namespace action

using Action =
    std::variant<action::SendDatagram, action::CreateSendQp, action::ConnectQp,
                 action::CreateReceiveQp, action::OpenReceiveQp, action::CloseQp, action::Ready,
                 action::Drain, action::Lost, action::Failed, action::WakeMe, action::Left>;

}  // namespace scela::channel::connect
