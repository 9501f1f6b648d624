#include "hca/core/queues/receive_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace scela::hca {

bool ReceiveQueue::begin_receive(Qp& qp, Srq* srq) {
  if (qp.receiving) return true;
  if (srq && !srq->returned.empty()) {
    qp.received = std::move(srq->returned.front());
    srq->returned.pop_front();
    if (srq->type == SrqType::basic) qp.received.cq = qp.recv_cq;
    qp.received.taking = ++begun_;
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
  received.taking = ++begun_;
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
    completions_.send_event(srq->owner, EventType::srq_limit_reached, srq->cookie);
  }
  return true;
}

void ReceiveQueue::finish_receive(Qp& qp, const Incoming& incoming, Status status) {
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
  if (request.opcode == Opcode::send_with_imm || request.opcode == Opcode::rdma_write_with_imm) {
    completion.immediate = request.immediate;
    completion.flags |= done_flag::kWithImm;
  }
  if (qp.type == QpType::ud && request.destination.is_global != 0)
    completion.flags |= done_flag::kGrh;
  completion.qpn = qp.handle;
  completion.source_qpn = incoming.source_qpn;
  completion.slid = incoming.source_lid;
  completion.owner = received.queue;
  const bool solicited = (request.flags & send_flag::kSolicited) != 0;
  completions_.complete(received.cq, completion, solicited);
}

void ReceiveQueue::return_receive(Qp& qp) {
  if (!std::exchange(qp.receiving, false)) return;
  if (Srq* srq = objects_.find<Srq>(qp.received.queue))
    srq->returned.push_back(std::move(qp.received));
}

void ReceiveQueue::flush(Qp& qp) {
  Completion completion;
  completion.status = Status::flushed;
  completion.qpn = qp.handle;
  completion.opcode = done::kReceive;
  if (std::exchange(qp.receiving, false)) {
    completion.wr_id = qp.received.wr_id;
    completion.queue_index = qp.received.index;
    completion.owner = qp.received.queue;
    completions_.complete(qp.received.cq, completion, false);
  }
  Ring& ring = qp.recv;
  if (!ring.head) return;
  completion.owner = qp.handle;
  const std::uint64_t end = ring.end();
  for (; ring.next < end; ++ring.next) {
    RecvRequest request;
    std::memcpy(&request, ring.entry(ring.next), sizeof request);
    completion.wr_id = request.wr_id;
    completion.queue_index = ring.next;
    completions_.complete(qp.recv_cq, completion, false);
  }
  ring.head->taken.store(ring.next, std::memory_order_release);
}

}  // namespace scela::hca
