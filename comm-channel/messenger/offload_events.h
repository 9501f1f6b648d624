// Carries out what the offloader asks for: sends messages about offloaded channels, and ends the
// operations of messages that went by them. An offloaded channel is a queue pair of one tag, on
// which the adapter sends and receives without the program. The messenger owns this object.
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
#include "comm-channel/messenger/match_queue.h"
#include "comm-channel/messenger/send_queue.h"

namespace scela::channel {

class OffloadEvents final : public OffloadUser {
 public:
  // The references must outlive this object. They are not used before the offloader calls. `user`
  // learns of ranks with which nothing can go on, by lost().
  OffloadEvents(Peers& peers, Transports& transports, SendQueue& send_queue,
                ReceiveQueue& receive_queue, ReceiveCompletion& completion, NetworkUser& user);

  // Sends a message about a channel to the rank, with this end of its queue pair unless it is null.
  void say(int rank, const ControlMessage& saying, const LaneEnd* end) override;
  // Completes a send: the adapter has sent its bytes, and the buffer is free.
  void offloaded(Operation& send) override;
  // Completes a receive of this message. Its bytes are in the receive's buffer, or at `own`, from
  // which they are copied.
  void came(Operation& receive, const Envelope& envelope, const std::byte* own) override;
  // Moves a message into the receive that got it. The message came before the receive and not by a
  // channel.
  void matched(Operation& receive, Unexpected& message) override;
  // Completes a receive with Code::cancelled.
  void cancelled(Operation& receive) override;
  // Ends an operation: its memory cannot be registered.
  void refused(Operation& operation, int rank, const Error& why) override;
  // Ends an operation, because its peer has ended.
  void peer_gone(Operation& operation, int rank) override;
  // Loses the rank, because nothing about channels can be sent to it.
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
