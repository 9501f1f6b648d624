// The sending half of a queue pair: it takes requests from its queue in order, and completes them
// in order.
#include <algorithm>
#include <array>
#include <cstring>

#include "hca/core/model/state.h"
#include "hca/core/wire/address.h"
#include "hca/core/wire/doorbells.h"

namespace scela::hca {
namespace {

// The limits of one queue pair's turn, so that the others do not wait long.
constexpr int kTurnRequests = 32;
constexpr std::uint64_t kTurnBytes = 512 * 1024;
constexpr std::uint64_t kPartBytes = 1024 * 1024;

// The limits of what is on its way to another node and not answered.
constexpr std::size_t kWindowRequests = 64;
constexpr std::uint64_t kWindowBytes = 1024 * 1024;

bool is_management(Opcode opcode) {
  return static_cast<std::uint32_t>(opcode) >= 0x100;
}
bool answers_with_data(Opcode opcode) {
  return opcode == Opcode::rdma_read || opcode == Opcode::compare_swap ||
         opcode == Opcode::fetch_add;
}

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

}  // namespace

Moment rnr_time(std::uint8_t code) {
  constexpr std::array<Moment, 32> kHundredths{
      // The times are hundredths of a millisecond.
      65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
      48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
      2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return kHundredths[code & 31] * 10'000;
}

void Engine::State::schedule(Qp& qp) {
  if (qp.scheduled) return;
  qp.scheduled = true;
  runnable.push_back(qp.handle);
}

void Engine::State::wait_until(Qp& qp, std::optional<Moment> moment) {
  if (qp.until) timers.erase({*qp.until, qp.handle});
  qp.until = moment;
  if (moment) timers.insert({*moment, qp.handle});
}

bool Engine::State::run_queue(Qp& qp) {
  if (trace_sink) look_at_posted(qp);
  if (qp.state == QpState::err || qp.state == QpState::sqe) {
    flush(qp);
    return qp.state == QpState::sqe && run_answers(qp);  // it still receives
  }
  run_arrived(qp);
  bool more = run_answers(qp);
  if (qp.state != QpState::rts && qp.state != QpState::sqd) return more;
  if (!may_go_on(qp)) return more;
  if (qp.until) {
    if (now < *qp.until) return more;
    wait_until(qp, std::nullopt);
    if (std::exchange(qp.unanswered, false)) {
      if (qp.retries_left == 0) {
        settle(qp, qp.window.front(), Status::retry_exceeded);
        return false;
      }
      --qp.retries_left;
      ++qp.traffic.retries;
    }
  }
  std::uint64_t bytes = 0;
  for (int requests = 0; requests < kTurnRequests && bytes < kTurnBytes; ++requests) {
    // In a new round, a request that is over already (failed, or a task) is not executed again.
    while (qp.sent < qp.window.size() && qp.window[qp.sent].done)
      ++qp.sent;
    if (qp.sent == qp.window.size()) {
      if (rests()) return true;
      if (!may_begin(qp) || !begin(qp)) return more;
    }
    const Outgoing& out = qp.window[qp.sent];
    const std::uint64_t before = out.sent, all = out.bytes;
    const std::size_t waiting = qp.window.size() - qp.sent;
    begin_step(qp, qp.sending, {out.index, out.sent, qp.round});
    const bool goes_on = go_on(qp);
    if (end_step(qp.sending)) {
      const bool over = is_over(qp);
      return over || more;
    }
    lose_patience(qp, std::nullopt);
    if (!goes_on) return more;
    const bool gone = qp.window.size() - qp.sent < waiting;
    const std::uint64_t gained = (gone ? all : qp.window[qp.sent].sent) - before;
    bytes += gained;
    moved_bytes += gained;
  }
  return true;
}

bool Engine::State::may_begin(const Qp& qp) const {
  if (qp.state == QpState::sqd) return false;
  if (qp.window.empty()) return true;
  if (qp.window.back().done || qp.window.size() >= kWindowRequests) return false;
  std::uint64_t bytes = 0;
  for (const Outgoing& out : qp.window)
    bytes += out.bytes;
  return bytes < kWindowBytes;
}

// Reads the next request. Returns false if there is none or it is wrong.
bool Engine::State::begin(Qp& qp) {
  Ring& ring = qp.send;
  if (!ring.head || ring.next >= ring.ready()) return false;
  died = settings.faults.dies_after != 0 && begun == settings.faults.dies_after;
  if (died) return false;
  ++begun;
  rests_until = now + Moment{settings.faults.slow_us} * 1000;
  // The request was posted after this turn began.
  if (trace_sink && ring.next >= qp.seen) look_at_posted(qp);
  if (qp.spare.empty()) {
    qp.window.emplace_back();
  } else {
    qp.window.push_back(std::move(qp.spare.back()));
    qp.spare.pop_back();
  }
  Outgoing& out = qp.window.back();
  const std::byte* entry = ring.entry(ring.next);
  std::memcpy(&out.request, entry, sizeof out.request);
  out.index = ring.next;
  out.began = trace_sink ? trace_sink->time() : 0;
  ++qp.traffic.posted;
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
  const SendRequest& request = out.request;
  const bool inlined = (request.flags & send_flag::kInlined) != 0;
  bool well = may_send(qp.type, request.opcode) && request.sge_count <= ring.sges &&
              (!inlined || (request.inline_bytes <= qp.cap.inline_bytes &&
                            !answers_with_data(request.opcode))) &&
              (!answers_with_data(request.opcode) || qp.attributes.max_rd_atomic > 0);
  if (well && inlined) {
    const std::byte* data = entry + sizeof(SendRequest);
    out.data.assign(data, data + request.inline_bytes);
    out.bytes = request.inline_bytes;
  } else if (well) {
    out.sges.resize(request.sge_count);
    if (!out.sges.empty())
      std::memcpy(out.sges.data(), entry + sizeof(SendRequest), request.sge_count * sizeof(Sge));
    for (const Sge& sge : out.sges)
      out.bytes += sge.length;
  }
  ++ring.next;
  ring.head->taken.store(ring.next, std::memory_order_release);
  if (qp.window.size() == 1) {
    qp.retries_left = qp.attributes.retry_count;
    qp.rnr_left = qp.attributes.rnr_retry;
  }
  // A Q_Key with its highest bit set stands for the queue pair's own (IBTA 10.2.5).
  if ((out.request.destination.qkey >> 31) != 0) out.request.destination.qkey = qp.attributes.qkey;
  if (!well || out.bytes > limit::kMessageBytes || (is_atomic(request.opcode) && out.bytes < 8)) {
    settle(qp, out, well ? Status::local_length : Status::local_qp_operation);
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

Incoming Engine::State::incoming_of(const Qp& qp, const Outgoing& out) const {
  Incoming incoming;
  incoming.source_qpn = qp.handle;
  incoming.source_type = qp.type;
  const unsigned port = qp.attributes.port == 2 ? 1 : 0;
  incoming.source_lid = static_cast<std::uint16_t>(settings.first_lid + port);
  incoming.source_gid = settings.gid;
  incoming.source_gid.bytes[15] = static_cast<std::uint8_t>(incoming.source_gid.bytes[15] + port);
  incoming.port = target_port(qp, out);
  incoming.from = qp.owner;
  incoming.request = &out.request;
  incoming.psn = out.psn;
  incoming.total = out.bytes;
  incoming.offset = out.sent;
  incoming.count = std::min(out.bytes - out.sent, kPartBytes);
  if ((out.request.flags & send_flag::kInlined) != 0 || !out.data.empty())
    incoming.bytes = std::span(out.data).subspan(out.sent, incoming.count);
  else
    incoming.pieces = &out.pieces;
  return incoming;
}

std::uint8_t Engine::State::target_port(const Qp& qp, const Outgoing& out) {
  const QpAttributes& way = qp.attributes;
  if (qp.type != QpType::ud) return port_of(way.dgid, way.is_global != 0, way.dlid);
  const Destination& to = out.request.destination;
  const bool to_group = is_group(to.gid, to.is_global != 0);
  return to_group ? std::uint8_t{0} : port_of(to.gid, to.is_global != 0, to.lid);
}

bool Engine::State::is_local(const Gid& gid, bool is_global, std::uint16_t lid) const {
  if (!is_global) return lid == settings.first_lid || lid == settings.first_lid + 1;
  Gid other = settings.gid;
  other.bytes[15] = static_cast<std::uint8_t>(other.bytes[15] + 1);
  return gid == settings.gid || gid == other;
}

// Returns whether the next request must wait for the answers to earlier ones.
bool Engine::State::must_wait(const Qp& qp) const {
  const SendRequest& request = qp.window[qp.sent].request;
  std::uint32_t reads = 0;
  for (std::size_t i = 0; i < qp.sent; ++i)
    if (!qp.window[i].done && answers_with_data(qp.window[i].request.opcode)) ++reads;
  if ((request.flags & send_flag::kFence) != 0 && reads > 0) return true;
  // Requests behind a read wait at its responder until the read is answered; their bytes are
  // limited.
  if (reads > 0) {
    std::uint64_t behind = 0;
    for (const Outgoing& out : qp.window)
      if (!answers_with_data(out.request.opcode)) behind += out.sent;
    if (behind >= kWindowBytes) return true;
  }
  return answers_with_data(request.opcode) && reads >= qp.attributes.max_rd_atomic;
}

// Sends the next part of the next request. Returns false if the queue pair waits or is in error.
bool Engine::State::go_on(Qp& qp) {
  Outgoing& out = qp.window[qp.sent];
  if (is_management(out.request.opcode)) return manage(qp, out);
  if (qp.sent > 0 && must_wait(qp)) return false;
  // The check is repeated for each part: a region may be gone meanwhile.
  const std::uint32_t rights = answers_with_data(out.request.opcode) ? access::kLocalWrite : 0;
  if (!pieces_of(out.sges, qp.pd, qp.owner, rights, out.pieces)) {
    settle(qp, out, Status::local_protection);
    return false;
  }
  if (settings.seed != 0 && out.sent == 0 && out.request.opcode == Opcode::rdma_read &&
      spoil(qp.owner, out.pieces, out.bytes) == Transfer::later)
    return false;
  if (qp.type == QpType::ud) return datagram(qp, out);
  return qp.node == 0 ? send_here(qp, out) : send_there(qp, out);
}

// Sends to a queue pair of this node, which answers at once.
bool Engine::State::send_here(Qp& qp, Outgoing& out) {
  const Incoming incoming = incoming_of(qp, out);
  Verdict verdict{Verdict::Kind::silent, Status::success, 0, 0};
  if (out.before)  // executed before the step was held
    verdict = {Verdict::Kind::accepted, Status::success, 0, *out.before};
  else if (qp.reachable)
    verdict = respond(qp.attributes.dest_qpn, incoming);
  if (verdict.kind == Verdict::Kind::held) return false;
  // A queue pair that is connected to itself is in error by what it received; its requests are
  // flushed.
  if (qp.state == QpState::err) return false;
  if (verdict.kind != Verdict::Kind::accepted && !qp.reliable()) {
    out.sent = out.bytes;  // lost without an error
    settle(qp, out, Status::success);
    return true;
  }
  if (verdict.kind != Verdict::Kind::accepted) {
    answered(qp, verdict);
    return false;
  }
  if (is_atomic(out.request.opcode)) {
    out.before = verdict.before;
    Incoming result = incoming;
    result.bytes = std::as_bytes(std::span(&verdict.before, 1));
    result.offset = 0;
    result.total = result.count = 8;
    const Transfer moved = deliver(result, qp.owner, out.pieces, 0);
    if (moved == Transfer::later) return false;
    if (moved == Transfer::refused)
      verdict = {Verdict::Kind::refused, Status::local_protection, 0, 0};
  }
  out.sent += incoming.count;
  if (incoming.last() || verdict.kind == Verdict::Kind::refused) {
    ++qp.sent;
    answered(qp, verdict);
  }
  return true;
}

// Applies the verdict to the oldest request that is not answered.
void Engine::State::answered(Qp& qp, const Verdict& verdict) {
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

// Begins a new round with the oldest request that is not answered.
void Engine::State::try_again(Qp& qp, Moment after, bool unanswered) {
  for (Outgoing& out : qp.window)
    out.sent = out.taken = 0;
  qp.sent = 0;
  ++qp.round;
  qp.unanswered = unanswered;
  // Bytes kept for the interrupted step are dropped until it is repeated: others of its process
  // need the room.
  if (step != &qp.sending) forget(qp.sending);
  // A timeout of 0 means none: the queue pair waits until it is told to stop.
  const bool for_ever = unanswered && qp.attributes.timeout == 0;
  wait_until(qp, for_ever ? ~Moment{0} : now + after);
}

// The request is over. It completes once the requests before it have completed.
void Engine::State::settle(Qp& qp, Outgoing& out, Status status) {
  out.done = true;
  out.status = status;
  // Requests behind a failed one are not sent.
  while (qp.sent < qp.window.size() && qp.window[qp.sent].done)
    ++qp.sent;
  drain(qp);
}

void Engine::State::drain(Qp& qp) {
  while (!qp.window.empty() && qp.window.front().done) {
    Outgoing out = std::move(qp.window.front());
    qp.window.pop_front();
    if (qp.sent > 0) --qp.sent;
    count(qp, out, out.status);
    complete_send(qp, out, out.status);
    const Status status = out.status;
    qp.spare.push_back(std::move(out));
    if (status == Status::success) continue;
    if (qp.reliable()) {
      enter_error(qp);
    } else {
      qp.state = QpState::sqe;
      want_doorbells(*qp.send.head);
      flush(qp);
    }
    return;
  }
  if (qp.state == QpState::sqd && qp.window.empty() && qp.attributes.sqd_notify != 0)
    event(qp, EventType::sq_drained);
}

// Counts a request that is over.
void Engine::State::count(Qp& qp, const Outgoing& out, Status status) {
  if (status == Status::success) {
    ++qp.traffic.executed;
    qp.traffic.sent_bytes += out.bytes;
  } else {
    ++qp.traffic.failed;
  }
  if (trace_sink)
    trace_sink->executed(
        {qp.owner, qp.handle, qp.type, out.request.opcode, out.request.wr_id, out.bytes}, out.began,
        status);
}

// Tells the trace sink of the requests posted since it last looked.
void Engine::State::look_at_posted(Qp& qp) {
  if (!qp.send.head) return;
  const std::uint64_t end = qp.send.end();
  for (qp.seen = std::max(qp.seen, qp.send.next); qp.seen < end; ++qp.seen) {
    SendRequest request;
    std::memcpy(&request, qp.send.entry(qp.seen), sizeof request);
    trace_sink->posted({qp.owner, qp.handle, qp.type, request.opcode, request.wr_id, 0});
  }
}

void Engine::State::complete_send(Qp& qp, const Outgoing& out, Status status) {
  if (status == Status::success && !qp.signal_all &&
      (out.request.flags & send_flag::kSignaled) == 0)
    return;
  Completion completion;
  completion.wr_id = out.request.wr_id;
  completion.queue_index = out.index;
  completion.status = status;
  completion.opcode = done_of(out.request.opcode);
  completion.bytes = static_cast<std::uint32_t>(out.bytes);
  completion.qpn = qp.handle;
  completion.owner = qp.handle;
  complete(qp.send_cq, completion, false);
}

}  // namespace scela::hca
