// What happens to a process's connections, and what they want done.
//
// The shell gives an event, then carries the actions out in their order. One about a queue pair
// that has an answer (made, connected, failed) is answered when its turn comes, which adds actions
// behind those that are left; other events wait until all are carried out. (Verbs that make and
// change queue pairs wait for nobody.) CloseQp follows failures too, and does nothing where there
// is nothing. Values only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "comm-channel/core/peer_table.h"
#include "common/core/error.h"

namespace scela::channel::connect {

using Time = std::chrono::nanoseconds;  // since whenever the shell likes

enum class Failure : std::uint8_t {
  ended,        // the peer has ended, or its node is lost
  unreachable,  // it did not answer
  refused,      // its device gives no more
  resources,    // this process's device gives no more
  leaving,      // it is about to end, or this process is
  mode,         // it uses queue pairs in another way
};
std::string_view name_of(Failure failure);
Failure failure_of(Refusal refusal);
// For the user: what was tried, with whom, what happened, what to do.
Error explain(Failure failure, const Card& peer);

namespace event {

// Something is to be sent to a peer that has no route.
struct Wanted {
  PeerId peer = kNone;
};
struct Datagram {
  std::string_view bytes;
};
struct Timer {};  // the time of action::WakeMe has come; early ones do nothing
// Answers.
struct QpMade {
  QpId qp = kNone;
  std::uint32_t number = 0;  // the device's
  std::uint32_t psn = 0;     // where it begins; of what was opened: nothing
};
struct QpConnected {
  QpId qp = kNone;
};
struct QpFailed {
  QpId qp = kNone;
  bool gone = false;  // of OpenReceiveQp: there is no such queue pair
};
// All that was posted for the peer is complete, without an error (else: Broken).
struct Drained {
  PeerId peer = kNone;
};
// The queue pair is in the error state: a send has failed, or the device says so.
struct Broken {
  QpId qp = kNone;
};
struct PeerEnded {
  PeerId peer = kNone;
};
struct NodeLost {
  NodeKey node = 0;
};
// This process is about to end. Answered by action::Left.
struct Leave {};

}  // namespace event

using Event = std::variant<event::Wanted, event::Datagram, event::Timer, event::QpMade,
                           event::QpConnected, event::QpFailed, event::Drained, event::Broken,
                           event::PeerEnded, event::NodeLost, event::Leave>;

namespace action {

struct SendDatagram {
  PeerId peer = kNone;
  UdAddress to;
  std::string bytes;
};
// XRC_SEND, or RC with the shared receive queue; up to INIT. QpMade or QpFailed.
struct CreateSendQp {
  QpId qp = kNone;
};
// From INIT to RTS. QpConnected or QpFailed.
struct ConnectQp {
  QpId qp = kNone;
  UdAddress at;
  QpEnd end;
};
// XRC_RECV, up to RTR. QpMade or QpFailed.
struct CreateReceiveQp {
  QpId qp = kNone;
  UdAddress at;
  QpEnd end;
};
// One that another process of this node has made, by its number. QpMade or QpFailed.
struct OpenReceiveQp {
  QpId qp = kNone;
  std::uint32_t number = 0;
};
// Destroy it, or give back what was opened. Its QpId may be used again afterwards.
struct CloseQp {
  QpId qp = kNone;
};
// There is a route: what waits can be sent.
struct Ready {
  PeerId peer = kNone;
};
// There is no route any more. Say Drained when all that was posted for the peer is complete; who
// has more to send says Wanted.
struct Drain {
  PeerId peer = kNone;
};
// There is no route any more, and what was posted for the peer and is not complete may have arrived
// or not: to be sent again, with its numbers, after Wanted and Ready.
struct Lost {
  PeerId peer = kNone;
};
// What waits for the peer fails. (Wanted tries anew, unless it has ended.)
struct Failed {
  PeerId peer = kNone;
  Failure why = Failure::ended;
};
// The latest one counts.
struct WakeMe {
  Time at{};
};
// Nothing is left: after event::Leave.
struct Left {};

}  // namespace action

using Action =
    std::variant<action::SendDatagram, action::CreateSendQp, action::ConnectQp,
                 action::CreateReceiveQp, action::OpenReceiveQp, action::CloseQp, action::Ready,
                 action::Drain, action::Lost, action::Failed, action::WakeMe, action::Left>;

}  // namespace scela::channel::connect
