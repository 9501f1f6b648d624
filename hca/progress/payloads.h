// Requests and tasks that wait in this process's memory, with all that they point to.
#pragma once

#include <cstddef>
#include <vector>

#include "hca/core/calc.h"
#include "hca/progress/device_tasks.h"

namespace scela::hca::progress {

struct DeviceTasks::SendPayload final : Payload {
  ibv_send_wr request{};
  std::vector<ibv_sge> pieces;
  std::vector<std::byte> data;  // inline
};

struct DeviceTasks::ReceivePayload final : Payload {
  ibv_recv_wr request{};
  std::vector<ibv_sge> pieces;
};

struct DeviceTasks::CalcPayload final : Payload {
  CalcOp op = CalcOp::sum;
  CalcType type = CalcType::int32;
  std::vector<ibv_sge> pieces;
};

// What is left to the thread.
struct DeviceTasks::Calculation {
  PairId pair = 0;
  std::uint64_t serial = 0;
  CalcPayload what;
};

// What the adapter's engine would do (hca/core/tasks.cpp), in memory of this process.
Status calculate_here(CalcOp op, CalcType type, const std::vector<ibv_sge>& pieces);

}  // namespace scela::hca::progress
