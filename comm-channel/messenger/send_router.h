// Chooses how the message of a send goes: to this rank itself, by an offloaded channel, eager, or
// by rendezvous. The messenger uses it (comm-channel/messenger/messenger.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>

#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/peers.h"
#include "comm-channel/engine/pending_transfers.h"
#include "comm-channel/engine/transports.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/messenger/loopback.h"
#include "comm-channel/messenger/offload_path.h"
#include "comm-channel/messenger/rendezvous_sender.h"
#include "comm-channel/messenger/send_queue.h"

namespace scela::channel {

class SendRouter {
 public:
  // The references must outlive this object.
  SendRouter(const ChannelOptions& options, Peers& peers, const Transports& transports,
             PendingTransfers& pending, SendQueue& send_queue, RendezvousSender& rendezvous,
             Loopback& loopback, OffloadPath& offload);

  // Starts a send in Phase::waiting. It may be complete at once.
  void begin(Operation& send);

 private:
  // Returns the most bytes that may be sent to the operation's peer without an offer.
  std::size_t eager_limit(const Operation& send) const;

  const ChannelOptions& options_;
  Peers& peers_;
  const Transports& transports_;
  PendingTransfers& pending_;
  SendQueue& send_queue_;
  RendezvousSender& rendezvous_;
  Loopback& loopback_;
  OffloadPath& offload_;
};

}  // namespace scela::channel
