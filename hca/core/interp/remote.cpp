// Messages between nodes: the requesters and responders are those of local messages, with frames
// between them (hca/core/wire/wire.h).
#include <algorithm>
#include <cstring>

#include "hca/core/model/state.h"
#include "hca/core/wire/address.h"

namespace scela::hca {
namespace {

bool carries_bytes(Opcode opcode) {
  return opcode != Opcode::rdma_read && opcode != Opcode::compare_swap &&
         opcode != Opcode::fetch_add;
}

// Returns whether the receiver of these bytes, of a message of `total` bytes, must report its
// progress.
bool ends_step(std::uint64_t offset, std::uint64_t bytes, std::uint64_t total) {
  return total > kMaxAhead && (offset + bytes) / kTakenStep > offset / kTakenStep;
}

std::span<const std::byte> bytes_of(const FrameHeader& header) {
  return std::as_bytes(std::span(&header, 1));
}

}  // namespace

// Sends the next part of a message as a frame.
Engine::State::Sent Engine::State::send_part(std::uint32_t node, std::uint32_t target_qpn,
                                             const Qp& qp, const Outgoing& out) {
  const Incoming what = incoming_of(qp, out);
  const SendRequest& request = out.request;
  sent_last[node] = qp.handle;
  FrameHeader header;
  header.kind = FrameKind::request;
  header.target_qpn = target_qpn;
  header.source_qpn = qp.handle;
  header.source_type = qp.type;
  header.psn = out.psn;
  header.round = qp.round;
  header.opcode = request.opcode;
  header.flags = request.flags & (send_flag::kSolicited);
  header.immediate = request.immediate;
  header.remote_srqn = request.remote_srqn;
  header.rkey = request.rkey;
  header.qkey = request.destination.qkey;
  header.source_lid = what.source_lid;
  header.target_port = what.port;
  header.is_global = request.destination.is_global;
  header.remote_address = request.remote_address;
  header.compare_add = request.compare_add;
  header.swap = request.swap;
  header.total = out.bytes;
  header.offset = out.sent;
  header.source_gid = what.source_gid;
  header.target_gid = request.destination.gid;
  if (!carries_bytes(request.opcode)) {
    header.count = header.total;
    return host.send(node, bytes_of(header), {}) ? Sent::yes : Sent::no_way;
  }
  header.count = std::min(out.bytes - out.sent, kMaxPayload);
  if ((request.flags & send_flag::kInlined) != 0 || !out.data.empty()) {
    return pass_on(node, header, std::span(out.data).subspan(out.sent, header.count), out)
               ? Sent::yes
               : Sent::no_way;
  }
  part.resize(header.count);
  std::uint64_t skip = out.sent, done = 0;
  for (const Piece& piece : out.pieces) {
    if (skip >= piece.bytes) {
      skip -= piece.bytes;
      continue;
    }
    const std::uint64_t bytes = std::min(piece.bytes - skip, header.count - done);
    const Transfer moved =
        read(qp.owner, piece.address + skip, std::span(part).subspan(done, bytes));
    if (moved == Transfer::later) return Sent::later;
    if (moved == Transfer::refused) return Sent::no_memory;
    done += bytes;
    skip = 0;
    if (done == header.count) break;
  }
  return pass_on(node, header, part, out) ? Sent::yes : Sent::no_way;
}

bool Engine::State::pass_on(std::uint32_t node, const FrameHeader& header,
                            std::span<const std::byte> bytes, const Outgoing& out) {
  if (out.late_until == 0) return host.send(node, bytes_of(header), bytes);
  Late kept{node, {}};
  kept.frame.resize(sizeof header + bytes.size());
  std::ranges::copy(bytes_of(header), kept.frame.begin());
  std::ranges::copy(bytes, kept.frame.begin() + sizeof header);
  late.emplace(out.late_until, std::move(kept));
  return true;
}

// Sends to a queue pair of another node. Returns false if this one waits or is in error.
bool Engine::State::send_there(Qp& qp, Outgoing& out) {
  if (!host.ready(qp.node)) {
    blocked[qp.node].insert(qp.handle);
    return false;
  }
  // The other node reports when it has taken more.
  const bool carries = carries_bytes(out.request.opcode);
  if (qp.reliable() && carries && out.sent - out.taken >= kMaxAhead) return false;
  const Sent sent = send_part(qp.node, qp.attributes.dest_qpn, qp, out);
  if (sent == Sent::later) return false;
  if (sent == Sent::no_memory) {
    settle(qp, out, Status::local_protection);
    return false;
  }
  if (sent == Sent::no_way && qp.reliable()) {
    answered(qp, {Verdict::Kind::silent, Status::success, 0, 0});
    return false;
  }
  const std::uint64_t left = out.bytes - out.sent;
  out.sent += carries ? std::min(left, kMaxPayload) : left;
  if (out.sent < out.bytes) return true;
  if (qp.reliable())
    ++qp.sent;
  else
    settle(qp, out, Status::success);
  return true;
}

bool Engine::State::receive(std::uint32_t node, std::span<const std::byte> frame) {
  const auto header = header_of(frame);
  if (!header) return false;
  const bool to_group = is_group(header->target_gid, header->is_global != 0);
  if (header->kind == FrameKind::request && to_group && header->target_qpn == 0) {
    // No engine sends a datagram that long, and it would go to many members.
    if (header->total > limit::kMtu) return false;
    receive_of_group(node, *header, frame);
    return true;
  }
  if (header->kind == FrameKind::request) {
    take_request(node, *header, frame);
    return true;
  }
  Qp* qp = qps.find(header->target_qpn);
  return !qp || qp->node != node || take_answer(*qp, *header, frame);
}

// Each member gets the frame on its own, so that one that waits for memory holds up no other.
void Engine::State::receive_of_group(std::uint32_t node, FrameHeader header,
                                     std::span<const std::byte> frame) {
  std::vector<std::byte> copy(frame.begin(), frame.end());
  for (const std::uint32_t member : members_of(header.target_gid)) {
    header.target_qpn = member;
    std::memcpy(copy.data(), &header, sizeof header);
    receive(node, copy);
  }
}

// Takes an answer, or bytes of one. It counts only if this queue pair has asked for it in this
// round. Returns false for an answer that no engine sends.
bool Engine::State::receive_answer(Qp& qp, const FrameHeader& header,
                                   std::span<const std::byte> frame) {
  if (!qp.has_begun() || qp.attributes.dest_qpn != header.source_qpn ||
      (qp.state != QpState::rts && qp.state != QpState::sqd) || header.round != qp.round ||
      header.psn != qp.window.front().psn)
    return true;
  if (header.kind == FrameKind::data) {
    receive_data(qp, header, frame.subspan(sizeof(FrameHeader)));
    return true;
  }
  if (header.kind == FrameKind::again) {
    send_again(qp, header);
    return true;
  }
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
  if (verdict.kind == Verdict::Kind::accepted && !carries_bytes(out.request.opcode) &&
      out.bytes > 0) {
    FrameHeader result = header;
    result.count = 8;
    result.offset = 0;
    receive_data(qp, result, std::as_bytes(std::span(&header.compare_add, 1)));
  } else {
    answered(qp, verdict);
  }
  if (!qp.arriving.held) schedule(qp);
  return true;
}

// Takes bytes that the oldest request has asked for.
void Engine::State::receive_data(Qp& qp, const FrameHeader& header,
                                 std::span<const std::byte> bytes) {
  Outgoing& out = qp.window.front();
  if (carries_bytes(out.request.opcode) || header.offset + bytes.size() > out.bytes) return;
  Incoming incoming;
  incoming.bytes = bytes;
  incoming.count = bytes.size();
  const bool named = pieces_of(out.sges, qp.pd, qp.owner, access::kLocalWrite, out.pieces);
  const Transfer moved =
      named ? deliver(incoming, qp.owner, out.pieces, header.offset) : Transfer::refused;
  if (moved == Transfer::later) return;
  if (moved == Transfer::refused) {
    settle(qp, out, Status::local_protection);
    return;
  }
  const bool is_read = out.request.opcode == Opcode::rdma_read;
  if (!is_read || header.offset + bytes.size() == out.bytes) {
    answered(qp, {});
    schedule(qp);
  } else if (ends_step(header.offset, bytes.size(), out.bytes)) {
    say(FrameKind::read_on, qp, out.psn, qp.round, header.offset + bytes.size());
  }
}

void Engine::State::receive_request(std::uint32_t node, std::span<const std::byte> frame) {
  FrameHeader header;
  std::memcpy(&header, frame.data(), sizeof header);
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
  Incoming incoming;
  incoming.node = node;
  incoming.round = header.round;
  incoming.source_qpn = header.source_qpn;
  incoming.source_type = header.source_type;
  incoming.source_lid = header.source_lid;
  incoming.port = header.target_port;
  incoming.source_gid = header.source_gid;
  incoming.bytes = frame.subspan(sizeof header);
  incoming.request = &request;
  incoming.psn = header.psn;
  incoming.total = header.total;
  incoming.offset = header.offset;
  incoming.count = header.count;
  if (header.source_type == QpType::ud) {
    const bool sends = header.opcode == Opcode::send || header.opcode == Opcode::send_with_imm;
    if (!incoming.first() || !incoming.last() || header.total > limit::kMtu || !sends) return;
    receive_datagram(header.target_qpn, incoming);
    return;
  }
  const Verdict verdict = respond(header.target_qpn, incoming);
  if (header.source_type == QpType::uc || verdict.kind == Verdict::Kind::later ||
      verdict.kind == Verdict::Kind::held)
    return;
  if (verdict.kind == Verdict::Kind::accepted && !incoming.last()) {
    if (!ends_step(incoming.offset, incoming.count, incoming.total)) return;
    if (const Qp* const qp = qps.find(header.target_qpn))
      say(FrameKind::taken, *qp, incoming.psn, incoming.round, incoming.offset + incoming.count);
    return;
  }
  answer(incoming, header.target_qpn, verdict);
}

void Engine::State::answer(const Incoming& incoming, std::uint32_t source_qpn,
                           const Verdict& verdict) {
  FrameHeader header;
  header.kind = FrameKind::answer;
  header.target_qpn = incoming.source_qpn;
  header.source_qpn = source_qpn;
  header.psn = incoming.psn;
  header.round = incoming.round;
  header.verdict = static_cast<std::uint32_t>(verdict.kind);
  header.status = verdict.status;
  header.rnr_timer = verdict.rnr_timer;
  header.compare_add = verdict.before;
  host.send(incoming.node, bytes_of(header), {});
}

// Sends a frame without payload to the queue pair that this one is connected to.
void Engine::State::say(FrameKind kind, const Qp& qp, std::uint32_t psn, std::uint32_t round,
                        std::uint64_t offset) {
  FrameHeader header;
  header.kind = kind;
  header.target_qpn = qp.attributes.dest_qpn;
  header.source_qpn = qp.handle;
  header.psn = psn;
  header.round = round;
  header.total = header.offset = offset;
  host.send(qp.node, bytes_of(header), {});
}

// Sends the data of reads, then serves the frames that came meanwhile. Returns true if there is
// more to do at once.
bool Engine::State::run_answers(Qp& qp) {
  for (int parts = 0; !qp.answering.empty(); ++parts) {
    if (parts == 8) return true;
    Answering& read = qp.answering.front();
    if (read.sent - read.taken >= kMaxAhead) return false;
    if (!host.ready(read.node)) {
      blocked[read.node].insert(qp.handle);
      return false;
    }
    begin_step(qp, qp.serving, {});
    const Sent sent = send_data(qp, read);
    if (end_step(qp.serving) || sent != Sent::yes) return false;
    if (read.sent == read.total) qp.answering.pop_front();
  }
  run_inbox(qp);
  return !qp.answering.empty();
}

// Sends the next part of a read's data.
Engine::State::Sent Engine::State::send_data(Qp& qp, Answering& read) {
  const std::uint64_t bytes = std::min(read.total - read.sent, kMaxPayload);
  sent_last[read.node] = qp.handle;
  FrameHeader header;
  header.kind = FrameKind::data;
  header.target_qpn = read.qpn;
  header.source_qpn = qp.handle;
  header.psn = read.psn;
  header.round = read.round;
  header.total = read.total;
  header.offset = read.sent;
  header.count = bytes;
  part.resize(bytes);
  const Mr* mr = region(read.rkey, read.pd, read.address, read.total, access::kRemoteRead);
  const Transfer there =
      mr ? State::read(mr->owner, read.address + read.sent - mr->iova + mr->address, part)
         : Transfer::refused;
  if (there == Transfer::later) return Sent::later;
  if (there == Transfer::refused) {
    Incoming asked;
    asked.node = read.node;
    asked.source_qpn = read.qpn;
    asked.psn = read.psn;
    asked.round = read.round;
    const bool named = mr != nullptr;
    qp.answering.pop_front();  // the refusal below answers it
    const Verdict verdict = refuse(qp, named ? Status::remote_operation : Status::remote_access,
                                   EventType::qp_access_error);
    answer(asked, qp.handle, verdict);
    return Sent::no_memory;
  }
  host.send(read.node, bytes_of(header), part);
  moved_bytes += bytes;
  read.sent += bytes;
  return Sent::yes;
}

}  // namespace scela::hca
