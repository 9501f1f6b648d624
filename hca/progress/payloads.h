// Requests and tasks that wait in this process's memory, with everything that they point to.
// DeviceRequests makes them; the TaskLock protects them.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <vector>

#include "hca/core/model/calc.h"
#include "hca/progress/core/task_queues.h"

namespace scela::hca::progress {

// A send request.
struct SendPayload final : Payload {
  // `request.sg_list` points to `pieces`. If the request is inline, its one piece is `data`.
  ibv_send_wr request{};
  std::vector<ibv_sge> pieces;
  std::vector<std::byte> data;  // inline data
};

// A receive request.
struct ReceivePayload final : Payload {
  // `request.sg_list` points to `pieces`.
  ibv_recv_wr request{};
  std::vector<ibv_sge> pieces;
};

// A calculation.
struct CalcPayload final : Payload {
  CalcOp op = CalcOp::sum;
  CalcType type = CalcType::int32;
  // The result's buffer comes first, then the operands.
  std::vector<ibv_sge> pieces;
};

// Calculates as the adapter's engine does (hca/core/interp/management_tasks.h), but in this
// process's memory. `pieces` are the result's buffer and then the operands. Returns local_length if
// the lengths differ, do not fit the type or exceed 1 MiB, and local_protection if memory cannot be
// read or written.
Status calculate_here(CalcOp op, CalcType type, const std::vector<ibv_sge>& pieces);

}  // namespace scela::hca::progress
