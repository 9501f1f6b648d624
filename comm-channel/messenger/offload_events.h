// Carries out what the offloader asks for: sends messages about channels, and ends the operations
// of messages that went by channels. The messenger owns it; the offloader calls it
// (comm-channel/engine/offloader.h has the contract).
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <string>

#include "comm-channel/engine/network.h"
#include "comm-channel/engine/offloader.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/peers.h"
#include "comm-channel/engine/receive_completion.h"
#include "comm-channel/engine/transports.h"
#include "comm-channel/messenger/receive_queue.h"
#include "comm-channel/messenger/send_queue.h"

namespace scela::channel {

class OffloadEvents final : public OffloadUser {
 public:
  // The references must outlive this object. They are not used before the offloader calls. `user`
  // learns of ranks with which nothing can go on, by lost().
  OffloadEvents(Peers& peers, Transports& transports, SendQueue& send_queue,
                ReceiveQueue& receive_queue, ReceiveCompletion& completion, NetworkUser& user);

  void say(int rank, const ControlMessage& saying, const LaneEnd* end) override;
  void offloaded(Operation& send) override;
  void came(Operation& receive, const Envelope& envelope, const std::byte* own) override;
  void matched(Operation& receive, Unexpected& message) override;
  void cancelled(Operation& receive) override;
  void refused(Operation& operation, int rank, const Error& why) override;
  void peer_gone(Operation& operation, int rank) override;
  void unreachable(int rank, const std::string& why) override;

 private:
  Peers& peers_;
  Transports& transports_;
  SendQueue& send_queue_;
  ReceiveQueue& receive_queue_;
  ReceiveCompletion& completion_;
  NetworkUser& user_;
};

}  // namespace scela::channel
