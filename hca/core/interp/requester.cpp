#include "hca/core/interp/requester.h"

#include <algorithm>

namespace scela::hca {
namespace {

// The least time (ns) that a step waits for the memory of another, stopped process; the transport's
// timeouts may be longer. It is longer than a running process waits for a processor on any usable
// machine.
constexpr Moment kLeastPatience = 10'000'000'000;

}  // namespace

bool Requester::send_next(Qp& qp) {
  Outgoing& out = qp.window[qp.sent];
  if (is_management(out.request.opcode)) return run_task(qp, out);
  if (qp.sent > 0 && window_.must_wait(qp)) return false;
  // The check is repeated for each part: a region may be gone meanwhile.
  const std::uint32_t rights = asks_for_data(out.request.opcode) ? access::kLocalWrite : 0;
  if (!objects_.find_pieces(out.sges, qp.pd, qp.owner, rights, out.pieces)) {
    window_.settle(qp, out, Status::local_protection);
    return false;
  }
  if (out.sent == 0 && out.request.opcode == Opcode::rdma_read &&
      payloads_.spoil(qp.owner, out.pieces, out.bytes) == Transfer::later)
    return false;
  if (qp.type == QpType::ud) return send_datagram(qp, out);
  return qp.node == 0 ? send_here(qp, out) : remote_.send_next(qp, out);
}

bool Requester::run_task(Qp& qp, Outgoing& out) {
  const std::optional<Status> status = tasks_.execute(qp, out);
  if (!status) return false;
  window_.settle(qp, out, *status);
  return *status == Status::success;
}

bool Requester::send_datagram(Qp& qp, Outgoing& out) {
  switch (datagrams_.send(qp, out)) {
    case SendResult::later:
      return false;
    case SendResult::no_memory:
      window_.settle(qp, out, Status::local_protection);
      return false;
    case SendResult::sent:
    case SendResult::no_connection:
      break;
  }
  out.sent = out.bytes;
  window_.settle(qp, out, Status::success);
  return true;
}

bool Requester::send_here(Qp& qp, Outgoing& out) {
  const Incoming incoming = next_part(ports_, qp, out);
  Verdict verdict = kSilent;
  if (out.before)  // executed before the step was held
    verdict = {Verdict::Kind::accepted, Status::success, 0, *out.before};
  else if (qp.reachable)
    verdict = responder_.respond(qp.attributes.dest_qpn, incoming);
  if (verdict.kind == Verdict::Kind::held) return false;
  // A queue pair that is connected to itself is in error by what it received; its requests are
  // flushed.
  if (qp.state == QpState::err) return false;
  if (verdict.kind != Verdict::Kind::accepted && !qp.reliable()) {
    out.sent = out.bytes;  // lost without an error
    window_.settle(qp, out, Status::success);
    return true;
  }
  if (verdict.kind != Verdict::Kind::accepted) {
    window_.apply(qp, verdict);
    return false;
  }
  if (is_atomic(out.request.opcode)) {
    out.before = verdict.before;
    const Transfer moved = store_result(qp, out, incoming);
    if (moved == Transfer::later) return false;
    if (moved == Transfer::refused)
      verdict = {Verdict::Kind::refused, Status::local_protection, 0, 0};
  }
  out.sent += incoming.count;
  if (incoming.last() || verdict.kind == Verdict::Kind::refused) {
    ++qp.sent;
    window_.apply(qp, verdict);
  }
  return true;
}

Transfer Requester::store_result(const Qp& qp, Outgoing& out, const Incoming& incoming) {
  Incoming result = incoming;
  result.bytes = std::as_bytes(std::span(&*out.before, 1));
  result.offset = 0;
  result.total = result.count = 8;
  return payloads_.deliver(result, qp.owner, out.pieces, 0);
}

// A step may wait for its own process without limit. If it waits too long for another process, it
// ends as if there had been no answer.
bool Requester::end_long_wait(Qp& qp) {
  if (qp.sending.waits_for == qp.owner || (qp.reliable() && qp.attributes.timeout == 0))
    return false;
  if (!qp.patience) {
    const Moment silence = (4096ULL << qp.attributes.timeout) * (qp.attributes.retry_count + 1);
    scheduler_.limit_wait(qp,
                          scheduler_.now() + std::max(kLeastPatience, qp.reliable() ? silence : 0));
    return false;
  }
  if (scheduler_.now() < *qp.patience) return false;
  scheduler_.limit_wait(qp, std::nullopt);
  steps_.abandon(qp.sending);
  qp.sending.held = false;
  Outgoing& out = qp.window[qp.sent];
  if (!qp.reliable()) out.sent = out.bytes;  // lost without an error
  window_.settle(qp, out, qp.reliable() ? Status::retry_exceeded : Status::success);
  return true;
}

}  // namespace scela::hca
