// The window of a queue pair: the send requests that were read and are not completed
// (Qp::window), oldest first.
//
// It reads requests from the send queue, numbers them, and completes them in order; a request that
// fails ends the queue pair's sending. Requester and RemoteRequester send what is in the window and
// report the answers here. The interpreter's one thread uses it.
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

  // Returns whether another request may be read from the send queue. It may not if the queue pair
  // is in SQD, if the window is full, or if the newest request is over but cannot complete yet.
  bool may_begin(const Qp& qp) const;
  // Reads the next request into the window. Returns false if there is none, if it is wrong and was
  // settled with an error, or if the engine dies (Faults::dies_after).
  bool begin(Qp& qp);
  // Returns whether the request that is sent next must wait for answers to earlier ones: a fence,
  // or too many reads.
  bool must_wait(const Qp& qp) const;

  // Applies a verdict to the oldest request: it is settled or tried again.
  void apply(Qp& qp, const Verdict& verdict);
  // Begins a new round with the oldest request, `after` nanoseconds from now. If `unanswered`, that
  // is a transport timeout, which costs a retry.
  void try_again(Qp& qp, Moment after, bool unanswered);
  // The request is over. It completes once the requests before it have completed; so `out` may be
  // invalid afterwards.
  void settle(Qp& qp, Outgoing& out, Status status);

 private:
  // Completes the oldest requests that are over. After a failed one the queue pair enters the error
  // state (reliable) or SQE, and the rest is flushed.
  void drain(Qp& qp);

  Scheduler& scheduler_;
  CompletionWriter& completions_;
  RequestTrace& trace_;
  FaultInjector& faults_;
  TransferSteps& steps_;
  QpShutdown& shutdown_;
};

// Returns whether the request is one for the queue itself, which sends no message
// (hca/include/scela/verbs_ext.h).
constexpr bool is_management(Opcode opcode) {
  return static_cast<std::uint32_t>(opcode) >= 0x100;
}

}  // namespace scela::hca
