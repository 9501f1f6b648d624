// Management requests: how a queue waits, enables other queues and computes
// (hca/include/scela/verbs_ext.h).
//
// The Requester executes them in their turn, and settles those that are over. The interpreter's one
// thread uses it.
#pragma once

#include <optional>

#include "hca/core/model/object_tables.h"
#include "hca/core/queues/scheduler.h"
#include "hca/core/transfer/memory_transfers.h"

namespace scela::hca {

class ManagementTasks {
 public:
  // All references must live as long as this object.
  ManagementTasks(const ObjectTables& objects, Scheduler& scheduler, MemoryTransfers& memory)
      : objects_(objects), scheduler_(scheduler), memory_(memory) {}

  // Executes a request that is_management(). Returns std::nullopt if the queue pair waits, for a
  // completion or because its step is held.
  std::optional<Status> execute(const Qp& qp, const Outgoing& out);

 private:
  std::optional<Status> wait(const Qp& qp, const SendRequest& request);
  // Lets the target queue execute more of its held requests.
  Status enable(const Qp& qp, const SendRequest& request);
  // Computes result = operands[0] op operands[1] op ... and reads and writes whole vectors.
  std::optional<Status> compute(const Qp& qp, const Outgoing& out);

  const ObjectTables& objects_;
  Scheduler& scheduler_;
  MemoryTransfers& memory_;
};

}  // namespace scela::hca
