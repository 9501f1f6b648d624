// The messages of a rank to itself, which go through the matcher and no transport. The messenger
// uses it (comm-channel/messenger/messenger.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstdint>

#include "comm-channel/core/match/matching.h"
#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/peers.h"
#include "comm-channel/engine/pending_transfers.h"
#include "comm-channel/engine/receive_completion.h"
#include "comm-channel/engine/unexpected_store.h"
#include "comm-channel/include/scela/channel.h"

namespace scela::channel {

class Loopback {
 public:
  // The references must outlive this object.
  Loopback(const ChannelOptions& options, Peers& peers, Matcher& matcher,
           UnexpectedStore& unexpected, PendingTransfers& pending, ReceiveCompletion& completion);

  // Begins a send to this rank. It is complete afterwards, unless it is synchronous or long, and no
  // receive waits for it.
  void send(Operation& send);
  // Copies the bytes of a send to this rank into the receive that got it, and completes both. `rts`
  // is the send's offer, and `number` is its number in PendingTransfers.
  void receive(Operation& receive, const Envelope& envelope, const Rts& rts, std::uint32_t number);
  // Ends a send that waits for its receive: it was matched, or `outcome` says why not. Does nothing
  // if there is no such send.
  void acknowledge(std::uint32_t number, Outcome outcome);

 private:
  const ChannelOptions& options_;
  Peers& peers_;
  Matcher& matcher_;
  UnexpectedStore& unexpected_;
  PendingTransfers& pending_;
  ReceiveCompletion& completion_;
};

}  // namespace scela::channel
