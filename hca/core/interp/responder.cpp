// The receiving half of a queue pair: how it executes the messages of other queue pairs.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "hca/core/model/state.h"

namespace scela::hca {
namespace {

// More messages than a requester has on its way (its window).
constexpr std::uint32_t kMaxRepeated = 64;

bool solicited(const Incoming& incoming) {
  return (incoming.request->flags & send_flag::kSolicited) != 0;
}

bool with_imm(Opcode opcode) {
  return opcode == Opcode::send_with_imm || opcode == Opcode::rdma_write_with_imm;
}

Verdict refused(Status status) {
  return {Verdict::Kind::refused, status, 0, 0};
}

Verdict not_ready(const Qp& qp) {
  return {Verdict::Kind::not_ready, Status::success, qp.attributes.min_rnr_timer, 0};
}

constexpr Verdict kSilent{Verdict::Kind::silent, Status::success, 0, 0};
constexpr Verdict kHeld{Verdict::Kind::held, Status::success, 0, 0};

bool listens(QpState state) {
  return state == QpState::rtr || state == QpState::rts || state == QpState::sqd ||
         state == QpState::sqe;
}

// Returns whether queue pairs of these types may be connected.
bool matches(QpType source, QpType target) {
  return source == target ? source == QpType::rc || source == QpType::uc
                          : source == QpType::xrc_send && target == QpType::xrc_recv;
}

std::uint64_t room(const std::vector<Sge>& sges) {
  std::uint64_t bytes = 0;
  for (const Sge& sge : sges)
    bytes += sge.length;
  return bytes;
}

// Builds a global route header (IBTA 8.3): version 6, the length of the payload, the next header,
// the hop limit, and both GIDs.
std::array<std::byte, limit::kGrhBytes> route_header(const Incoming& incoming) {
  std::array<std::byte, limit::kGrhBytes> header{};
  header[0] = std::byte{0x60};
  const std::uint64_t payload = incoming.total + 24;
  header[4] = static_cast<std::byte>(payload >> 8 & 0xFF);
  header[5] = static_cast<std::byte>(payload & 0xFF);
  header[6] = std::byte{0x1B};
  header[7] = std::byte{64};
  std::memcpy(&header[8], incoming.source_gid.bytes, 16);
  std::memcpy(&header[24], incoming.request->destination.gid.bytes, 16);
  return header;
}

// A queue pair receives messages to its own port only.
bool hears(const Qp& qp, const Incoming& incoming) {
  return incoming.port == 0 || incoming.port == qp.attributes.port;
}

}  // namespace

Verdict Engine::State::respond(std::uint32_t qpn, const Incoming& incoming) {
  Qp* qp = qps.find(qpn);
  if (!qp || !matches(incoming.source_type, qp->type) || !listens(qp->state)) return kSilent;
  if (!hears(*qp, incoming) || qp->attributes.dest_qpn != incoming.source_qpn || !qp->reachable ||
      qp->node != incoming.node)
    return kSilent;
  if (!qp->reliable() && incoming.first()) qp->expected_psn = incoming.psn;
  if (qp->expected_psn != incoming.psn) return repeated(*qp, incoming);
  if (!std::exchange(qp->established, true) && qp->state == QpState::rtr)
    event(*qp, EventType::communication_established);
  // The parts of a message come in order. A first part begins the message, perhaps anew.
  if (incoming.first()) qp->progress = 0;
  if (incoming.offset != qp->progress) return kSilent;
  const bool again = step && step->again;
  const std::optional<Verdict> fault = again ? std::nullopt : injected(*qp, incoming);
  const Verdict verdict = fault ? *fault : carry_out(*qp, incoming);
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
Verdict Engine::State::repeated(Qp& qp, const Incoming& incoming) {
  const std::uint32_t age = (qp.expected_psn - incoming.psn) & kPsnMask;
  if (!qp.reliable() || age == 0 || age > qp.executed) return kSilent;
  const Opcode opcode = incoming.request->opcode;
  if (opcode == Opcode::rdma_read) return carry_out(qp, incoming);
  if (!is_atomic(opcode)) return {};
  const auto found = std::ranges::find(qp.found, incoming.psn, &Found::psn);
  if (found == qp.found.end()) return kSilent;
  Verdict verdict;
  verdict.before = found->before;
  return verdict;
}

// Injects a fault on purpose, before the message is looked at.
std::optional<Verdict> Engine::State::injected(const Qp& qp, const Incoming& incoming) {
  const Faults& faults = settings.faults;
  if (!incoming.first() || !qp.reliable()) return std::nullopt;
  const Opcode opcode = incoming.request->opcode;
  const bool receives = opcode == Opcode::send || with_imm(opcode);
  if (receives && faults.not_ready != 0 && random.chance(faults.not_ready, 1000))
    return not_ready(qp);
  if (faults.unanswered != 0 && random.chance(faults.unanswered, 1000))
    return Verdict{Verdict::Kind::silent, Status::success, 0, 0};
  return std::nullopt;
}

Verdict Engine::State::carry_out(Qp& qp, const Incoming& incoming) {
  std::uint32_t pd = qp.pd;
  Srq* srq = qp.srq != 0 ? srqs.find(qp.srq) : nullptr;
  if (qp.type == QpType::xrc_recv) {
    srq = srqs.find(incoming.request->remote_srqn);
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

// Refuses a wrong message. An unreliable message is dropped; a reliable one ends the connection.
Verdict Engine::State::refuse(Qp& qp, Status status, EventType type) {
  if (qp.reliable()) {
    event(qp, type);
    enter_error(qp);
  }
  return refused(status);
}

// Handles a failed transfer that is not this side's fault. If the owner's process has ended, the
// responder stays silent. If the source cannot be read, the requester gets the error.
std::optional<Verdict> Engine::State::others_fault(const Incoming& incoming, ProcessId owner) {
  if (!host.alive(owner)) return kSilent;
  const Transfer source = incoming.pieces ? is_readable(incoming) : Transfer::done;
  if (source == Transfer::later) return kHeld;
  if (source == Transfer::refused) return refused(Status::local_protection);
  return std::nullopt;
}

// Takes the next receive request for a message. Returns false if there is none.
bool Engine::State::take_receive(Qp& qp, Srq* srq) {
  if (qp.receiving) return true;
  if (srq && !srq->returned.empty()) {
    qp.received = std::move(srq->returned.front());
    srq->returned.pop_front();
    if (srq->type == SrqType::basic) qp.received.cq = qp.recv_cq;
    qp.received.taking = ++takings;
    qp.receiving = true;
    return true;
  }
  Ring& ring = srq ? srq->ring : qp.recv;
  if (!ring.head || ring.next >= ring.ready()) return false;
  Receiving& received = qp.received;
  const std::byte* entry = ring.entry(ring.next);
  RecvRequest request;
  std::memcpy(&request, entry, sizeof request);
  received.wr_id = request.wr_id;
  received.taking = ++takings;
  received.index = ring.next;
  received.owner = srq ? srq->owner : qp.owner;
  received.queue = srq ? srq->handle : qp.handle;
  received.cq = srq && srq->type == SrqType::xrc ? srq->cq : qp.recv_cq;
  received.pd = srq ? srq->pd : qp.pd;
  received.sges.resize(std::min(request.sge_count, ring.sges));
  if (!received.sges.empty())
    std::memcpy(received.sges.data(), entry + sizeof request, received.sges.size() * sizeof(Sge));
  ++ring.next;
  ring.head->taken.store(ring.next, std::memory_order_release);
  qp.receiving = true;
  if (srq && srq->limit != 0 && ring.end() - ring.next < srq->limit) {
    srq->limit = 0;
    event(srq->owner, EventType::srq_limit_reached, srq->cookie);
  }
  return true;
}

void Engine::State::finish_receive(Qp& qp, const Incoming& incoming, Status status) {
  const SendRequest& request = *incoming.request;
  const Receiving& received = qp.received;
  qp.receiving = false;
  Completion completion;
  completion.wr_id = received.wr_id;
  completion.queue_index = received.index;
  completion.status = status;
  completion.opcode =
      request.opcode == Opcode::rdma_write_with_imm ? done::kReceiveRdmaWithImm : done::kReceive;
  completion.bytes = static_cast<std::uint32_t>(incoming.total);
  if (with_imm(request.opcode)) {
    completion.immediate = request.immediate;
    completion.flags |= done_flag::kWithImm;
  }
  if (qp.type == QpType::ud && request.destination.is_global != 0)
    completion.flags |= done_flag::kGrh;
  completion.qpn = qp.handle;
  completion.source_qpn = incoming.source_qpn;
  completion.slid = incoming.source_lid;
  completion.owner = received.queue;
  complete(received.cq, completion, solicited(incoming));
}

Verdict Engine::State::receive_send(Qp& qp, const Incoming& incoming, Srq* srq) {
  if (!take_receive(qp, srq)) return not_ready(qp);
  const Receiving& received = qp.received;
  if (!may_fill(qp.received)) return kHeld;
  if (incoming.total > room(received.sges)) {
    finish_receive(qp, incoming, Status::local_length);
    enter_error(qp);
    return refused(Status::remote_invalid_request);
  }
  std::vector<Piece> pieces;
  const bool named =
      pieces_of(received.sges, received.pd, received.owner, access::kLocalWrite, pieces);
  if (named && settings.seed != 0 && incoming.first() &&
      spoil(received.owner, pieces, incoming.total) == Transfer::later)
    return kHeld;
  const Transfer moved =
      named ? deliver(incoming, received.owner, pieces, incoming.offset) : Transfer::refused;
  if (moved == Transfer::later) return kHeld;
  if (moved == Transfer::refused) {
    if (const auto other = named ? others_fault(incoming, received.owner) : std::nullopt)
      return *other;
    finish_receive(qp, incoming, Status::local_protection);
    enter_error(qp);
    return refused(Status::remote_operation);
  }
  if (incoming.last()) finish_receive(qp, incoming, Status::success);
  return {};
}

Verdict Engine::State::receive_write(Qp& qp, const Incoming& incoming, std::uint32_t pd, Srq* srq) {
  const SendRequest& request = *incoming.request;
  if (incoming.total != 0) {
    const Mr* mr =
        region(request.rkey, pd, request.remote_address, incoming.total, access::kRemoteWrite);
    if (!mr || (qp.attributes.access_flags & access::kRemoteWrite) == 0)
      return refuse(qp, Status::remote_access, EventType::qp_access_error);
    const std::vector<Piece> pieces{
        {request.remote_address - mr->iova + mr->address, incoming.total}};
    const Transfer moved = deliver(incoming, mr->owner, pieces, incoming.offset);
    if (moved == Transfer::later) return kHeld;
    if (moved == Transfer::refused) {
      if (const auto other = others_fault(incoming, mr->owner)) return *other;
      return refuse(qp, Status::remote_operation, EventType::qp_access_error);
    }
  }
  if (request.opcode == Opcode::rdma_write_with_imm && incoming.last()) {
    if (!take_receive(qp, srq)) return not_ready(qp);
    finish_receive(qp, incoming, Status::success);
  }
  return {};
}

Verdict Engine::State::receive_read(Qp& qp, const Incoming& incoming, std::uint32_t pd) {
  const SendRequest& request = *incoming.request;
  if (qp.attributes.max_dest_rd_atomic == 0)
    return refuse(qp, Status::remote_invalid_request, EventType::qp_request_error);
  if (incoming.total == 0) return {};
  const Mr* mr =
      region(request.rkey, pd, request.remote_address, incoming.total, access::kRemoteRead);
  if (!mr || (qp.attributes.access_flags & access::kRemoteRead) == 0)
    return refuse(qp, Status::remote_access, EventType::qp_access_error);
  if (incoming.node != 0) {
    qp.answering.push_back({incoming.node, incoming.source_qpn, incoming.psn, incoming.round,
                            request.rkey, pd, request.remote_address, incoming.total, 0});
    schedule(qp);
    return {Verdict::Kind::later, Status::success, 0, 0};
  }
  // A read goes the other way: the memory here is the source, the requester's the target.
  const std::vector<Piece> source{
      {request.remote_address - mr->iova + mr->address, incoming.total}};
  Incoming answer = incoming;
  answer.from = mr->owner;
  answer.pieces = &source;
  const Transfer moved = deliver(answer, incoming.from, *incoming.pieces, incoming.offset);
  if (moved == Transfer::done) return {};
  if (moved == Transfer::later) return kHeld;
  if (!host.alive(mr->owner)) return kSilent;
  const Transfer readable = is_readable(answer);
  if (readable == Transfer::later) return kHeld;
  if (readable == Transfer::done)
    // The memory that the data should go to cannot be written.
    return refused(Status::local_protection);
  return refuse(qp, Status::remote_operation, EventType::qp_access_error);
}

Verdict Engine::State::receive_atomic(Qp& qp, const Incoming& incoming, std::uint32_t pd) {
  const SendRequest& request = *incoming.request;
  if (qp.attributes.max_dest_rd_atomic == 0 || request.remote_address % 8 != 0)
    return refuse(qp, Status::remote_invalid_request, EventType::qp_request_error);
  const Mr* mr = region(request.rkey, pd, request.remote_address, 8, access::kRemoteAtomic);
  if (!mr || (qp.attributes.access_flags & access::kRemoteAtomic) == 0)
    return refuse(qp, Status::remote_access, EventType::qp_access_error);
  const std::uint64_t address = request.remote_address - mr->iova + mr->address;
  Verdict verdict;
  const Transfer moved = change(mr->owner, address, request, verdict.before);
  if (moved == Transfer::done) return verdict;
  if (moved == Transfer::later) return kHeld;
  if (!host.alive(mr->owner)) return kSilent;
  return refuse(qp, Status::remote_operation, EventType::qp_access_error);
}

// Takes a datagram. If anything is wrong with it or its receiver, it is lost without an error to
// its sender. Returns `later` if the step is held; otherwise the datagram is over.
Transfer Engine::State::receive_datagram(std::uint32_t qpn, const Incoming& incoming) {
  Qp* qp = qps.find(qpn);
  if (!qp || qp->type != QpType::ud || !listens(qp->state) || !hears(*qp, incoming))
    return Transfer::refused;
  const Destination& to = incoming.request->destination;
  if (to.qkey != qp->attributes.qkey) return Transfer::refused;
  Srq* srq = qp->srq != 0 ? srqs.find(qp->srq) : nullptr;
  if (!take_receive(*qp, srq)) return Transfer::refused;
  const Receiving& received = qp->received;
  if (!may_fill(qp->received)) return Transfer::later;
  std::vector<Piece> pieces;
  Incoming datagram = incoming;
  datagram.total += limit::kGrhBytes;
  const bool fits = datagram.total <= room(received.sges);
  if (!fits ||
      !pieces_of(received.sges, received.pd, received.owner, access::kLocalWrite, pieces)) {
    finish_receive(*qp, datagram, fits ? Status::local_protection : Status::local_length);
    enter_error(*qp);
    return Transfer::refused;
  }
  Transfer moved = Transfer::done;
  if (to.is_global != 0) {
    const auto header = route_header(incoming);
    Incoming route = incoming;
    route.bytes = header;
    route.count = header.size();
    moved = deliver(route, received.owner, pieces, 0);
  }
  if (moved == Transfer::done) moved = deliver(incoming, received.owner, pieces, limit::kGrhBytes);
  if (moved == Transfer::later) return moved;
  const bool ok = moved == Transfer::done;
  finish_receive(*qp, datagram, ok ? Status::success : Status::local_protection);
  if (!ok) enter_error(*qp);
  return moved;
}

}  // namespace scela::hca
