// The requester is the sending half of a queue pair. It executes the requests of the window
// (Qp::window), oldest first, one part of a message in each call.
//
// QueueRunner calls it in the queue pair's turn. Messages to this node go to the Responder at once;
// others go through RemoteRequester and DatagramSender. A step is such a call: it is held, and
// later taken again, if it must wait for a process's memory (hca/core/model/transfer.h). The
// interpreter's one thread uses it.
#pragma once

#include "hca/core/interp/datagram_sender.h"
#include "hca/core/interp/management_tasks.h"
#include "hca/core/interp/remote_requester.h"
#include "hca/core/interp/responder.h"
#include "hca/core/interp/send_window.h"
#include "hca/core/model/local_ports.h"
#include "hca/core/model/object_tables.h"
#include "hca/core/transfer/payload_copier.h"
#include "hca/core/transfer/transfer_steps.h"

namespace scela::hca {

// Executes the send requests of all queue pairs.
class Requester {
 public:
  // All references must live as long as the requester.
  Requester(const ObjectTables& objects, const LocalPorts& ports, Scheduler& scheduler,
            TransferSteps& steps, PayloadCopier& payloads, SendWindow& window,
            ManagementTasks& tasks, DatagramSender& datagrams, Responder& responder,
            RemoteRequester& remote)
      : objects_(objects),
        ports_(ports),
        scheduler_(scheduler),
        steps_(steps),
        payloads_(payloads),
        window_(window),
        tasks_(tasks),
        datagrams_(datagrams),
        responder_(responder),
        remote_(remote) {}

  // Sends the next part of the oldest request that is not sent whole. If that request is a task,
  // executes it. It must be in the window. Returns true if the queue pair can go on at once, and
  // false if it waits or is in error. The step Qp::sending must be the present one (TransferSteps).
  bool send_next(Qp& qp);
  // Called if the step Qp::sending is held. Returns false if the step goes on waiting. Returns true
  // if it has waited too long for another process's memory. The request then fails as if
  // unanswered, or counts as sent if the queue pair is unreliable.
  bool end_long_wait(Qp& qp);

 private:
  // Each executes `out`, or sends its next part: a task, a datagram, or a message to a queue pair
  // of this node. They return as send_next() does.
  bool run_task(Qp& qp, Outgoing& out);
  bool send_datagram(Qp& qp, Outgoing& out);
  bool send_here(Qp& qp, Outgoing& out);
  // Stores the old value that an atomic operation found (Outgoing::before) in the request's buffer.
  Transfer store_result(const Qp& qp, Outgoing& out, const Incoming& incoming);

  const ObjectTables& objects_;
  const LocalPorts& ports_;
  Scheduler& scheduler_;
  TransferSteps& steps_;
  PayloadCopier& payloads_;
  SendWindow& window_;
  ManagementTasks& tasks_;
  DatagramSender& datagrams_;
  Responder& responder_;
  RemoteRequester& remote_;
};

}  // namespace scela::hca
