#include "hca/core/interp/remote_requester.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace scela::hca {
namespace {

// The limit of answers that wait, for a queue pair. An honest peer has fewer on its way (its
// window, and kMaxAhead).
constexpr std::size_t kMaxKeptAnswers = 256;

}  // namespace

bool RemoteRequester::may_send(Qp& qp) {
  if (!qp.waits_for_answer_room) return true;
  if (!kept_.has_room(qp.owner, RoomFor::answers)) {
    kept_.wait_for_room(qp.owner, RoomFor::answers, qp.handle);
    return false;
  }
  qp.waits_for_answer_room = false;
  return true;
}

bool RemoteRequester::send_next(Qp& qp, Outgoing& out) {
  if (!frames_.is_ready_for(qp.node, qp)) return false;
  // The other node reports when it has taken more.
  const bool carries = !asks_for_data(out.request.opcode);
  if (qp.reliable() && carries && out.sent - out.taken >= kMaxAhead) return false;
  const SendResult sent = parts_.send(qp.node, qp.attributes.dest_qpn, qp, out);
  if (sent == SendResult::later) return false;
  if (sent == SendResult::no_memory) {
    window_.settle(qp, out, Status::local_protection);
    return false;
  }
  if (sent == SendResult::no_connection && qp.reliable()) {
    window_.apply(qp, kSilent);
    return false;
  }
  const std::uint64_t left = out.bytes - out.sent;
  out.sent += carries ? std::min(left, kMaxPayload) : left;
  if (out.sent < out.bytes) return true;
  if (qp.reliable())
    ++qp.sent;
  else
    window_.settle(qp, out, Status::success);
  return true;
}

bool RemoteRequester::receive(Qp& qp, const FrameHeader& header, std::span<const std::byte> frame) {
  if (header.kind == FrameKind::taken) {
    on_message_progress(qp, header);
    return true;
  }
  if (header.kind == FrameKind::read_on) {
    on_read_progress(qp, header);
    return true;
  }
  if (!qp.arrived.empty()) {
    keep(qp, frame);
    return true;
  }
  steps_.begin(qp, qp.arriving, {});
  const bool known = execute(qp, header, frame);
  if (steps_.end(qp.arriving)) keep(qp, frame);
  return known;
}

void RemoteRequester::on_message_progress(Qp& qp, const FrameHeader& header) {
  if (header.round != qp.round || qp.sent >= qp.window.size()) return;
  Outgoing& out = qp.window[qp.sent];
  if (out.psn != header.psn || header.offset > out.sent) return;
  out.taken = std::max(out.taken, header.offset);
  scheduler_.schedule(qp);
}

void RemoteRequester::on_read_progress(Qp& qp, const FrameHeader& header) {
  if (qp.answering.empty()) return;
  Answering& read = qp.answering.front();
  if (read.psn != header.psn || read.round != header.round || header.offset > read.sent) return;
  read.taken = std::max(read.taken, header.offset);
  scheduler_.schedule(qp);
}

bool RemoteRequester::execute(Qp& qp, const FrameHeader& header, std::span<const std::byte> frame) {
  if (!qp.has_begun() || qp.attributes.dest_qpn != header.source_qpn ||
      (qp.state != QpState::rts && qp.state != QpState::sqd) || header.round != qp.round ||
      header.psn != qp.window.front().psn)
    return true;
  if (header.kind == FrameKind::data) {
    store_data(qp, header, frame.subspan(sizeof(FrameHeader)));
    return true;
  }
  if (header.kind == FrameKind::again) {
    send_again(qp, header);
    return true;
  }
  return execute_verdict(qp, header);
}

bool RemoteRequester::execute_verdict(Qp& qp, const FrameHeader& header) {
  Outgoing& out = qp.window.front();
  Verdict verdict;
  verdict.status = header.status;
  verdict.rnr_timer = static_cast<std::uint8_t>(header.rnr_timer & 31);
  switch (header.verdict) {
    case static_cast<std::uint32_t>(Verdict::Kind::accepted):
      // The answer to a read is its data. A message that has not been sent whole cannot have been
      // accepted.
      if ((out.request.opcode == Opcode::rdma_read && out.bytes > 0) || qp.sent == 0) return true;
      break;
    case static_cast<std::uint32_t>(Verdict::Kind::silent):
      verdict.kind = Verdict::Kind::silent;
      break;
    case static_cast<std::uint32_t>(Verdict::Kind::not_ready):
      verdict.kind = Verdict::Kind::not_ready;
      break;
    case static_cast<std::uint32_t>(Verdict::Kind::refused):
      verdict.kind = Verdict::Kind::refused;
      break;
    default:
      return false;
  }
  const bool can_be_said = verdict.status == Status::remote_invalid_request ||
                           verdict.status == Status::remote_access ||
                           verdict.status == Status::remote_operation;
  if (verdict.kind == Verdict::Kind::refused && !can_be_said) return false;
  if (verdict.kind == Verdict::Kind::accepted && asks_for_data(out.request.opcode) &&
      out.bytes > 0) {
    FrameHeader result = header;
    result.count = 8;
    result.offset = 0;
    store_data(qp, result, std::as_bytes(std::span(&header.compare_add, 1)));
  } else {
    window_.apply(qp, verdict);
  }
  if (!qp.arriving.held) scheduler_.schedule(qp);
  return true;
}

void RemoteRequester::store_data(Qp& qp, const FrameHeader& header,
                                 std::span<const std::byte> bytes) {
  Outgoing& out = qp.window.front();
  if (!asks_for_data(out.request.opcode) || header.offset + bytes.size() > out.bytes) return;
  Incoming incoming;
  incoming.bytes = bytes;
  incoming.count = bytes.size();
  const bool named =
      objects_.find_pieces(out.sges, qp.pd, qp.owner, access::kLocalWrite, out.pieces);
  const Transfer moved =
      named ? payloads_.deliver(incoming, qp.owner, out.pieces, header.offset) : Transfer::refused;
  if (moved == Transfer::later) return;
  if (moved == Transfer::refused) {
    window_.settle(qp, out, Status::local_protection);
    return;
  }
  const bool is_read = out.request.opcode == Opcode::rdma_read;
  if (!is_read || header.offset + bytes.size() == out.bytes) {
    window_.apply(qp, {});
    scheduler_.schedule(qp);
  } else if (must_report_progress(header.offset, bytes.size(), out.bytes)) {
    frames_.send_control(FrameKind::read_on, qp, out.psn, qp.round, header.offset + bytes.size());
  }
}

void RemoteRequester::send_again(Qp& qp, const FrameHeader& header) {
  window_.try_again(qp, 0, false);
  Outgoing& out = qp.window.front();
  const bool has_bytes = !out.done && !asks_for_data(out.request.opcode);
  if (has_bytes && header.offset < out.bytes) out.sent = out.taken = header.offset;
}

void RemoteRequester::keep(Qp& qp, std::span<const std::byte> frame) {
  const bool too_many = qp.arrived.size() >= kMaxKeptAnswers;
  if (!too_many && !kept_.would_exceed(qp.owner, RoomFor::answers, 1)) {
    qp.arrived.emplace_back(kept_.counter(qp.owner, RoomFor::answers), frame);
    return;
  }
  steps_.abandon(qp.arriving);
  qp.arrived.clear();
  if ((qp.state != QpState::rts && qp.state != QpState::sqd) || !qp.has_begun()) return;
  // No honest node sends that many answers; it counts as if the node had not answered.
  if (too_many) return window_.apply(qp, kSilent);
  window_.try_again(qp, 0, false);
  qp.waits_for_answer_room = true;
}

void RemoteRequester::run_waiting(Qp& qp) {
  while (!qp.arrived.empty()) {
    // The frame is out of the queue meanwhile: the queue is cleared if the answer ends the queue
    // pair.
    CountedBytes frame = std::move(qp.arrived.front());
    qp.arrived.pop_front();
    FrameHeader header;
    std::memcpy(&header, frame.bytes().data(), sizeof header);
    steps_.begin(qp, qp.arriving, {});
    execute(qp, header, frame.bytes());
    if (!steps_.end(qp.arriving)) continue;
    qp.arrived.push_front(std::move(frame));
    return;
  }
}

void RemoteRequester::drop_answers(Qp& qp) {
  qp.arrived.clear();
  steps_.abandon(qp.arriving);
}

void RemoteRequester::repeat_unanswered(Qp& qp) {
  if ((qp.state == QpState::rts || qp.state == QpState::sqd) && qp.has_begun() && qp.reliable())
    window_.apply(qp, kSilent);
}

}  // namespace scela::hca
