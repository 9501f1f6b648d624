// The window of a queue pair: the send requests that were read and are not completed (Qp::window),
// oldest first.
//
// It reads requests from the send queue, numbers them, and completes them in order; a request that
// fails ends the queue pair's sending. To settle a request means to set its status: the request is
// over, and completes after those before it. A round begins each time that the queue pair sends
// again from its oldest request.
//
// Requester and RemoteRequester send what is in the window and report the answers here. The
// interpreter's one thread uses it.
#pragma once

#include <cstdint>

#include "hca/core/interp/qp_shutdown.h"
#include "hca/core/queues/completion_writer.h"
#include "hca/core/queues/fault_injector.h"
#include "hca/core/queues/message_part.h"
#include "hca/core/queues/request_trace.h"
#include "hca/core/queues/scheduler.h"
#include "hca/core/transfer/transfer_steps.h"

namespace scela::hca {

// Fills and empties the windows of all queue pairs.
class SendWindow {
 public:
  // All references must live as long as this object.
  SendWindow(Scheduler& scheduler, CompletionWriter& completions, RequestTrace& trace,
             FaultInjector& faults, TransferSteps& steps, QpShutdown& shutdown)
      : scheduler_(scheduler),
        completions_(completions),
        trace_(trace),
        faults_(faults),
        steps_(steps),
        shutdown_(shutdown) {}

  // Returns true if another request may be read from the send queue. It may not if the queue pair
  // is in SQD or the window is full. It may not either if the newest request is over but cannot
  // complete yet.
  bool may_begin(const Qp& qp) const;
  // Reads the next request into the window. Returns false if there is none, if it is wrong and was
  // settled with an error, or if the engine dies (Faults::dies_after).
  bool begin(Qp& qp);
  // Returns true if the request at index Qp::sent of the window must wait for answers to earlier
  // ones. The reason is a fence, or too many reads.
  bool must_wait(const Qp& qp) const;

  // Applies the responder's verdict to the oldest request: it is settled, or is sent again later.
  void apply(Qp& qp, const Verdict& verdict);
  // Begins a new round: the requests are sent again from the oldest on, `after` nanoseconds from
  // now. If `unanswered` is true, that is a transport timeout, which costs a retry when it ends.
  void try_again(Qp& qp, Moment after, bool unanswered);
  // Sets the status of the request `out`, which is over. It completes once the requests before it
  // have; so `out` may be invalid afterwards.
  void settle(Qp& qp, Outgoing& out, Status status);

 private:
  // Completes the oldest requests that are over. After a failed one a reliable queue pair enters
  // the error state, an unreliable one SQE, and the rest is flushed.
  void drain(Qp& qp);

  Scheduler& scheduler_;
  CompletionWriter& completions_;
  RequestTrace& trace_;
  FaultInjector& faults_;
  TransferSteps& steps_;
  QpShutdown& shutdown_;
};

// Returns true if the request is a task for the queue itself, which sends no message
// (hca/include/scela/verbs_ext.h).
constexpr bool is_management(Opcode opcode) {
  return static_cast<std::uint32_t>(opcode) >= 0x100;
}

}  // namespace scela::hca
