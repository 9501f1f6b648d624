// The responder of messages from other nodes: it executes the frames of their requesters, and sends
// the answers and the data of reads.
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

  // Receives a frame with a part of a message, which header_of() has accepted: executes it, keeps
  // it in the inbox, or turns it away if there is no room. The node 0 stands for a late datagram of
  // this node.
  void receive(std::uint32_t node, const FrameHeader& header, std::span<const std::byte> frame);
  // Sends the data of reads, then executes the frames that wait behind them. Returns true if there
  // is more to do at once.
  bool run_waiting(Qp& qp);

 private:
  // Executes a part of a message, and answers it if its requester expects an answer.
  void execute(std::uint32_t node, std::span<const std::byte> frame);
  // Sends the verdict, or reports progress if only a part of the message was accepted.
  void send_verdict(const Incoming& incoming, std::uint32_t qpn, const Verdict& verdict);
  // Executes the frames of the inbox until one must wait, then requests those that were turned
  // away.
  void run_inbox(Qp& qp);
  // Sends the next part of a read's data. After `no_memory` the refusal was sent and `read` is
  // invalid.
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
