// The sender's side of messages that are not sent at once: carries out the steps that SendTransfer
// decides (comm-channel/core/protocol/rendezvous.h). The messenger uses it for sends that are too
// long to be eager (comm-channel/messenger/send_router.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm-channel/core/protocol/rendezvous.h"
#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/guarded_copy.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/peers.h"
#include "comm-channel/engine/pending_transfers.h"
#include "comm-channel/engine/transports.h"
#include "comm-channel/messenger/send_queue.h"

namespace scela::channel {

class RendezvousSender final : public PieceSender {
 public:
  // The references must outlive this object. They are not used before a transfer begins.
  RendezvousSender(Peers& peers, Transports& transports, SendQueue& send_queue,
                   PendingTransfers& pending, GuardedCopy& guarded_copy);

  // Gets what the transfer needs: a number, and registered memory if the receiver is on another
  // node. Returns false if that is not to be had: the send has then ended with an error.
  bool prepare(Operation& send);
  // Offers a prepared message to its receiver.
  void offer(Operation& send);

  // These hand an event to the SendTransfer of an operation, and carry out its steps. The operation
  // may be complete afterwards.
  //
  // Handles the CTS of the rank for the send that the header names by its number. Messages that are
  // invalid, or too late, are ignored.
  void on_cts(int rank, const Header& header, std::span<const std::byte> payload);
  // Handles the receiver's FIN.
  void on_fin(Operation& send, const Fin& fin);
  // Handles the end of the RDMA write, with its result.
  void on_written(Operation& send, Outcome outcome);
  // Handles the end of the receiver.
  void on_peer_end(Operation& send);

  bool send_pieces(Operation& send, const Header& header) override;

 private:
  // Carries out the steps, in their order.
  void carry_out(Operation& send, const Steps& steps);
  void send_rts(Operation& send);
  // Gives the buffer back to the program, with the outcome of the step.
  void finish(Operation& send, const Step& step);

  Peers& peers_;
  Transports& transports_;
  SendQueue& send_queue_;
  PendingTransfers& pending_;
  GuardedCopy& guarded_copy_;
  std::vector<std::byte> piece_;  // the next piece, behind its offset
};

}  // namespace scela::channel
