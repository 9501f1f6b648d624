// The receiving end of queues: how a message gets a receive request, and how that completes.
//
// The Responder takes requests here, from a queue pair's own queue or from its SRQ, and QpShutdown
// gives them back. A queue pair has at most one request that a message is filling (Qp::received).
// The interpreter's one thread uses it.
#pragma once

#include <cstdint>

#include "hca/core/model/object_tables.h"
#include "hca/core/queues/completion_writer.h"
#include "hca/core/queues/message_part.h"

namespace scela::hca {

// Takes, completes and returns receive requests for queue pairs.
class ReceiveQueue {
 public:
  // Both references must live as long as this object.
  ReceiveQueue(ObjectTables& objects, CompletionWriter& completions)
      : objects_(objects), completions_(completions) {}

  // Makes Qp::received the next receive request, unless a message is filling one already. `srq` is
  // null if the queue pair has a receive queue of its own. Returns false if there is no request.
  bool begin_receive(Qp& qp, Srq* srq);
  // Ends Qp::received and reports its completion with this status. `incoming` is the last part of
  // the message.
  void finish_receive(Qp& qp, const Incoming& incoming, Status status);
  // Called when the queue pair is destroyed or reset. Gives the receive request that it is filling
  // back to the SRQ, where it comes first. A request from the queue pair's own queue is dropped.
  void return_receive(Qp& qp);
  // Completes the request that is being filled, and all requests of the queue pair's own receive
  // queue, with the status `flushed`.
  void flush(Qp& qp);

 private:
  ObjectTables& objects_;
  CompletionWriter& completions_;
  std::uint64_t begun_ = 0;  // receive requests; numbers them (Receiving::taking)
};

}  // namespace scela::hca
