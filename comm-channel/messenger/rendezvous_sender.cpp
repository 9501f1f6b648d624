#include "comm-channel/messenger/rendezvous_sender.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

#include "comm-channel/engine/error_words.h"
#include "common/core/text.h"

namespace scela::channel {

namespace {

// Returns the ways that the sender supports.
std::uint32_t ways_to_send(bool on_node) {
  return on_node ? way::kCopy | way::kPieces : way::kWrite | way::kRead;
}

}  // namespace

RendezvousSender::RendezvousSender(Peers& peers, Transports& transports, SendQueue& send_queue,
                                   PendingTransfers& pending, GuardedCopy& guarded_copy)
    : peers_(peers),
      transports_(transports),
      send_queue_(send_queue),
      pending_(pending),
      guarded_copy_(guarded_copy) {}

bool RendezvousSender::prepare(Operation& send) {
  const bool on_node = peers_.is_local(send.peer);
  send.why.reset();
  if (pending_.add(send) == 0) {
    send.finish(error_of_numbers(send.peer));
    return false;
  }
  send.transfer.emplace<SendTransfer>(send.length, ways_to_send(on_node));
  if (on_node) {
    pending_.expect_copy(send.length);
    return true;
  }
  auto memory =
      transports_.network()->registered(send.sent_bytes(), verbs::Registrations::For::transfer);
  if (!memory) {
    pending_.remove(send);
    send.finish(error_of(
        code_for(memory.error(), Code::resources), send.peer,
        cat("send ", send.length, " bytes to rank ", send.peer, ": ", memory.error().text())));
    return false;
  }
  send.memory = std::move(*memory);
  return true;
}

void RendezvousSender::offer(Operation& send) {
  peers_.count_sent(send.peer, send.length);
  carry_out(send, std::get<SendTransfer>(send.transfer).start());
}

void RendezvousSender::carry_out(Operation& send, const Steps& steps) {
  for (const Step& step : steps)
    switch (step.act) {
      case Act::say_offer:
        send_rts(send);
        break;
      case Act::say_done:
        send_queue_.enqueue_control(send.peer, Kind::fin, send.theirs,
                                    bytes_of(Fin{step.bytes, step.outcome, 0}));
        break;
      case Act::write:
      case Act::pieces:
        send_queue_.enqueue_move(send, step);
        break;
      case Act::complete:
        return finish(send, step);
      default:
        break;  // a receiver's
    }
}

void RendezvousSender::send_rts(Operation& send) {
  Rts rts;
  rts.length = send.length;
  rts.address = reinterpret_cast<std::uint64_t>(send.from);
  rts.key = send.memory.rkey();
  rts.ways = ways_to_send(peers_.is_local(send.peer));
  send_queue_.enqueue_control(send.peer, Kind::rts, send.number, bytes_of(rts), &send);
}

void RendezvousSender::finish(Operation& send, const Step& step) {
  pending_.remove(send);
  send.transfer.emplace<std::monostate>();
  send.memory.reset();
  switch (step.outcome) {
    case Outcome::none:
      return send.finish();
    case Outcome::peer_ended:
      return send.finish(transports_.error_of_end(send.peer));
    case Outcome::closed:
      return send.finish(error_not_received(send.peer));
    default:
      break;
  }
  const Code failed = code_for(step.outcome, peers_.is_local(send.peer));
  send.finish(error_of(send.why ? code_for(*send.why, failed) : failed, send.peer,
                       cat("send ", send.length, " bytes to rank ", send.peer, ": ",
                           send.why ? send.why->text()
                                    : "they cannot be moved there (is the buffer still there, "
                                      "on both sides?)")));
}

// ---- events ----

void RendezvousSender::on_cts(int rank, const Header& header, std::span<const std::byte> payload) {
  const auto cts = only_body_of<Cts>(payload);
  Operation* const send = pending_.find(header.number, rank);
  if (!cts || send == nullptr) return;
  auto* const transfer = std::get_if<SendTransfer>(&send->transfer);
  if (transfer == nullptr) return;
  send->theirs = cts->number;
  carry_out(*send, transfer->cts(*cts));
}

void RendezvousSender::on_fin(Operation& send, const Fin& fin) {
  send_queue_.drop_pieces(send.peer, send);  // they are not wanted any more
  carry_out(send, std::get<SendTransfer>(send.transfer).fin(fin));
}

void RendezvousSender::on_written(Operation& send, Outcome outcome) {
  carry_out(send, std::get<SendTransfer>(send.transfer).written(outcome));
}

void RendezvousSender::on_peer_end(Operation& send) {
  carry_out(send, std::get<SendTransfer>(send.transfer).peer_ended());
}

bool RendezvousSender::send_pieces(Operation& send, const Header& header) {
  auto& transfer = std::get<SendTransfer>(send.transfer);
  while (transfer.left() != 0) {
    const std::size_t size =
        std::min<std::uint64_t>(transports_.node()->most() - sizeof(Piece), transfer.left());
    const Piece piece{transfer.offset()};
    piece_.resize(sizeof piece + size);
    std::memcpy(piece_.data(), &piece, sizeof piece);
    if (!guarded_copy_(piece_.data() + sizeof piece, send.from + piece.offset, size)) {
      send.why = buffer_gone(cat("read from byte ", piece.offset, " on"));
      carry_out(send, transfer.piece_lost());
      return true;
    }
    if (!transports_.transmit(send.peer, header, piece_)) return false;
    const Steps steps = transfer.piece_sent(size);
    if (steps.empty()) continue;
    carry_out(send, steps);
    return true;
  }
  return true;
}

}  // namespace scela::channel
