// The requester of messages to other nodes: it sends their parts as frames and executes the answers
// (hca/core/wire/wire.h).
//
// Answers that a process's memory does not accept yet wait in Qp::arrived. Requester and the
// receiver of frames use it. The interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <span>

#include "hca/core/frames/frame_sender.h"
#include "hca/core/frames/part_sender.h"
#include "hca/core/interp/send_window.h"
#include "hca/core/model/object_tables.h"
#include "hca/core/queues/scheduler.h"
#include "hca/core/transfer/kept_bytes.h"
#include "hca/core/transfer/payload_copier.h"
#include "hca/core/transfer/transfer_steps.h"

namespace scela::hca {

class RemoteRequester {
 public:
  // All references must live as long as the requester.
  RemoteRequester(const ObjectTables& objects, Scheduler& scheduler, KeptBytes& kept,
                  TransferSteps& steps, PayloadCopier& payloads, FrameSender& frames,
                  PartSender& parts, SendWindow& window)
      : objects_(objects),
        scheduler_(scheduler),
        kept_(kept),
        steps_(steps),
        payloads_(payloads),
        frames_(frames),
        parts_(parts),
        window_(window) {}

  // Returns false while there is no room for answers; the queue pair runs again once there is.
  bool may_send(Qp& qp);
  // Sends the next part of `out`. Returns true if the queue pair can go on at once, and false if it
  // waits or is in error.
  bool send_next(Qp& qp, Outgoing& out);

  // Receives a frame that is no request, from the node of the peer. Returns false for a frame that
  // no engine sends; the connection is then dropped.
  bool receive(Qp& qp, const FrameHeader& header, std::span<const std::byte> frame);
  // Executes the answers that wait, until one must wait again.
  void run_waiting(Qp& qp);

  // The connection to the peer's node has ended: answers on their way count as lost.
  void drop_answers(Qp& qp);
  // Called after that: what was sent and not answered is sent again, after the timeout.
  void repeat_unanswered(Qp& qp);

 private:
  // The peer reports how much of a message, or of a read, it has accepted.
  void on_message_progress(Qp& qp, const FrameHeader& header);
  void on_read_progress(Qp& qp, const FrameHeader& header);
  // Executes an answer, or drops it if the queue pair does not wait for it. Returns as receive()
  // does.
  bool execute(Qp& qp, const FrameHeader& header, std::span<const std::byte> frame);
  // Executes the verdict on the oldest request. Returns as receive() does.
  bool execute_verdict(Qp& qp, const FrameHeader& header);
  // Stores `bytes` of a read, or the result of an atomic operation, in the oldest request's buffer.
  void store_data(Qp& qp, const FrameHeader& header, std::span<const std::byte> bytes);
  // Begins a new round because the responder has turned frames away (FrameKind::again).
  void send_again(Qp& qp, const FrameHeader& header);
  // Keeps an answer in Qp::arrived until the owner's memory has accepted those before it. If there
  // is no room, a new round begins later.
  void keep(Qp& qp, std::span<const std::byte> frame);

  const ObjectTables& objects_;
  Scheduler& scheduler_;
  KeptBytes& kept_;
  TransferSteps& steps_;
  PayloadCopier& payloads_;
  FrameSender& frames_;
  PartSender& parts_;
  SendWindow& window_;
};

}  // namespace scela::hca
