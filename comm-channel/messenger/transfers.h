// The operations that need further messages between their two sides: rendezvous transfers, and
// synchronous sends. Passes each event to the side that it concerns. The messenger uses it
// (comm-channel/messenger/messenger.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm-channel/core/match/envelope.h"
#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/peers.h"
#include "comm-channel/engine/pending_transfers.h"
#include "comm-channel/engine/transports.h"
#include "comm-channel/messenger/loopback.h"
#include "comm-channel/messenger/rendezvous_receiver.h"
#include "comm-channel/messenger/rendezvous_sender.h"
#include "comm-channel/messenger/send_queue.h"

namespace scela::channel {

class Transfers {
 public:
  // The references must outlive this object.
  Transfers(Peers& peers, Transports& transports, SendQueue& send_queue, PendingTransfers& pending,
            RendezvousSender& sender, RendezvousReceiver& receiver, Loopback& loopback);

  // Begins to receive a message that a rank, perhaps this one, has offered. `theirs` is the
  // sender's number of the transfer. The receive may be complete afterwards.
  void accept(Operation& receive, const Envelope& envelope, const Rts& rts, std::uint32_t theirs);
  // Reports to the rank that the message of its send with this number was matched, or why it was
  // not. The rank may be this one.
  void acknowledge(int rank, std::uint32_t number, Outcome outcome = Outcome::none);
  // Handles FIN: hands it to the transfer that the header names by its number, or completes a
  // synchronous send. Messages that are invalid, or too late, are ignored.
  void on_fin(int rank, const Header& header, std::span<const std::byte> payload);
  // Handles the end of an RDMA write or read of the operation's bytes; it may never have begun.
  void on_moved(Operation& operation, Outcome outcome);
  // Ends all transfers between this rank and one that has ended, with Code::peer_ended.
  void end_all_with(int rank);

 private:
  Peers& peers_;
  Transports& transports_;
  SendQueue& send_queue_;
  PendingTransfers& pending_;
  RendezvousSender& sender_;
  RendezvousReceiver& receiver_;
  Loopback& loopback_;
};

}  // namespace scela::channel
