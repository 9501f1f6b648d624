// The end of a queue pair's requests when it fails or is reset.
#include <cstring>
#include <utility>

#include "hca/core/model/state.h"
#include "hca/core/wire/doorbells.h"

namespace scela::hca {

void Engine::State::flush(Qp& qp) {
  for (const Outgoing& out : qp.window) {
    count(qp, out, Status::flushed);
    complete_send(qp, out, Status::flushed);
  }
  qp.window.clear();
  qp.sent = 0;
  forget(qp.sending);
  Completion completion;
  completion.status = Status::flushed;
  completion.qpn = qp.handle;
  completion.owner = qp.handle;
  if (Ring& ring = qp.send; ring.head) {
    const std::uint64_t end = ring.end();  // held requests are flushed as well
    qp.traffic.posted += end - ring.next;
    qp.traffic.failed += end - ring.next;
    for (; ring.next < end; ++ring.next) {
      SendRequest request;
      std::memcpy(&request, ring.entry(ring.next), sizeof request);
      completion.wr_id = request.wr_id;
      completion.opcode = done_of(request.opcode);
      completion.queue_index = ring.next;
      complete(qp.send_cq, completion, false);
    }
    ring.head->taken.store(ring.next, std::memory_order_release);
  }
  if (qp.state != QpState::err) return;
  completion.opcode = done::kReceive;
  if (std::exchange(qp.receiving, false)) {
    completion.wr_id = qp.received.wr_id;
    completion.queue_index = qp.received.index;
    completion.owner = qp.received.queue;
    complete(qp.received.cq, completion, false);
  }
  if (Ring& ring = qp.recv; ring.head) {
    completion.owner = qp.handle;
    const std::uint64_t end = ring.end();
    for (; ring.next < end; ++ring.next) {
      RecvRequest request;
      std::memcpy(&request, ring.entry(ring.next), sizeof request);
      completion.wr_id = request.wr_id;
      completion.queue_index = ring.next;
      complete(qp.recv_cq, completion, false);
    }
    ring.head->taken.store(ring.next, std::memory_order_release);
  }
}

void Engine::State::enter_error(Qp& qp) {
  if (qp.state == QpState::err) return;
  qp.state = QpState::err;
  wait_until(qp, std::nullopt);
  qp.unanswered = false;
  drop_requests(qp);
  forget_steps(qp);
  qp.progress = 0;
  for (const Ring* ring : {&qp.send, &qp.recv})
    if (ring->head) want_doorbells(*ring->head);
  flush(qp);
  if (qp.srq == 0) return;
  release_receives(qp);
  event(qp, EventType::last_wqe_reached);
}

// The queue pair is destroyed or reset: it returns the receive request that it was filling to its
// shared queue.
void Engine::State::give_back(Qp& qp) {
  if (!std::exchange(qp.receiving, false)) return;
  if (Srq* srq = srqs.find(qp.received.queue)) srq->returned.push_back(std::move(qp.received));
}

void Engine::State::reset(Qp& qp) {
  wait_until(qp, std::nullopt);
  qp.unanswered = false;
  qp.window.clear();
  qp.sent = 0;
  ++qp.round;
  drop_requests(qp);
  forget_steps(qp);
  qp.progress = 0;
  give_back(qp);
  for (Ring* ring : {&qp.send, &qp.recv}) {
    if (!ring->head) continue;
    ring->next = ring->head->posted.load(std::memory_order_acquire);
    ring->enabled = ring->next;
    ring->head->taken.store(ring->next, std::memory_order_release);
    ring->head->ring_on_post.store(0, std::memory_order_seq_cst);
  }
  qp.state = QpState::reset;
}

}  // namespace scela::hca
