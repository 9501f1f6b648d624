// The turn of a queue pair. It handles the frames of other nodes that wait, and executes requests
// of its send queue for a bounded time. If it is in error, it flushes them.
//
// The engine calls it for each queue pair that the Scheduler names. The interpreter's one thread
// uses it.
#pragma once

#include "hca/core/interp/remote_requester.h"
#include "hca/core/interp/remote_responder.h"
#include "hca/core/interp/requester.h"
#include "hca/core/interp/send_window.h"
#include "hca/core/queues/fault_injector.h"
#include "hca/core/queues/request_trace.h"

namespace scela::hca {

// Runs queue pairs, through the parts that send and receive.
class QueueRunner {
 public:
  // All references must live as long as the runner.
  QueueRunner(Scheduler& scheduler, RequestTrace& trace, FaultInjector& faults,
              TransferSteps& steps, QpShutdown& shutdown, SendWindow& window, Requester& requester,
              RemoteRequester& remote_requester, RemoteResponder& remote_responder)
      : scheduler_(scheduler),
        trace_(trace),
        faults_(faults),
        steps_(steps),
        shutdown_(shutdown),
        window_(window),
        requester_(requester),
        remote_requester_(remote_requester),
        remote_responder_(remote_responder) {}

  // Runs the queue pair for one turn. Returns true if it has more to do at once, and must be
  // scheduled again.
  bool run(Qp& qp);

 private:
  // The next action of a queue pair after a part of a message was sent, or could not be sent.
  enum class Next : std::uint8_t {
    go_on,  // sends the next part
    wait,   // waits for an event, or is done
    again,  // goes on in its next turn
  };
  // Ends the queue pair's wait for a time (Qp::until), which has come. Returns true if it sends
  // again, and false if it has failed because it got no answer and has no retries left.
  bool end_wait(Qp& qp);
  // Sends requests until the turn is over. Returns `wait` or `again`.
  Next send_requests(Qp& qp);
  // Makes sure that the window, the requests that are sent and not acknowledged, has one that is
  // not sent whole. If need be, takes the next request from the send queue. Returns `go_on` if
  // there is one, otherwise when to come back.
  Next begin_request(Qp& qp);
  // Sends the next part; `bytes` grows by its size in bytes.
  Next send_part(Qp& qp, std::uint64_t& bytes);

  Scheduler& scheduler_;
  RequestTrace& trace_;
  FaultInjector& faults_;
  TransferSteps& steps_;
  QpShutdown& shutdown_;
  SendWindow& window_;
  Requester& requester_;
  RemoteRequester& remote_requester_;
  RemoteResponder& remote_responder_;
};

}  // namespace scela::hca
