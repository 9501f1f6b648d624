#include "hca/core/interp/datagram_sender.h"

#include <utility>

#include "hca/core/wire/port_address.h"

namespace scela::hca {

void DatagramSender::draw_faults(Outgoing& out) {
  const Faults& faults = faults_.faults();
  // The sender drops a datagram that is too long, without an error (IBTA C10-93.1.1).
  const bool is_lost = out.bytes > limit::kMtu || faults_.happens(faults.ud_lost);
  out.times = is_lost ? 0 : faults_.happens(faults.ud_twice) ? 2 : 1;
  if (!is_lost && faults_.happens(faults.ud_late) && !late_.is_full())
    out.late_until =
        scheduler_.now() + faults_.draw_delay(LateFrames::kLeastDelay, LateFrames::kMaxDelay);
}

SendResult DatagramSender::send(Qp& qp, Outgoing& out) {
  if (!out.times) draw_faults(out);
  if (*out.times > 0)
    if (const SendResult gathered = gather(qp, out); gathered != SendResult::sent) return gathered;
  for (; *out.times > 0; --*out.times) {
    const SendResult sent = send_once(qp, out);
    if (sent == SendResult::later || sent == SendResult::no_memory) return sent;
    // A datagram that the queue pair sent to itself has put it in error; `out` is gone.
    if (qp.state == QpState::err) return SendResult::later;
    out.served.clear();
    steps_.abandon(qp.sending);
  }
  return SendResult::sent;
}

// Reads the payload before a receive request is taken for it, so that no receiver waits for this
// process's memory.
SendResult DatagramSender::gather(Qp& qp, Outgoing& out) {
  if (memory_.all_at_once() || out.bytes == 0 || !out.data.empty()) return SendResult::sent;
  std::vector<std::byte> data(out.bytes);
  std::uint64_t done = 0;
  for (const Piece& piece : out.pieces) {
    const Transfer state =
        memory_.read(qp.owner, piece.address, std::span(data).subspan(done, piece.bytes));
    if (state == Transfer::later) return SendResult::later;
    if (state == Transfer::refused) return SendResult::no_memory;
    done += piece.bytes;
  }
  out.data = std::move(data);
  steps_.abandon(qp.sending);
  return SendResult::sent;
}

SendResult DatagramSender::send_once(Qp& qp, Outgoing& out) {
  const Destination& to = out.request.destination;
  const bool is_global = to.is_global != 0;
  if (out.late_until != 0) return send_late(qp, out);
  if (is_group(to.gid, is_global)) return send_to_group(qp, out);
  if (ports_.contains(to.gid, is_global, to.lid)) {
    const Transfer moved = receiver_.receive(to.qpn, next_part(ports_, qp, out));
    return moved == Transfer::later ? SendResult::later : SendResult::sent;
  }
  const auto node = nodes_.node_of(to.gid, is_global, to.lid);
  if (!node) return SendResult::no_connection;
  return frames_.is_ready_for(*node, qp) ? parts_.send(*node, to.qpn, qp, out) : SendResult::later;
}

// Sends the datagram to the known nodes, each of which knows its own members of the group. If the
// connection to a node is full, that node misses the datagram.
SendResult DatagramSender::send_to_group(Qp& qp, Outgoing& out) {
  constexpr std::uint32_t kNodes = 0;  // no queue pair has that number
  if (!out.served.contains(kNodes)) {
    for (const std::uint32_t node : nodes_.known_nodes())
      if (frames_.is_ready(node) && parts_.send(node, 0, qp, out) == SendResult::no_memory)
        return SendResult::no_memory;
    out.served.insert(kNodes);
    steps_.abandon(qp.sending);
  }
  const Incoming incoming = next_part(ports_, qp, out);
  const std::set<std::uint32_t> members = groups_.members(out.request.destination.gid);
  for (const std::uint32_t member : members) {
    if (member == qp.handle || out.served.contains(member)) continue;
    if (receiver_.receive(member, incoming) == Transfer::later) return SendResult::later;
    out.served.insert(member);
    steps_.abandon(qp.sending);
  }
  // The sender itself comes last: receiving may end it, and with it the request being sent.
  const bool to_itself = members.contains(qp.handle);
  return to_itself && receiver_.receive(qp.handle, incoming) == Transfer::later ? SendResult::later
                                                                                : SendResult::sent;
}

// Copies the datagram out of its process's memory now, as if it were on its way. It arrives after
// datagrams that were sent later.
SendResult DatagramSender::send_late(Qp& qp, const Outgoing& out) {
  const Destination& to = out.request.destination;
  const bool is_global = to.is_global != 0;
  if (is_group(to.gid, is_global)) {
    std::vector<std::uint32_t> nodes = nodes_.known_nodes();
    nodes.push_back(0);
    for (const std::uint32_t node : nodes)
      if (const SendResult sent = parts_.send(node, 0, qp, out); sent != SendResult::sent)
        return sent;
    return SendResult::sent;
  }
  if (ports_.contains(to.gid, is_global, to.lid)) return parts_.send(0, to.qpn, qp, out);
  const auto node = nodes_.node_of(to.gid, is_global, to.lid);
  return node ? parts_.send(*node, to.qpn, qp, out) : SendResult::no_connection;
}

}  // namespace scela::hca
