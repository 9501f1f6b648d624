// The responder is the receiving half of a connected queue pair: it executes the messages of other
// queue pairs.
//
// Requesters, the sending halves, of this node call it directly, and RemoteResponder calls it for
// frames of other nodes; both get a verdict. The interpreter's one thread uses it.
#pragma once

#include <cstdint>
#include <optional>

#include "hca/core/interp/qp_shutdown.h"
#include "hca/core/model/object_tables.h"
#include "hca/core/queues/completion_writer.h"
#include "hca/core/queues/fault_injector.h"
#include "hca/core/queues/message_part.h"
#include "hca/core/queues/receive_queue.h"
#include "hca/core/queues/scheduler.h"
#include "hca/core/transfer/memory_transfers.h"
#include "hca/core/transfer/payload_copier.h"

namespace scela::hca {

// Executes messages for all connected queue pairs of this node.
class Responder {
 public:
  // All references must live as long as the responder.
  Responder(const ObjectTables& objects, Scheduler& scheduler, FaultInjector& faults,
            CompletionWriter& completions, ReceiveQueue& receives, TransferSteps& steps,
            MemoryTransfers& memory, PayloadCopier& payloads, QpShutdown& shutdown)
      : objects_(objects),
        scheduler_(scheduler),
        faults_(faults),
        completions_(completions),
        receives_(receives),
        steps_(steps),
        memory_(memory),
        payloads_(payloads),
        shutdown_(shutdown) {}

  // Executes a part of a message for the queue pair `qpn`, which need not exist. Returns the answer
  // for the requester (Verdict in hca/core/queues/message_part.h); `held` means that the call must
  // be repeated.
  Verdict respond(std::uint32_t qpn, const Incoming& incoming);
  // Refuses a message of `qp`'s peer: returns the verdict `refused` with `status`. A reliable queue
  // pair enters the error state, and its process gets the event `type`.
  Verdict refuse(Qp& qp, Status status, EventType type);

 private:
  // Answers a message that is not the expected one. One that was executed before gets its answer
  // again; any other gets `silent`.
  Verdict respond_again(Qp& qp, const Incoming& incoming);
  // Executes the part by its opcode, without a check of its sequence number.
  Verdict execute(Qp& qp, const Incoming& incoming);
  // Returns the verdict of an injected fault (Faults), or std::nullopt if none happens.
  std::optional<Verdict> draw_fault(const Qp& qp, const Incoming& incoming);
  // Called after a transfer to memory of `owner` has failed. Returns std::nullopt if that memory is
  // at fault, or else the verdict for the requester.
  std::optional<Verdict> fault_of_others(const Incoming& incoming, ProcessId owner);
  // These execute one kind of message. `srq` is null if the queue pair has a receive queue of its
  // own. Keys are checked against `pd`, which for XRC is that of the SRQ.
  Verdict receive_send(Qp& qp, const Incoming& incoming, Srq* srq);
  Verdict receive_write(Qp& qp, const Incoming& incoming, std::uint32_t pd, Srq* srq);
  Verdict receive_read(Qp& qp, const Incoming& incoming, std::uint32_t pd);
  Verdict receive_atomic(Qp& qp, const Incoming& incoming, std::uint32_t pd);

  const ObjectTables& objects_;
  Scheduler& scheduler_;
  FaultInjector& faults_;
  CompletionWriter& completions_;
  ReceiveQueue& receives_;
  TransferSteps& steps_;
  MemoryTransfers& memory_;
  PayloadCopier& payloads_;
  QpShutdown& shutdown_;
};

}  // namespace scela::hca
