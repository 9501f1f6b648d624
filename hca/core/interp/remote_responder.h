// The responder of messages from other nodes. A responder is the receiving half of a queue pair, a
// requester the sending half. It executes the frames of requesters, and sends the answers and the
// data of reads.
//
// Frames that must wait are in RequestInbox. The receiver of frames and QueueRunner use it. The
// interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <span>

#include "hca/core/frames/frame_sender.h"
#include "hca/core/frames/part_sender.h"
#include "hca/core/frames/request_inbox.h"
#include "hca/core/interp/datagram_receiver.h"
#include "hca/core/interp/responder.h"
#include "hca/core/model/object_tables.h"
#include "hca/core/queues/scheduler.h"
#include "hca/core/transfer/memory_transfers.h"
#include "hca/core/transfer/transfer_steps.h"

namespace scela::hca {

// Passes the parts of messages to Responder or DatagramReceiver, and sends the results back.
class RemoteResponder {
 public:
  // All references must live as long as the responder.
  RemoteResponder(const ObjectTables& objects, Scheduler& scheduler, TransferSteps& steps,
                  MemoryTransfers& memory, FrameSender& frames, RequestInbox& inbox,
                  Responder& responder, DatagramReceiver& datagrams)
      : objects_(objects),
        scheduler_(scheduler),
        steps_(steps),
        memory_(memory),
        frames_(frames),
        inbox_(inbox),
        responder_(responder),
        datagrams_(datagrams) {}

  // Executes a frame with a part of a message, keeps it in the inbox, or drops it if there is no
  // room. `header` is the one at the start of `frame`; header_of() has accepted it. `node` is the
  // sender's number; 0 stands for a late datagram of this node.
  void receive(std::uint32_t node, const FrameHeader& header, std::span<const std::byte> frame);
  // Sends the data of the reads that the queue pair is answering, then executes the frames that
  // wait behind them. Returns true if there is more to do at once.
  bool run_waiting(Qp& qp);

 private:
  // Executes a part of a message, and answers it if its requester expects an answer.
  void execute(std::uint32_t node, std::span<const std::byte> frame);
  // Sends the verdict to the requester. If only a part of the message was accepted, sends a report
  // of progress instead, if one is due.
  void send_verdict(const Incoming& incoming, std::uint32_t qpn, const Verdict& verdict);
  // Executes the frames of the inbox until one must wait. Then requests those for which there was
  // no room.
  void run_inbox(Qp& qp);
  // Sends the next part of the data of `read`, an entry of Qp::answering. After `no_memory` the
  // refusal was sent and `read` is invalid.
  SendResult send_data(Qp& qp, Answering& read);

  const ObjectTables& objects_;
  Scheduler& scheduler_;
  TransferSteps& steps_;
  MemoryTransfers& memory_;
  FrameSender& frames_;
  RequestInbox& inbox_;
  Responder& responder_;
  DatagramReceiver& datagrams_;
};

}  // namespace scela::hca
