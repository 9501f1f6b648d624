// Ends the work of a queue pair: when it enters the error state or RESET, and before it is
// destroyed.
//
// Requesters and responders, the two halves of queue pairs, report failures here, and QpControl
// carries out the changes that a process asks for. The interpreter's one thread uses it.
#pragma once

#include "hca/core/frames/request_inbox.h"
#include "hca/core/queues/completion_writer.h"
#include "hca/core/queues/receive_queue.h"
#include "hca/core/queues/scheduler.h"
#include "hca/core/transfer/transfer_steps.h"

namespace scela::hca {

// Drops or flushes the requests of queue pairs. A flushed request completes with the status
// `flushed`.
class QpShutdown {
 public:
  // All references must live as long as this object.
  QpShutdown(Scheduler& scheduler, CompletionWriter& completions, ReceiveQueue& receives,
             TransferSteps& steps, RequestInbox& inbox)
      : scheduler_(scheduler),
        completions_(completions),
        receives_(receives),
        steps_(steps),
        inbox_(inbox) {}

  // Flushes all send requests, and in the error state the receive requests as well.
  void flush(Qp& qp);
  // Sets the error state and flushes all requests. If the queue pair uses an SRQ, its process gets
  // the event last_wqe_reached. Does nothing if the queue pair is in that state.
  void enter_error(Qp& qp);
  // Sets the RESET state and drops all requests without completions.
  void reset(Qp& qp);
  // Ends the work of a queue pair that is about to be destroyed, without completions.
  void stop(Qp& qp);

 private:
  // Flushes the send requests that were not read yet.
  void flush_sends(Qp& qp);

  Scheduler& scheduler_;
  CompletionWriter& completions_;
  ReceiveQueue& receives_;
  TransferSteps& steps_;
  RequestInbox& inbox_;
};

}  // namespace scela::hca
