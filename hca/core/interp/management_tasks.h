// Executes management requests: WAIT, SEND_ENABLE, RECV_ENABLE and CALC, by which a queue waits for
// completions, enables other queues and computes (hca/include/scela/verbs_ext.h).
//
// The Requester, the sending half of a queue pair, executes them in their turn, and completes those
// that are over. The interpreter's one thread uses it.
#pragma once

#include <optional>

#include "hca/core/model/object_tables.h"
#include "hca/core/queues/scheduler.h"
#include "hca/core/transfer/memory_transfers.h"

namespace scela::hca {

// Executes the requests; it keeps no state of its own.
class ManagementTasks {
 public:
  // All references must live as long as this object.
  ManagementTasks(const ObjectTables& objects, Scheduler& scheduler, MemoryTransfers& memory)
      : objects_(objects), scheduler_(scheduler), memory_(memory) {}

  // Executes the request `out` of `qp`, which must be one of the four. Returns its status if it is
  // over. Returns std::nullopt if the queue pair must wait, for a completion or for a process's
  // memory: it runs again after that.
  std::optional<Status> execute(const Qp& qp, const Outgoing& out);

 private:
  // Returns success if the CQ has had so many completions. Otherwise notes that the queue pair
  // waits for the CQ, and returns std::nullopt. Returns local_qp_operation if the process has no
  // such CQ.
  std::optional<Status> wait(const Qp& qp, const SendRequest& request);
  // Allows the target queue to execute more of its held requests. Returns success, or
  // local_qp_operation if the process has no such queue pair or its queue holds no requests.
  Status enable(const Qp& qp, const SendRequest& request);
  // Computes result = operands[0] op operands[1] op ... and reads and writes whole vectors. Returns
  // std::nullopt if it must wait for the process's memory, and an error if a vector is wrong.
  std::optional<Status> compute(const Qp& qp, const Outgoing& out);

  const ObjectTables& objects_;
  Scheduler& scheduler_;
  MemoryTransfers& memory_;
};

}  // namespace scela::hca
