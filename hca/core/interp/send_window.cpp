#include "hca/core/interp/send_window.h"

#include <array>
#include <cstring>
#include <utility>

#include "hca/core/wire/doorbells.h"

namespace scela::hca {
namespace {

// The limits of what is on its way to another node and not answered.
constexpr std::size_t kWindowRequests = 64;
constexpr std::uint64_t kWindowBytes = 1024 * 1024;

bool may_send(QpType type, Opcode opcode) {
  switch (opcode) {
    case Opcode::send:
    case Opcode::send_with_imm:
      return type != QpType::xrc_recv;
    case Opcode::rdma_write:
    case Opcode::rdma_write_with_imm:
      return type != QpType::ud && type != QpType::xrc_recv;
    case Opcode::rdma_read:
    case Opcode::compare_swap:
    case Opcode::fetch_add:
      return type == QpType::rc || type == QpType::xrc_send;
    case Opcode::wait:
    case Opcode::send_enable:
    case Opcode::recv_enable:
    case Opcode::calc:
      return type != QpType::xrc_recv;
    default:
      return false;
  }
}

// Returns whether the queue pair's type and its limits permit the request.
bool is_permitted(const Qp& qp, const SendRequest& request) {
  const bool inlined = (request.flags & send_flag::kInlined) != 0;
  return may_send(qp.type, request.opcode) && request.sge_count <= qp.send.sges &&
         (!inlined ||
          (request.inline_bytes <= qp.cap.inline_bytes && !asks_for_data(request.opcode))) &&
         (!asks_for_data(request.opcode) || qp.attributes.max_rd_atomic > 0);
}

// Adds a request without values to the window. The memory of completed ones is used again.
Outgoing& add_outgoing(Qp& qp) {
  if (qp.spare.empty()) {
    qp.window.emplace_back();
  } else {
    qp.window.push_back(std::move(qp.spare.back()));
    qp.spare.pop_back();
  }
  Outgoing& out = qp.window.back();
  out.sent = 0;
  out.taken = 0;
  out.bytes = 0;
  out.done = false;
  out.before.reset();
  out.times.reset();
  out.served.clear();
  out.late_until = 0;
  out.sges.clear();
  out.data.clear();
  return out;
}

// Reads what follows the request in its entry of the send queue: inline data, or the buffers.
void read_payload(const std::byte* entry, Outgoing& out) {
  const SendRequest& request = out.request;
  if ((request.flags & send_flag::kInlined) != 0) {
    const std::byte* data = entry + sizeof(SendRequest);
    out.data.assign(data, data + request.inline_bytes);
    out.bytes = request.inline_bytes;
    return;
  }
  out.sges.resize(request.sge_count);
  if (!out.sges.empty())
    std::memcpy(out.sges.data(), entry + sizeof(SendRequest), request.sge_count * sizeof(Sge));
  for (const Sge& sge : out.sges)
    out.bytes += sge.length;
}

// Returns the time, in nanoseconds, that a "receiver not ready" code stands for (IBTA table 45).
Moment rnr_time(std::uint8_t code) {
  constexpr std::array<Moment, 32> kHundredths{
      // The times are hundredths of a millisecond.
      65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
      48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
      2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return kHundredths[code & 31] * 10'000;
}

}  // namespace

bool SendWindow::begin(Qp& qp) {
  Ring& ring = qp.send;
  if (!ring.head || ring.next >= ring.ready()) return false;
  if (!faults_.may_begin_request(scheduler_.now())) return false;
  // The request was posted after this turn began.
  if (ring.next >= qp.seen) trace_.report_posted(qp);
  Outgoing& out = add_outgoing(qp);
  const std::byte* entry = ring.entry(ring.next);
  std::memcpy(&out.request, entry, sizeof out.request);
  out.index = ring.next;
  out.began = trace_.time();
  ++qp.traffic.posted;
  const SendRequest& request = out.request;
  const bool permitted = is_permitted(qp, request);
  if (permitted) read_payload(entry, out);
  ++ring.next;
  ring.head->taken.store(ring.next, std::memory_order_release);
  if (qp.window.size() == 1) {
    qp.retries_left = qp.attributes.retry_count;
    qp.rnr_left = qp.attributes.rnr_retry;
  }
  // A Q_Key with its highest bit set stands for the queue pair's own (IBTA 10.2.5).
  if ((request.destination.qkey >> 31) != 0) out.request.destination.qkey = qp.attributes.qkey;
  if (!permitted || out.bytes > limit::kMessageBytes ||
      (is_atomic(request.opcode) && out.bytes < 8)) {
    settle(qp, out, permitted ? Status::local_length : Status::local_qp_operation);
    return false;
  }
  // An atomic operation has 8 bytes, however large the buffer of its result is.
  if (is_atomic(request.opcode)) out.bytes = 8;
  if (!is_management(request.opcode)) {
    out.psn = qp.send_psn;
    qp.send_psn = (qp.send_psn + 1) & kPsnMask;
  }
  return true;
}

bool SendWindow::may_begin(const Qp& qp) const {
  if (qp.state == QpState::sqd) return false;
  if (qp.window.empty()) return true;
  if (qp.window.back().done || qp.window.size() >= kWindowRequests) return false;
  std::uint64_t bytes = 0;
  for (const Outgoing& out : qp.window)
    bytes += out.bytes;
  return bytes < kWindowBytes;
}

bool SendWindow::must_wait(const Qp& qp) const {
  const SendRequest& request = qp.window[qp.sent].request;
  std::uint32_t reads = 0;
  for (std::size_t i = 0; i < qp.sent; ++i)
    if (!qp.window[i].done && asks_for_data(qp.window[i].request.opcode)) ++reads;
  if ((request.flags & send_flag::kFence) != 0 && reads > 0) return true;
  // Requests behind a read wait at its responder until the read is answered; their bytes are
  // limited.
  if (reads > 0) {
    std::uint64_t behind = 0;
    for (const Outgoing& out : qp.window)
      if (!asks_for_data(out.request.opcode)) behind += out.sent;
    if (behind >= kWindowBytes) return true;
  }
  return asks_for_data(request.opcode) && reads >= qp.attributes.max_rd_atomic;
}

void SendWindow::apply(Qp& qp, const Verdict& verdict) {
  Outgoing& out = qp.window.front();
  switch (verdict.kind) {
    case Verdict::Kind::accepted:
      qp.retries_left = qp.attributes.retry_count;
      qp.rnr_left = qp.attributes.rnr_retry;
      settle(qp, out, Status::success);
      return;
    case Verdict::Kind::silent:
      try_again(qp, 4096ULL << qp.attributes.timeout, true);
      return;
    case Verdict::Kind::not_ready:
      if (qp.rnr_left == 0) {
        settle(qp, out, Status::rnr_retry_exceeded);
        return;
      }
      if (qp.attributes.rnr_retry != 7) --qp.rnr_left;
      ++qp.traffic.rnr_retries;
      try_again(qp, rnr_time(verdict.rnr_timer), false);
      return;
    case Verdict::Kind::refused:
      settle(qp, out, verdict.status);
      return;
    case Verdict::Kind::later:
    case Verdict::Kind::held:
      return;
  }
}

void SendWindow::try_again(Qp& qp, Moment after, bool unanswered) {
  for (Outgoing& out : qp.window)
    out.sent = out.taken = 0;
  qp.sent = 0;
  ++qp.round;
  qp.unanswered = unanswered;
  // Bytes kept for the interrupted step are dropped until it is repeated: others of its process
  // need the room.
  if (!steps_.is_present(qp.sending)) steps_.abandon(qp.sending);
  // A timeout of 0 means none: the queue pair waits until it is told to stop.
  const bool for_ever = unanswered && qp.attributes.timeout == 0;
  scheduler_.wait_until(qp, for_ever ? ~Moment{0} : scheduler_.now() + after);
}

void SendWindow::settle(Qp& qp, Outgoing& out, Status status) {
  out.done = true;
  out.status = status;
  // Requests behind a failed one are not sent.
  while (qp.sent < qp.window.size() && qp.window[qp.sent].done)
    ++qp.sent;
  drain(qp);
}

void SendWindow::drain(Qp& qp) {
  while (!qp.window.empty() && qp.window.front().done) {
    Outgoing out = std::move(qp.window.front());
    qp.window.pop_front();
    if (qp.sent > 0) --qp.sent;
    completions_.complete_send(qp, out, out.status);
    const Status status = out.status;
    qp.spare.push_back(std::move(out));
    if (status == Status::success) continue;
    if (qp.reliable()) {
      shutdown_.enter_error(qp);
    } else {
      qp.state = QpState::sqe;
      want_doorbells(*qp.send.head);
      shutdown_.flush(qp);
    }
    return;
  }
  if (qp.state == QpState::sqd && qp.window.empty() && qp.attributes.sqd_notify != 0)
    completions_.send_event(qp, EventType::sq_drained);
}

}  // namespace scela::hca
