// The receiver's side of messages that are not sent at once: carries out the steps that
// ReceiveTransfer decides (comm-channel/core/protocol/rendezvous.h). The messenger uses it when an
// offer has met its receive (comm-channel/messenger/transfers.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm-channel/core/match/envelope.h"
#include "comm-channel/core/protocol/rendezvous.h"
#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/guarded_copy.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/peers.h"
#include "comm-channel/engine/pending_transfers.h"
#include "comm-channel/engine/receive_completion.h"
#include "comm-channel/engine/transports.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/messenger/send_queue.h"

namespace scela::channel {

class RendezvousReceiver {
 public:
  // The references must outlive this object.
  RendezvousReceiver(const ChannelOptions& options, Peers& peers, Transports& transports,
                     SendQueue& send_queue, PendingTransfers& pending,
                     ReceiveCompletion& completion, GuardedCopy& guarded_copy);

  // Begins to receive an offered message of another rank; `theirs` is the sender's number of the
  // transfer. The receive may be complete afterwards.
  void accept(Operation& receive, const Envelope& envelope, const Rts& rts, std::uint32_t theirs);

  // These hand an event to the ReceiveTransfer of an operation, and carry out its steps. The
  // operation may be complete afterwards.
  //
  // Handles a piece of a message, which the header names by its number. Messages that are invalid,
  // or too late, are ignored.
  void on_piece(int rank, const Header& header, std::span<const std::byte> payload);
  // Handles the sender's FIN.
  void on_fin(Operation& receive, const Fin& fin);
  // Handles the end of the RDMA read, with its result.
  void on_read(Operation& receive, Outcome outcome);
  // Handles the end of the sender.
  void on_peer_end(Operation& receive);

 private:
  // Carries out the steps, in their order.
  void carry_out(Operation& receive, const Steps& steps);
  // Registers the part of the buffer that the message needs. Returns false if that is not possible.
  bool register_buffer(Operation& receive);
  void send_cts(Operation& receive, const Step& step);
  // Copies the bytes from the memory of a process of this node.
  void copy(Operation& receive, const Step& step);
  // Gives the buffer back to the program, with the outcome of the step.
  void finish(Operation& receive, const Step& step);

  const ChannelOptions& options_;
  Peers& peers_;
  Transports& transports_;
  SendQueue& send_queue_;
  PendingTransfers& pending_;
  ReceiveCompletion& completion_;
  GuardedCopy& guarded_copy_;
};

}  // namespace scela::channel
