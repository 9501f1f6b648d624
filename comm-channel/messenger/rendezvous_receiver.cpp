#include "comm-channel/messenger/rendezvous_receiver.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "comm-channel/engine/error_words.h"
#include "common/core/text.h"

namespace scela::channel {

RendezvousReceiver::RendezvousReceiver(const ChannelOptions& options, Peers& peers,
                                       Transports& transports, SendQueue& send_queue,
                                       PendingTransfers& pending, ReceiveCompletion& completion,
                                       GuardedCopy& guarded_copy)
    : options_(options),
      peers_(peers),
      transports_(transports),
      send_queue_(send_queue),
      pending_(pending),
      completion_(completion),
      guarded_copy_(guarded_copy) {}

void RendezvousReceiver::accept(Operation& receive, const Envelope& envelope, const Rts& rts,
                                std::uint32_t theirs) {
  receive.peer = envelope.source;
  receive.tag = envelope.tag;
  receive.context = envelope.context;
  receive.length = envelope.length;
  receive.theirs = theirs;
  receive.rts = rts;
  receive.why.reset();
  if (peers_.has_ended(envelope.source))
    return receive.finish(transports_.error_of_end(envelope.source));
  const bool on_node = peers_.is_local(envelope.source);
  std::uint32_t ways = way::kWrite | way::kRead;
  if (on_node)
    ways = transports_.node()->copies().work() ? way::kCopy | way::kPieces : way::kPieces;
  const std::uint32_t prefer = options_.rendezvous == Rendezvous::write ? way::kWrite : way::kRead;
  auto& transfer =
      receive.transfer.emplace<ReceiveTransfer>(rts, receive.room, ways, on_node ? 0 : prefer);
  const bool possible = pending_.add(receive) != 0 && (on_node || register_buffer(receive));
  carry_out(receive, possible ? transfer.start() : transfer.refuse(Outcome::resources));
}

bool RendezvousReceiver::register_buffer(Operation& receive) {
  if (receive.room == 0) return true;
  const std::size_t size = std::min<std::uint64_t>(receive.room, receive.rts.length);
  auto memory = transports_.network()->registered(receive.received_bytes().first(size),
                                                  verbs::Registrations::For::transfer);
  if (memory)
    receive.memory = std::move(*memory);
  else
    receive.why = memory.error();
  return memory.has_value();
}

void RendezvousReceiver::carry_out(Operation& receive, const Steps& steps) {
  for (const Step& step : steps)
    switch (step.act) {
      case Act::say_ready:
        send_cts(receive, step);
        break;
      case Act::say_done:
        send_queue_.enqueue_control(receive.peer, Kind::fin, receive.theirs,
                                    bytes_of(Fin{step.bytes, step.outcome, 0}));
        break;
      case Act::read:
        send_queue_.enqueue_move(receive, step);
        break;
      case Act::copy:
        return copy(receive, step);
      case Act::revoke:
        receive.memory.reset();
        return carry_out(receive, std::get<ReceiveTransfer>(receive.transfer).revoked());
      case Act::complete:
        return finish(receive, step);
      default:
        break;  // a sender's
    }
}

void RendezvousReceiver::send_cts(Operation& receive, const Step& step) {
  Cts cts;
  cts.length = std::min<std::uint64_t>(receive.length, receive.room);
  cts.address = reinterpret_cast<std::uint64_t>(receive.to);
  cts.key = receive.memory.rkey();
  cts.way = step.way;
  cts.number = receive.number;
  send_queue_.enqueue_control(receive.peer, Kind::cts, receive.theirs, bytes_of(cts));
}

void RendezvousReceiver::copy(Operation& receive, const Step& step) {
  const shm::Copied copied = transports_.node()->copies().read_from(
      peers_.local_number(receive.peer), step.remote, receive.received_bytes().first(step.bytes));
  auto& transfer = std::get<ReceiveTransfer>(receive.transfer);
  using Why = shm::Copied::Why;
  if (copied.why == Why::refused) return carry_out(receive, transfer.copy_refused());
  if (!copied) receive.why = copied.error;
  const Outcome failed = copied.why == Why::ended ? Outcome::peer_ended : Outcome::device;
  carry_out(receive, transfer.fetched(copied ? Outcome::none : failed));
}

void RendezvousReceiver::finish(Operation& receive, const Step& step) {
  pending_.remove(receive);
  receive.transfer.emplace<std::monostate>();
  receive.memory.reset();
  if (step.outcome == Outcome::none)
    return completion_.complete(
        receive, {receive.context, receive.peer, receive.tag, receive.length}, step.bytes);
  if (step.outcome == Outcome::peer_ended)
    return receive.finish(transports_.error_of_end(receive.peer));
  const Code failed = code_for(step.outcome, peers_.is_local(receive.peer));
  const Code code = receive.why ? code_for(*receive.why, failed) : failed;
  receive.finish(error_of(
      code, receive.peer,
      cat("receive ", receive.length, " bytes of rank ", receive.peer, ": ",
          receive.why ? receive.why->text()
                      : "they cannot be moved here (is the buffer still there, on both sides?)")));
}

// ---- events ----

void RendezvousReceiver::on_piece(int rank, const Header& header,
                                  std::span<const std::byte> payload) {
  const auto piece = body_of<Piece>(payload);
  Operation* const receive = pending_.find(header.number, rank);
  if (!piece || receive == nullptr) return;
  auto* const transfer = std::get_if<ReceiveTransfer>(&receive->transfer);
  if (transfer == nullptr) return;
  const std::uint64_t at = piece->body.offset;
  const std::uint64_t most = std::min<std::uint64_t>(receive->length, receive->room);
  if (at == transfer->received() && piece->rest.size() <= most - std::min(at, most) &&
      !guarded_copy_(receive->to + at, piece->rest.data(), piece->rest.size())) {
    receive->why = buffer_gone(cat("write from byte ", at, " on"));
    return carry_out(*receive, transfer->piece_lost());
  }
  carry_out(*receive, transfer->piece(at, piece->rest.size()));
}

void RendezvousReceiver::on_fin(Operation& receive, const Fin& fin) {
  carry_out(receive, std::get<ReceiveTransfer>(receive.transfer).fin(fin));
}

void RendezvousReceiver::on_read(Operation& receive, Outcome outcome) {
  carry_out(receive, std::get<ReceiveTransfer>(receive.transfer).fetched(outcome));
}

void RendezvousReceiver::on_peer_end(Operation& receive) {
  carry_out(receive, std::get<ReceiveTransfer>(receive.transfer).peer_ended());
}

}  // namespace scela::channel
