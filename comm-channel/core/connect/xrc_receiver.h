// The receiving side of XRC: the receive queue pairs of this node that peers send through. Machine
// (connection_machine.h) owns one object and hands it the requests of peers and the shell's
// answers.
//
// A *target* (XrcTarget) is what this process holds for one peer: a receive queue pair that it has
// made for the peer's link (`connect`), or that another process of this node has made and this one
// has opened (`join`). With Mode::owned only its maker holds it. The numbers of a peer's requests
// grow, so a late request is recognized, and a repeated one is answered again.
//
// Parameters named `peer` are known to the peer table. The class is a plain value that works on a
// LocalEnd, and not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "comm-channel/core/connect/connection_events.h"
#include "comm-channel/core/connect/handshake.h"
#include "comm-channel/core/connect/link_state.h"
#include "comm-channel/core/connect/local_end.h"
#include "comm-channel/core/connect/peer_table.h"

namespace scela::channel::connect {

class XrcReceiver : public LocalEndUser {
 public:
  explicit XrcReceiver(LocalEnd& end) : LocalEndUser(end) {}

  // Makes place for the peers that the peer table knows.
  void grow() { targets_.resize(local().peers().size()); }
  // Forgets the requests of a peer that has started anew. Its end was reported before.
  void forget(PeerId peer) { targets_[peer] = {}; }

  // Handles the peer's request for a target (`connect` or `join`): makes or opens it, answers
  // again, or refuses. A late request is ignored.
  void on_request(PeerId peer, const Handshake& shake);
  // Lets go of the target, because the peer has closed its requests up to `number`, and answers
  // `closed`.
  void on_close(PeerId peer, std::uint32_t number);
  // Take the shell's answers to actions on the queue pair of a target: accept or refuse the request
  // of the peer. `gone`: the queue pair to be opened no longer exists.
  void on_qp_made(PeerId peer, const event::QpMade& made);
  void on_qp_failed(PeerId peer, bool gone);
  // Lets go of the target. Requests up to its number are void from then on. Sends no datagram.
  void release(PeerId peer);
  // Asks all peers that send to this process to let go, because this process ends.
  void leave();
  // Sends `leave` to the peer again.
  void resend(PeerId peer);

  XrcTargetState state_of(PeerId peer) const { return targets_[peer].state; }
  // Returns whether a target is left that is not in XrcTargetState::none.
  bool holds_any() const;
  // Writes the state that decides what this part does next (Machine::snapshot()).
  void snapshot(ByteWriter& out) const;

 private:
  // `number` is that of the peer's request. Requests numbered up to `voided` are void.
  struct XrcTarget {
    XrcTargetState state = XrcTargetState::none;
    bool made = false;  // this process made it, not opened it
    std::uint32_t number = 0, voided = 0;
    std::uint32_t qpn = 0;  // the device's number of the queue pair
    QpId qp = kNone;        // kNone: another holds it (Mode::owned)
  };
  // Replaces the target by that of a new request: creates, opens or only notes a queue pair.
  void replace(PeerId peer, const Handshake& shake);
  // Answers the request of the target with `accept` or `joined`.
  void answer(PeerId peer);

  std::vector<XrcTarget> targets_;  // by PeerId
};

}  // namespace scela::channel::connect
