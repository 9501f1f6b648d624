// The requester (the sending half of a queue pair) of messages to other nodes. It sends their parts
// as frames and executes the answers (hca/core/wire/engine_frame.h).
//
// Answers that a process's memory does not accept yet wait in Qp::arrived. Requester and the
// receiver of frames use it. A new round means that the requester sends again from its oldest
// unanswered request. The interpreter's one thread uses it.
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

// Sends the requests of queue pairs that are connected to another node.
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

  // Returns true if the queue pair may send requests. Returns false while there is no room for the
  // answers; the queue pair runs again once there is.
  bool may_send(Qp& qp);
  // Sends the next part of the request `out`. Returns true if the queue pair can go on at once, and
  // false if it waits or is in error.
  bool send_next(Qp& qp, Outgoing& out);

  // Executes a frame that is no request: an answer, data, or a report of progress. It came from the
  // node of the queue pair's peer. `header` is the one at the start of `frame`. Returns false for a
  // frame that no engine sends; the connection must then be dropped.
  bool receive(Qp& qp, const FrameHeader& header, std::span<const std::byte> frame);
  // Executes the answers in Qp::arrived, until one must wait again.
  void run_waiting(Qp& qp);

  // Drops the answers in Qp::arrived: the connection to the peer's node has ended.
  void drop_answers(Qp& qp);
  // Called after drop_answers(): a reliable queue pair sends again what was not answered, after its
  // timeout.
  void repeat_unanswered(Qp& qp);

 private:
  // Handle the peer's report of how much of a message, or of a read's data, it has accepted. A
  // sender that waits because it is kMaxAhead bytes ahead goes on.
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
