#include "hca/core/interp/remote_responder.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace scela::hca {
namespace {

// Returns the request that a frame is a part of.
SendRequest request_of(const FrameHeader& header) {
  SendRequest request;
  request.opcode = header.opcode;
  request.flags = header.flags & send_flag::kSolicited;
  request.immediate = header.immediate;
  request.remote_srqn = header.remote_srqn;
  request.remote_address = header.remote_address;
  request.compare_add = header.compare_add;
  request.swap = header.swap;
  request.rkey = header.rkey;
  request.destination.qkey = header.qkey;
  request.destination.is_global = header.is_global != 0 ? 1 : 0;
  request.destination.gid = header.target_gid;
  return request;
}

// Describes the part of a message that a frame has. The result points into both.
Incoming incoming_of(std::uint32_t node, const FrameHeader& header, const SendRequest& request,
                     std::span<const std::byte> payload) {
  Incoming incoming;
  incoming.node = node;
  incoming.round = header.round;
  incoming.source_qpn = header.source_qpn;
  incoming.source_type = header.source_type;
  incoming.source_lid = header.source_lid;
  incoming.port = header.target_port;
  incoming.source_gid = header.source_gid;
  incoming.bytes = payload;
  incoming.request = &request;
  incoming.psn = header.psn;
  incoming.total = header.total;
  incoming.offset = header.offset;
  incoming.count = header.count;
  return incoming;
}

}  // namespace

void RemoteResponder::receive(std::uint32_t node, const FrameHeader& header,
                              std::span<const std::byte> frame) {
  Qp* const qp = objects_.find<Qp>(header.target_qpn);
  const bool is_from_peer =
      qp &&
      (!qp->connected() || (qp->node == node && qp->attributes.dest_qpn == header.source_qpn));
  // The frame is not for that queue pair, whatever it is.
  if (!is_from_peer) return execute(node, frame);
  inbox_.set_round(*qp, header.round);
  if (qp->turned_away) return;
  bool waits = !qp->answering.empty() || !qp->inbox.empty();
  if ((waits || !memory_.all_at_once()) && inbox_.is_full(*qp, waits))
    return inbox_.note_dropped(*qp);
  if (!waits) {
    steps_.begin(*qp, qp->serving, {});
    execute(node, frame);
    waits = steps_.end(qp->serving);
  }
  if (waits) inbox_.keep(*qp, node, frame);
}

void RemoteResponder::execute(std::uint32_t node, std::span<const std::byte> frame) {
  FrameHeader header;
  std::memcpy(&header, frame.data(), sizeof header);
  const SendRequest request = request_of(header);
  const Incoming incoming = incoming_of(node, header, request, frame.subspan(sizeof header));
  if (header.source_type == QpType::ud) {
    const bool sends = header.opcode == Opcode::send || header.opcode == Opcode::send_with_imm;
    if (!incoming.first() || !incoming.last() || header.total > limit::kMtu || !sends) return;
    datagrams_.receive(header.target_qpn, incoming);
    return;
  }
  const Verdict verdict = responder_.respond(header.target_qpn, incoming);
  if (header.source_type != QpType::uc) send_verdict(incoming, header.target_qpn, verdict);
}

void RemoteResponder::send_verdict(const Incoming& incoming, std::uint32_t qpn,
                                   const Verdict& verdict) {
  if (verdict.kind == Verdict::Kind::later || verdict.kind == Verdict::Kind::held) return;
  if (verdict.kind != Verdict::Kind::accepted || incoming.last()) {
    frames_.send_answer(incoming, qpn, verdict);
    return;
  }
  if (!must_report_progress(incoming.offset, incoming.count, incoming.total)) return;
  if (const Qp* const qp = objects_.find<Qp>(qpn))
    frames_.send_control(FrameKind::taken, *qp, incoming.psn, incoming.round,
                         incoming.offset + incoming.count);
}

bool RemoteResponder::run_waiting(Qp& qp) {
  for (int parts = 0; !qp.answering.empty(); ++parts) {
    if (parts == 8) return true;
    Answering& read = qp.answering.front();
    if (read.sent - read.taken >= kMaxAhead) return false;
    if (!frames_.is_ready_for(read.node, qp)) return false;
    steps_.begin(qp, qp.serving, {});
    const SendResult sent = send_data(qp, read);
    if (steps_.end(qp.serving) || sent != SendResult::sent) return false;
    if (read.sent == read.total) qp.answering.pop_front();
  }
  run_inbox(qp);
  return !qp.answering.empty();
}

SendResult RemoteResponder::send_data(Qp& qp, Answering& read) {
  const std::uint64_t bytes = std::min(read.total - read.sent, kMaxPayload);
  frames_.note_sender(read.node, qp);
  FrameHeader header;
  header.kind = FrameKind::data;
  header.target_qpn = read.qpn;
  header.source_qpn = qp.handle;
  header.psn = read.psn;
  header.round = read.round;
  header.total = read.total;
  header.offset = read.sent;
  header.count = bytes;
  const std::span<std::byte> payload = frames_.payload_buffer(bytes);
  const Mr* mr =
      objects_.find_region(read.rkey, read.pd, read.address, read.total, access::kRemoteRead);
  const Transfer there =
      mr ? memory_.read(mr->owner, read.address + read.sent - mr->iova + mr->address, payload)
         : Transfer::refused;
  if (there == Transfer::later) return SendResult::later;
  if (there == Transfer::refused) {
    Incoming asked;
    asked.node = read.node;
    asked.source_qpn = read.qpn;
    asked.psn = read.psn;
    asked.round = read.round;
    const bool named = mr != nullptr;
    qp.answering.pop_front();  // the refusal below answers it
    const Verdict verdict = responder_.refuse(
        qp, named ? Status::remote_operation : Status::remote_access, EventType::qp_access_error);
    frames_.send_answer(asked, qp.handle, verdict);
    return SendResult::no_memory;
  }
  frames_.send(read.node, header, payload);
  scheduler_.add_moved_bytes(bytes);
  read.sent += bytes;
  return SendResult::sent;
}

void RemoteResponder::run_inbox(Qp& qp) {
  while (qp.answering.empty() && !qp.inbox.empty()) {
    Qp::Frame frame = std::move(qp.inbox.front());
    qp.inbox.pop_front();
    steps_.begin(qp, qp.serving, {});
    execute(frame.node, frame.bytes.bytes());
    if (!steps_.end(qp.serving)) continue;
    qp.inbox.push_front(std::move(frame));
    return;
  }
  if (qp.turned_away && qp.answering.empty()) inbox_.request_again(qp);
}

}  // namespace scela::hca
