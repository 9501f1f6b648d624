#include "hca/core/frames/part_sender.h"

#include <algorithm>

namespace scela::hca {

FrameHeader PartSender::header_of_part(std::uint32_t target_qpn, const Qp& qp,
                                       const Outgoing& out) const {
  const Incoming what = next_part(ports_, qp, out);
  const SendRequest& request = out.request;
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
  header.count =
      asks_for_data(request.opcode) ? header.total : std::min(out.bytes - out.sent, kMaxPayload);
  return header;
}

SendResult PartSender::send(std::uint32_t node, std::uint32_t target_qpn, const Qp& qp,
                            const Outgoing& out) {
  frames_.note_sender(node, qp);
  const FrameHeader header = header_of_part(target_qpn, qp, out);
  if (asks_for_data(out.request.opcode))
    return frames_.send(node, header, {}) ? SendResult::sent : SendResult::no_connection;
  if ((out.request.flags & send_flag::kInlined) != 0 || !out.data.empty())
    return send_frame(node, header, std::span(out.data).subspan(out.sent, header.count), out);
  const std::span<std::byte> payload = frames_.payload_buffer(header.count);
  std::uint64_t skip = out.sent, done = 0;
  for (const Piece& piece : out.pieces) {
    if (skip >= piece.bytes) {
      skip -= piece.bytes;
      continue;
    }
    const std::uint64_t bytes = std::min(piece.bytes - skip, header.count - done);
    const Transfer moved =
        memory_.read(qp.owner, piece.address + skip, payload.subspan(done, bytes));
    if (moved == Transfer::later) return SendResult::later;
    if (moved == Transfer::refused) return SendResult::no_memory;
    done += bytes;
    skip = 0;
    if (done == header.count) break;
  }
  return send_frame(node, header, payload, out);
}

SendResult PartSender::send_frame(std::uint32_t node, const FrameHeader& header,
                                  std::span<const std::byte> payload, const Outgoing& out) {
  if (out.late_until != 0) {
    late_.add(out.late_until, node, bytes_of(header), payload);
    return SendResult::sent;
  }
  return frames_.send(node, header, payload) ? SendResult::sent : SendResult::no_connection;
}

}  // namespace scela::hca
