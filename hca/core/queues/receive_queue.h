// The receiving end of queues: how a message gets a receive request, and how that completes.
//
// The Responder takes requests here, from a queue pair's own queue or from its SRQ, and the part
// that shuts queue pairs down gives them back. The interpreter's one thread uses it.
#pragma once

#include <cstdint>

#include "hca/core/model/object_tables.h"
#include "hca/core/queues/completion_writer.h"
#include "hca/core/queues/message_part.h"

namespace scela::hca {

class ReceiveQueue {
 public:
  // Both references must live as long as this object.
  ReceiveQueue(ObjectTables& objects, CompletionWriter& completions)
      : objects_(objects), completions_(completions) {}

  // Reads the next receive request into Qp::received, unless a message is filling one. `srq` is
  // null if the queue pair has a receive queue of its own. Returns false if there is no request.
  bool begin_receive(Qp& qp, Srq* srq);
  // Reports the completion of Qp::received, which is over.
  void finish_receive(Qp& qp, const Incoming& incoming, Status status);
  // Returns the receive request that the queue pair is filling to its SRQ: the queue pair is
  // destroyed or reset. One from its own receive queue is dropped.
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
