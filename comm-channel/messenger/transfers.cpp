#include "comm-channel/messenger/transfers.h"

#include <variant>

#include "comm-channel/engine/error_words.h"

namespace scela::channel {

namespace {

bool is_rendezvous_send(const Operation& operation) {
  return std::holds_alternative<SendTransfer>(operation.transfer);
}

bool is_rendezvous_receive(const Operation& operation) {
  return std::holds_alternative<ReceiveTransfer>(operation.transfer);
}

}  // namespace

Transfers::Transfers(Peers& peers, Transports& transports, SendQueue& send_queue,
                     PendingTransfers& pending, RendezvousSender& sender,
                     RendezvousReceiver& receiver, Loopback& loopback)
    : peers_(peers),
      transports_(transports),
      send_queue_(send_queue),
      pending_(pending),
      sender_(sender),
      receiver_(receiver),
      loopback_(loopback) {}

void Transfers::accept(Operation& receive, const Envelope& envelope, const Rts& rts,
                       std::uint32_t theirs) {
  if (envelope.source == peers_.own_rank())
    return loopback_.receive(receive, envelope, rts, theirs);
  receiver_.accept(receive, envelope, rts, theirs);
}

void Transfers::acknowledge(int rank, std::uint32_t number, Outcome outcome) {
  if (rank == peers_.own_rank()) return loopback_.acknowledge(number, outcome);
  send_queue_.enqueue_control(rank, Kind::fin, number, bytes_of(Fin{0, outcome, 0}));
}

void Transfers::on_fin(int rank, const Header& header, std::span<const std::byte> payload) {
  const auto fin = only_body_of<Fin>(payload);
  Operation* const operation = pending_.find(header.number, rank);
  if (!fin || operation == nullptr) return;
  if (is_rendezvous_send(*operation)) return sender_.on_fin(*operation, *fin);
  if (is_rendezvous_receive(*operation)) return receiver_.on_fin(*operation, *fin);
  pending_.remove(*operation);  // synchronous, and sent whole
  operation->finish(fin->outcome == Outcome::closed ? error_not_received(rank) : Status());
}

void Transfers::on_moved(Operation& operation, Outcome outcome) {
  if (is_rendezvous_send(operation)) return sender_.on_written(operation, outcome);
  if (is_rendezvous_receive(operation)) return receiver_.on_read(operation, outcome);
}

void Transfers::end_all_with(int rank) {
  for (Operation* const operation : pending_.all()) {
    if (operation->peer != rank) continue;
    operation->memory.keep_not();  // the rank may live, and use what was offered
    if (is_rendezvous_send(*operation)) {
      sender_.on_peer_end(*operation);
    } else if (is_rendezvous_receive(*operation)) {
      receiver_.on_peer_end(*operation);
    } else {
      pending_.remove(*operation);
      operation->finish(transports_.error_of_end(rank));
    }
  }
}

}  // namespace scela::channel
