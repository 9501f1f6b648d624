// Requests and tasks that wait in this process's memory, with everything that they point to. Only
// the .cpp files of DeviceTasks include this header; `mutex_` of that class protects the objects.
#pragma once

#include <cstddef>
#include <vector>

#include "hca/core/model/calc.h"
#include "hca/progress/device_tasks.h"

namespace scela::hca::progress {

struct DeviceTasks::SendPayload final : Payload {
  // `request.sg_list` points to `pieces`. If the request is inline, its one piece is `data`.
  ibv_send_wr request{};
  std::vector<ibv_sge> pieces;
  std::vector<std::byte> data;  // inline
};

struct DeviceTasks::ReceivePayload final : Payload {
  // `request.sg_list` points to `pieces`.
  ibv_recv_wr request{};
  std::vector<ibv_sge> pieces;
};

struct DeviceTasks::CalcPayload final : Payload {
  CalcOp op = CalcOp::sum;
  CalcType type = CalcType::int32;
  // The result's buffer comes first, then the operands.
  std::vector<ibv_sge> pieces;
};

// A calculation that is left to the thread.
struct DeviceTasks::Calculation {
  PairId pair = 0;
  // The serial of its entry in TaskQueues.
  std::uint64_t serial = 0;
  CalcPayload what;
};

// Calculates as the adapter's engine does (hca/core/interp/management_tasks.h), but in this
// process's memory. Returns local_length if the lengths differ, do not fit the type or exceed 1
// MiB, and local_protection if memory cannot be read or written.
Status calculate_here(CalcOp op, CalcType type, const std::vector<ibv_sge>& pieces);

}  // namespace scela::hca::progress
