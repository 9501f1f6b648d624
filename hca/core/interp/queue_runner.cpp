#include "hca/core/interp/queue_runner.h"

#include <utility>

namespace scela::hca {
namespace {

// The limits of one queue pair's turn, so that the others do not wait long.
constexpr int kTurnRequests = 32;
constexpr std::uint64_t kTurnBytes = 512 * 1024;

}  // namespace

// Functions that have one caller and run for each part are inline here: with them the queue pair's
// turn is one function.

bool QueueRunner::end_wait(Qp& qp) {
  scheduler_.wait_until(qp, std::nullopt);
  if (!std::exchange(qp.unanswered, false)) return true;
  if (qp.retries_left == 0) {
    window_.settle(qp, qp.window.front(), Status::retry_exceeded);
    return false;
  }
  --qp.retries_left;
  ++qp.traffic.retries;
  return true;
}

inline QueueRunner::Next QueueRunner::begin_request(Qp& qp) {
  // In a new round, a request that is over already (failed, or a task) is not executed again.
  while (qp.sent < qp.window.size() && qp.window[qp.sent].done)
    ++qp.sent;
  if (qp.sent < qp.window.size()) return Next::go_on;
  if (faults_.rests(scheduler_.now())) return Next::again;
  return window_.may_begin(qp) && window_.begin(qp) ? Next::go_on : Next::wait;
}

inline QueueRunner::Next QueueRunner::send_part(Qp& qp, std::uint64_t& bytes) {
  const Outgoing& out = qp.window[qp.sent];
  const std::uint64_t before = out.sent, all = out.bytes;
  const std::size_t waiting = qp.window.size() - qp.sent;
  steps_.begin(qp, qp.sending, {out.index, out.sent, qp.round});
  const bool goes_on = requester_.send_next(qp);
  if (steps_.end(qp.sending)) return requester_.end_long_wait(qp) ? Next::again : Next::wait;
  scheduler_.limit_wait(qp, std::nullopt);
  if (!goes_on) return Next::wait;
  const bool gone = qp.window.size() - qp.sent < waiting;
  const std::uint64_t gained = (gone ? all : qp.window[qp.sent].sent) - before;
  bytes += gained;
  scheduler_.add_moved_bytes(gained);
  return Next::go_on;
}

inline QueueRunner::Next QueueRunner::send_requests(Qp& qp) {
  std::uint64_t bytes = 0;
  for (int requests = 0; requests < kTurnRequests && bytes < kTurnBytes; ++requests) {
    if (const Next next = begin_request(qp); next != Next::go_on) return next;
    if (const Next next = send_part(qp, bytes); next != Next::go_on) return next;
  }
  return Next::again;
}

bool QueueRunner::run(Qp& qp) {
  trace_.report_posted(qp);
  if (qp.state == QpState::err || qp.state == QpState::sqe) {
    shutdown_.flush(qp);
    return qp.state == QpState::sqe && remote_responder_.run_waiting(qp);  // it still receives
  }
  remote_requester_.run_waiting(qp);
  const bool more = remote_responder_.run_waiting(qp);
  if (qp.state != QpState::rts && qp.state != QpState::sqd) return more;
  if (!remote_requester_.may_send(qp)) return more;
  if (!qp.until) return send_requests(qp) == Next::again || more;
  if (scheduler_.now() < *qp.until) return more;
  return end_wait(qp) && (send_requests(qp) == Next::again || more);
}

}  // namespace scela::hca
