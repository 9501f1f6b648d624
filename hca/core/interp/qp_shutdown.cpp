#include "hca/core/interp/qp_shutdown.h"

#include <cstring>

#include "hca/core/wire/doorbells.h"

namespace scela::hca {

void QpShutdown::flush(Qp& qp) {
  for (const Outgoing& out : qp.window)
    completions_.complete_send(qp, out, Status::flushed);
  qp.window.clear();
  qp.sent = 0;
  steps_.abandon(qp.sending);
  flush_sends(qp);
  if (qp.state == QpState::err) receives_.flush(qp);
}

void QpShutdown::flush_sends(Qp& qp) {
  Ring& ring = qp.send;
  if (!ring.head) return;
  Completion completion;
  completion.status = Status::flushed;
  completion.qpn = qp.handle;
  completion.owner = qp.handle;
  const std::uint64_t end = ring.end();  // held requests are flushed as well
  qp.traffic.posted += end - ring.next;
  qp.traffic.failed += end - ring.next;
  for (; ring.next < end; ++ring.next) {
    SendRequest request;
    std::memcpy(&request, ring.entry(ring.next), sizeof request);
    completion.wr_id = request.wr_id;
    completion.opcode = done_of(request.opcode);
    completion.queue_index = ring.next;
    completions_.complete(qp.send_cq, completion, false);
  }
  ring.head->taken.store(ring.next, std::memory_order_release);
}

void QpShutdown::enter_error(Qp& qp) {
  if (qp.state == QpState::err) return;
  qp.state = QpState::err;
  scheduler_.wait_until(qp, std::nullopt);
  qp.unanswered = false;
  inbox_.drop_all(qp);
  steps_.abandon_all(qp);
  qp.progress = 0;
  for (const Ring* ring : {&qp.send, &qp.recv})
    if (ring->head) want_doorbells(*ring->head);
  flush(qp);
  if (qp.srq == 0) return;
  completions_.release_receives(qp);
  completions_.send_event(qp, EventType::last_wqe_reached);
}

void QpShutdown::reset(Qp& qp) {
  scheduler_.wait_until(qp, std::nullopt);
  qp.unanswered = false;
  qp.window.clear();
  qp.sent = 0;
  ++qp.round;
  inbox_.drop_all(qp);
  steps_.abandon_all(qp);
  qp.progress = 0;
  receives_.return_receive(qp);
  for (Ring* ring : {&qp.send, &qp.recv}) {
    if (!ring->head) continue;
    ring->next = ring->head->posted.load(std::memory_order_acquire);
    ring->enabled = ring->next;
    ring->head->taken.store(ring->next, std::memory_order_release);
    ring->head->ring_on_post.store(0, std::memory_order_seq_cst);
  }
  qp.state = QpState::reset;
}

void QpShutdown::stop(Qp& qp) {
  receives_.return_receive(qp);
  scheduler_.wait_until(qp, std::nullopt);
  inbox_.drop_all(qp);
  steps_.abandon_all(qp);
}

}  // namespace scela::hca
