// Management requests: how a queue waits, enables other queues and computes
// (hca/include/scela/verbs_ext.h).
#include <algorithm>

#include "hca/core/model/calc.h"
#include "hca/core/model/state.h"
#include "hca/core/wire/doorbells.h"

namespace scela::hca {
namespace {

constexpr std::uint64_t kMaxOperandBytes = 1024 * 1024;

}  // namespace

// Returns false if the queue pair waits or is in error.
bool Engine::State::manage(Qp& qp, Outgoing& out) {
  Status status = Status::success;
  switch (out.request.opcode) {
    case Opcode::wait: {
      Cq* cq = cqs.find(out.request.target);
      if (!cq || cq->owner != qp.owner) {
        status = Status::local_qp_operation;
        break;
      }
      if (cq->produced < out.request.wait_until) {
        cq->parked.insert(qp.handle);
        return false;
      }
      break;
    }
    case Opcode::calc: {
      const std::optional<Status> computed = compute(qp, out);
      if (!computed) return false;
      status = *computed;
      break;
    }
    default:
      status = enable(qp, out);
  }
  settle(qp, out, status);
  return status == Status::success;
}

Status Engine::State::enable(const Qp& qp, const Outgoing& out) {
  Qp* target = qps.find(out.request.target);
  if (!target || target->owner != qp.owner) return Status::local_qp_operation;
  Ring& ring = out.request.opcode == Opcode::send_enable ? target->send : target->recv;
  if (!ring.managed) return Status::local_qp_operation;
  ring.enabled += out.request.wait_until;
  if (out.request.opcode == Opcode::send_enable) {
    if (ring.head && ring.enabled > ring.end())
      want_doorbells(*ring.head);
    else if (ring.head && target->state == QpState::rts)
      want_no_doorbells(*ring.head);
    schedule(*target);
  }
  return Status::success;
}

// Computes result = operands[0] op operands[1] op ... and reads and writes whole vectors. Returns
// std::nullopt if the step is held.
std::optional<Status> Engine::State::compute(const Qp& qp, const Outgoing& out) {
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
    if (!pieces_of({out.sges[i]}, qp.pd, qp.owner, 0, piece)) return Status::local_protection;
    const Transfer moved = read(qp.owner, piece[0].address, to);
    if (moved == Transfer::later) return std::nullopt;
    if (moved == Transfer::refused) return Status::local_protection;
    if (i > 1) calculate(op, type, result, operand);
  }
  if (!pieces_of({out.sges[0]}, qp.pd, qp.owner, access::kLocalWrite, piece))
    return Status::local_protection;
  const Transfer moved = write(qp.owner, piece[0].address, result);
  if (moved == Transfer::later) return std::nullopt;
  return moved == Transfer::done ? Status::success : Status::local_protection;
}

}  // namespace scela::hca
