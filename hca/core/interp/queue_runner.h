// The turn of a queue pair: it handles the frames that wait, executes requests of its send queue
// for a bounded time, or flushes them if it is in error.
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

  // Returns true if the queue pair has more to do at once.
  bool run(Qp& qp);

 private:
  // A queue pair does this after a part was sent, or after it could not be.
  enum class Next : std::uint8_t {
    go_on,  // the next part
    wait,   // for an event, or for nothing
    again,  // the rest in its next turn
  };
  // Ends a wait for a time (Qp::until). Returns false if the time has not come, or if the queue
  // pair has failed because it got no answer.
  bool end_wait(Qp& qp);
  // Sends requests until the turn is over. Returns wait or again.
  Next send_requests(Qp& qp);
  // Makes sure that the window has a request that is not sent whole.
  Next begin_request(Qp& qp);
  // Sends the next part; `bytes` grows by its size.
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
