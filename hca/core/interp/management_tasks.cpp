#include "hca/core/interp/management_tasks.h"

#include <algorithm>

#include "hca/core/model/calc.h"
#include "hca/core/wire/doorbells.h"

namespace scela::hca {
namespace {

constexpr std::uint64_t kMaxOperandBytes = 1024 * 1024;

}  // namespace

std::optional<Status> ManagementTasks::execute(const Qp& qp, const Outgoing& out) {
  switch (out.request.opcode) {
    case Opcode::wait:
      return wait(qp, out.request);
    case Opcode::calc:
      return compute(qp, out);
    default:
      return enable(qp, out.request);
  }
}

std::optional<Status> ManagementTasks::wait(const Qp& qp, const SendRequest& request) {
  Cq* cq = objects_.find<Cq>(request.target);
  if (!cq || cq->owner != qp.owner) return Status::local_qp_operation;
  if (cq->produced >= request.wait_until) return Status::success;
  cq->parked.insert(qp.handle);
  return std::nullopt;
}

Status ManagementTasks::enable(const Qp& qp, const SendRequest& request) {
  Qp* target = objects_.find<Qp>(request.target);
  if (!target || target->owner != qp.owner) return Status::local_qp_operation;
  Ring& ring = request.opcode == Opcode::send_enable ? target->send : target->recv;
  if (!ring.managed) return Status::local_qp_operation;
  ring.enabled += request.wait_until;
  if (request.opcode == Opcode::send_enable) {
    if (ring.head && ring.enabled > ring.end())
      want_doorbells(*ring.head);
    else if (ring.head && target->state == QpState::rts)
      want_no_doorbells(*ring.head);
    scheduler_.schedule(*target);
  }
  return Status::success;
}

std::optional<Status> ManagementTasks::compute(const Qp& qp, const Outgoing& out) {
  const auto op = static_cast<CalcOp>(out.request.target & 0xFF);
  const auto type = static_cast<CalcType>(out.request.target >> 8);
  if (!can_calculate(op, type) || out.sges.size() < 2) return Status::local_qp_operation;
  const std::uint32_t bytes = out.sges[0].length;
  const bool equal = std::all_of(out.sges.begin(), out.sges.end(),
                                 [&](const Sge& sge) { return sge.length == bytes; });
  if (!equal || bytes % size_of(type) != 0 || bytes > kMaxOperandBytes) return Status::local_length;
  if (bytes == 0) return Status::success;
  std::vector<std::byte> result(bytes), operand(bytes);
  std::vector<Piece> piece;
  for (std::size_t i = 1; i < out.sges.size(); ++i) {
    std::vector<std::byte>& to = i == 1 ? result : operand;
    if (!objects_.find_pieces({out.sges[i]}, qp.pd, qp.owner, 0, piece))
      return Status::local_protection;
    const Transfer moved = memory_.read(qp.owner, piece[0].address, to);
    if (moved == Transfer::later) return std::nullopt;
    if (moved == Transfer::refused) return Status::local_protection;
    if (i > 1) calculate(op, type, result, operand);
  }
  if (!objects_.find_pieces({out.sges[0]}, qp.pd, qp.owner, access::kLocalWrite, piece))
    return Status::local_protection;
  const Transfer moved = memory_.write(qp.owner, piece[0].address, result);
  if (moved == Transfer::later) return std::nullopt;
  return moved == Transfer::done ? Status::success : Status::local_protection;
}

}  // namespace scela::hca
