#include "hca/core/interp/responder.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace scela::hca {
namespace {

// More messages than a requester has on its way (its window).
constexpr std::uint32_t kMaxRepeated = 64;

bool with_imm(Opcode opcode) {
  return opcode == Opcode::send_with_imm || opcode == Opcode::rdma_write_with_imm;
}

Verdict refused(Status status) {
  return {Verdict::Kind::refused, status, 0, 0};
}

Verdict not_ready(const Qp& qp) {
  return {Verdict::Kind::not_ready, Status::success, qp.attributes.min_rnr_timer, 0};
}

constexpr Verdict kHeld{Verdict::Kind::held, Status::success, 0, 0};

// Returns whether queue pairs of these types may be connected.
bool matches(QpType source, QpType target) {
  return source == target ? source == QpType::rc || source == QpType::uc
                          : source == QpType::xrc_send && target == QpType::xrc_recv;
}

}  // namespace

Verdict Responder::respond(std::uint32_t qpn, const Incoming& incoming) {
  Qp* qp = objects_.find<Qp>(qpn);
  if (!qp || !matches(incoming.source_type, qp->type) || !accepts(*qp, incoming)) return kSilent;
  if (qp->attributes.dest_qpn != incoming.source_qpn || !qp->reachable || qp->node != incoming.node)
    return kSilent;
  if (!qp->reliable() && incoming.first()) qp->expected_psn = incoming.psn;
  if (qp->expected_psn != incoming.psn) return respond_again(*qp, incoming);
  if (!std::exchange(qp->established, true) && qp->state == QpState::rtr)
    completions_.send_event(*qp, EventType::communication_established);
  // The parts of a message come in order. A first part begins the message, perhaps anew.
  if (incoming.first()) qp->progress = 0;
  if (incoming.offset != qp->progress) return kSilent;
  const std::optional<Verdict> fault =
      steps_.is_repeated() ? std::nullopt : draw_fault(*qp, incoming);
  const Verdict verdict = fault ? *fault : execute(*qp, incoming);
  if (verdict.kind == Verdict::Kind::held) return verdict;
  const bool taken =
      verdict.kind == Verdict::Kind::accepted || verdict.kind == Verdict::Kind::later;
  qp->progress = taken && !incoming.last() ? incoming.offset + incoming.count : 0;
  if (!taken || !incoming.last()) return verdict;
  qp->expected_psn = (qp->expected_psn + 1) & kPsnMask;
  qp->executed = std::min(qp->executed + 1, kMaxRepeated);
  if (incoming.node != 0 && is_atomic(incoming.request->opcode)) {
    if (qp->found.size() == limit::kRdAtomic) qp->found.pop_front();
    qp->found.push_back({incoming.psn, verdict.before});
  }
  return verdict;
}

// Answers a message that is not the next one. If it was executed and its answer was lost with a
// connection, it is answered again (IBTA 9.7.5.1.4). A read is executed again.
Verdict Responder::respond_again(Qp& qp, const Incoming& incoming) {
  const std::uint32_t age = (qp.expected_psn - incoming.psn) & kPsnMask;
  if (!qp.reliable() || age == 0 || age > qp.executed) return kSilent;
  const Opcode opcode = incoming.request->opcode;
  if (opcode == Opcode::rdma_read) return execute(qp, incoming);
  if (!is_atomic(opcode)) return {};
  const auto found = std::ranges::find(qp.found, incoming.psn, &Found::psn);
  if (found == qp.found.end()) return kSilent;
  Verdict verdict;
  verdict.before = found->before;
  return verdict;
}

std::optional<Verdict> Responder::draw_fault(const Qp& qp, const Incoming& incoming) {
  const Faults& faults = faults_.faults();
  if (!incoming.first() || !qp.reliable()) return std::nullopt;
  const Opcode opcode = incoming.request->opcode;
  const bool receives = opcode == Opcode::send || with_imm(opcode);
  if (receives && faults_.happens(faults.not_ready)) return not_ready(qp);
  return faults_.happens(faults.unanswered) ? std::optional(kSilent) : std::nullopt;
}

Verdict Responder::execute(Qp& qp, const Incoming& incoming) {
  std::uint32_t pd = qp.pd;
  Srq* srq = qp.srq != 0 ? objects_.find<Srq>(qp.srq) : nullptr;
  if (qp.type == QpType::xrc_recv) {
    srq = objects_.find<Srq>(incoming.request->remote_srqn);
    if (!srq || srq->type != SrqType::xrc || srq->xrcd != qp.xrcd)
      return refuse(qp, Status::remote_invalid_request, EventType::qp_request_error);
    // A message that has begun to fill a request of one queue must put its other parts there as
    // well.
    if (qp.receiving && qp.received.queue != srq->handle)
      return refuse(qp, Status::remote_invalid_request, EventType::qp_request_error);
    pd = srq->pd;
  }
  switch (incoming.request->opcode) {
    case Opcode::send:
    case Opcode::send_with_imm:
      return receive_send(qp, incoming, srq);
    case Opcode::rdma_write:
    case Opcode::rdma_write_with_imm:
      return receive_write(qp, incoming, pd, srq);
    case Opcode::rdma_read:
      return receive_read(qp, incoming, pd);
    case Opcode::compare_swap:
    case Opcode::fetch_add:
      return receive_atomic(qp, incoming, pd);
    default:
      return refuse(qp, Status::remote_invalid_request, EventType::qp_request_error);
  }
}

Verdict Responder::refuse(Qp& qp, Status status, EventType type) {
  if (qp.reliable()) {
    completions_.send_event(qp, type);
    shutdown_.enter_error(qp);
  }
  return refused(status);
}

// Handles a failed transfer that is not this side's fault. If the owner's process has ended, the
// responder stays silent. If the source cannot be read, the requester gets the error.
std::optional<Verdict> Responder::fault_of_others(const Incoming& incoming, ProcessId owner) {
  if (!memory_.is_alive(owner)) return kSilent;
  const Transfer source = incoming.pieces ? payloads_.is_readable(incoming) : Transfer::done;
  if (source == Transfer::later) return kHeld;
  if (source == Transfer::refused) return refused(Status::local_protection);
  return std::nullopt;
}

Verdict Responder::receive_send(Qp& qp, const Incoming& incoming, Srq* srq) {
  if (!receives_.begin_receive(qp, srq)) return not_ready(qp);
  const Receiving& received = qp.received;
  if (!steps_.may_fill(qp.received)) return kHeld;
  if (incoming.total > total_bytes(received.sges)) {
    receives_.finish_receive(qp, incoming, Status::local_length);
    shutdown_.enter_error(qp);
    return refused(Status::remote_invalid_request);
  }
  std::vector<Piece> pieces;
  const bool named =
      objects_.find_pieces(received.sges, received.pd, received.owner, access::kLocalWrite, pieces);
  if (named && incoming.first() &&
      payloads_.spoil(received.owner, pieces, incoming.total) == Transfer::later)
    return kHeld;
  const Transfer moved = named
                             ? payloads_.deliver(incoming, received.owner, pieces, incoming.offset)
                             : Transfer::refused;
  if (moved == Transfer::later) return kHeld;
  if (moved == Transfer::refused) {
    if (const auto other = named ? fault_of_others(incoming, received.owner) : std::nullopt)
      return *other;
    receives_.finish_receive(qp, incoming, Status::local_protection);
    shutdown_.enter_error(qp);
    return refused(Status::remote_operation);
  }
  if (incoming.last()) receives_.finish_receive(qp, incoming, Status::success);
  return {};
}

Verdict Responder::receive_write(Qp& qp, const Incoming& incoming, std::uint32_t pd, Srq* srq) {
  const SendRequest& request = *incoming.request;
  if (incoming.total != 0) {
    const Mr* mr = objects_.find_region(request.rkey, pd, request.remote_address, incoming.total,
                                        access::kRemoteWrite);
    if (!mr || (qp.attributes.access_flags & access::kRemoteWrite) == 0)
      return refuse(qp, Status::remote_access, EventType::qp_access_error);
    const std::vector<Piece> pieces{
        {request.remote_address - mr->iova + mr->address, incoming.total}};
    const Transfer moved = payloads_.deliver(incoming, mr->owner, pieces, incoming.offset);
    if (moved == Transfer::later) return kHeld;
    if (moved == Transfer::refused) {
      if (const auto other = fault_of_others(incoming, mr->owner)) return *other;
      return refuse(qp, Status::remote_operation, EventType::qp_access_error);
    }
  }
  if (request.opcode == Opcode::rdma_write_with_imm && incoming.last()) {
    if (!receives_.begin_receive(qp, srq)) return not_ready(qp);
    receives_.finish_receive(qp, incoming, Status::success);
  }
  return {};
}

Verdict Responder::receive_read(Qp& qp, const Incoming& incoming, std::uint32_t pd) {
  const SendRequest& request = *incoming.request;
  if (qp.attributes.max_dest_rd_atomic == 0)
    return refuse(qp, Status::remote_invalid_request, EventType::qp_request_error);
  if (incoming.total == 0) return {};
  const Mr* mr = objects_.find_region(request.rkey, pd, request.remote_address, incoming.total,
                                      access::kRemoteRead);
  if (!mr || (qp.attributes.access_flags & access::kRemoteRead) == 0)
    return refuse(qp, Status::remote_access, EventType::qp_access_error);
  if (incoming.node != 0) {
    qp.answering.push_back({incoming.node, incoming.source_qpn, incoming.psn, incoming.round,
                            request.rkey, pd, request.remote_address, incoming.total, 0});
    scheduler_.schedule(qp);
    return {Verdict::Kind::later, Status::success, 0, 0};
  }
  // A read goes the other way: the memory here is the source, the requester's the target.
  const std::vector<Piece> source{
      {request.remote_address - mr->iova + mr->address, incoming.total}};
  Incoming answer = incoming;
  answer.from = mr->owner;
  answer.pieces = &source;
  const Transfer moved =
      payloads_.deliver(answer, incoming.from, *incoming.pieces, incoming.offset);
  if (moved == Transfer::done) return {};
  if (moved == Transfer::later) return kHeld;
  if (!memory_.is_alive(mr->owner)) return kSilent;
  const Transfer readable = payloads_.is_readable(answer);
  if (readable == Transfer::later) return kHeld;
  if (readable == Transfer::done)
    // The memory that the data should go to cannot be written.
    return refused(Status::local_protection);
  return refuse(qp, Status::remote_operation, EventType::qp_access_error);
}

Verdict Responder::receive_atomic(Qp& qp, const Incoming& incoming, std::uint32_t pd) {
  const SendRequest& request = *incoming.request;
  if (qp.attributes.max_dest_rd_atomic == 0 || request.remote_address % 8 != 0)
    return refuse(qp, Status::remote_invalid_request, EventType::qp_request_error);
  const Mr* mr =
      objects_.find_region(request.rkey, pd, request.remote_address, 8, access::kRemoteAtomic);
  if (!mr || (qp.attributes.access_flags & access::kRemoteAtomic) == 0)
    return refuse(qp, Status::remote_access, EventType::qp_access_error);
  const std::uint64_t address = request.remote_address - mr->iova + mr->address;
  Verdict verdict;
  const Transfer moved = memory_.change(mr->owner, address, request, verdict.before);
  if (moved == Transfer::done) return verdict;
  if (moved == Transfer::later) return kHeld;
  if (!memory_.is_alive(mr->owner)) return kSilent;
  return refuse(qp, Status::remote_operation, EventType::qp_access_error);
}

}  // namespace scela::hca
