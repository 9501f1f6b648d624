// Messages that are not sent at once: this part carries out what
// comm-channel/core/protocol/rendezvous.h decides.
#include <algorithm>
#include <cstring>

#include "comm-channel/engine/messenger.h"
#include "common/core/text.h"

namespace scela::channel {

namespace {

// A buffer that is unmapped is the program's fault, even if something else failed as well.
Code code_for(const Error& why, Code otherwise) {
  return why.kind == ErrorKind::usage ? Code::argument : otherwise;
}

Error buffer_gone(std::string what) {
  return Error{ErrorKind::usage, std::move(what), "", "there is no memory",
               "a buffer was freed, or may not be written; it belongs to the channel until its "
               "request is complete"};
}

}  // namespace

// On a node there is no adapter that could have failed, so a buffer of either side is unmapped.
Code Messenger::code_of(Outcome outcome, int rank) const {
  if (outcome == Outcome::resources) return Code::resources;
  return peers_[static_cast<std::size_t>(rank)].local >= 0 ? Code::argument : Code::device;
}

std::uint32_t Messenger::number(Operation& operation) {
  operation.number = request_table_.add(operation);
  return operation.number;
}

void Messenger::forget_number(Operation& operation) {
  request_table_.remove(operation.number);
  operation.number = 0;
  if (!request_table_.empty() || longest_offered_ == 0) return;
  longest_offered_ = 0;
  node_->expect_copy(0);
}

// A peer's number is not believed: it may be unused, or that of another rank.
Operation* Messenger::numbered(std::uint32_t number, int rank) {
  Operation* const operation = request_table_.find(number);
  return operation != nullptr && operation->peer == rank ? operation : nullptr;
}

// ---- the sender ----

void Messenger::rts(Operation& operation) {
  const Peer& to = peer(operation.peer);
  operation.why.reset();
  const std::uint32_t ways = to.local >= 0 ? way::kCopy | way::kPieces : way::kWrite | way::kRead;
  if (number(operation) == 0) return complete(operation, error_of_numbers(operation.peer));
  operation.transfer.emplace<SendTransfer>(operation.length, ways);
  if (to.local < 0) {
    auto memory = network_->registered(operation.sent_bytes(), verbs::Registrations::For::transfer);
    if (!memory) {
      forget_number(operation);
      return complete(operation, error_of(code_for(memory.error(), Code::resources), operation.peer,
                                          cat("send ", operation.length, " bytes to rank ",
                                              operation.peer, ": ", memory.error().text())));
    }
    operation.memory = std::move(*memory);
  } else if (operation.length > longest_offered_) {
    longest_offered_ = operation.length;
    node_->expect_copy(longest_offered_);
  }
  if (to.local < 0 && offloader_) offloader_->outside(operation);
  count_sent(operation.peer, operation.length);
  carry_send(operation, std::get<SendTransfer>(operation.transfer).start());
}

ChannelError Messenger::error_of_numbers(int rank) {
  return error_of(Code::resources, rank,
                  cat("send to rank ", rank,
                      ": a million messages are under way (wait for some of them first)"));
}

void Messenger::carry_send(Operation& operation, const Steps& steps) {
  for (const Step& step : steps)
    switch (step.act) {
      case Act::say_offer: {
        Rts rts;
        rts.length = operation.length;
        rts.address = reinterpret_cast<std::uint64_t>(operation.from);
        rts.key = operation.memory.rkey();
        rts.ways =
            peer(operation.peer).local >= 0 ? way::kCopy | way::kPieces : way::kWrite | way::kRead;
        say(operation.peer, Kind::rts, operation.number, rts, &operation);
        break;
      }
      case Act::say_done:
        say(operation.peer, Kind::fin, operation.theirs, Fin{step.bytes, step.outcome, 0});
        break;
      case Act::write:
      case Act::pieces:
        move(operation, step);
        break;
      case Act::complete:
        return end_send(operation, step);
      default:
        break;  // a receiver's
    }
}

void Messenger::end_send(Operation& operation, const Step& step) {
  forget_number(operation);
  operation.transfer.emplace<std::monostate>();
  operation.memory.reset();
  switch (step.outcome) {
    case Outcome::none:
      return complete(operation);
    case Outcome::peer_ended:
      return complete(operation, peer_ended(operation.peer));
    case Outcome::closed:
      return complete(operation, not_received(operation.peer));
    default:
      break;
  }
  const Code failed = code_of(step.outcome, operation.peer);
  complete(operation,
           error_of(operation.why ? code_for(*operation.why, failed) : failed, operation.peer,
                    cat("send ", operation.length, " bytes to rank ", operation.peer, ": ",
                        operation.why ? operation.why->text()
                                      : "they cannot be moved there (is the buffer still there, "
                                        "on both sides?)")));
}

void Messenger::take_ready(int rank, const Header& header, std::span<const std::byte> payload) {
  const auto ready = only_body_of<Cts>(payload);
  Operation* const operation = numbered(header.number, rank);
  if (!ready || operation == nullptr) return;
  auto* const transfer = std::get_if<SendTransfer>(&operation->transfer);
  if (transfer == nullptr) return;
  operation->theirs = ready->number;
  carry_send(*operation, transfer->cts(*ready));
}

bool Messenger::give_pieces(int rank, Outgoing& outgoing) {
  Operation& operation = *outgoing.operation;
  auto& transfer = std::get<SendTransfer>(operation.transfer);
  while (transfer.left() != 0) {
    const std::size_t size =
        std::min<std::uint64_t>(node_->most() - sizeof(Piece), transfer.left());
    const Piece piece{transfer.offset()};
    piece_.resize(sizeof piece + size);
    std::memcpy(piece_.data(), &piece, sizeof piece);
    if (!guarded_copy_(piece_.data() + sizeof piece, operation.from + piece.offset, size)) {
      operation.why = buffer_gone(cat("read from byte ", piece.offset, " on"));
      carry_send(operation, transfer.piece_lost());
      return true;
    }
    if (!give_message(rank, outgoing.header, piece_)) return false;
    const Steps steps = transfer.piece_sent(size);
    if (steps.empty()) continue;
    carry_send(operation, steps);
    return true;
  }
  return true;
}

// ---- the receiver ----

void Messenger::accept(Operation& operation, const Envelope& envelope, const Rts& rts,
                       std::uint32_t theirs) {
  if (envelope.source == world_.rank) {
    Operation* const send = request_table_.find(theirs);
    if (fill_guarded(operation, envelope,
                     {reinterpret_cast<const std::byte*>(rts.address), rts.length}))
      return answer_synchronous(world_.rank, theirs);
    if (send == nullptr) return;
    forget_number(*send);
    return complete(*send, operation.status.error);
  }
  const Peer& from = peer(envelope.source);
  operation.peer = envelope.source;
  operation.tag = envelope.tag;
  operation.context = envelope.context;
  operation.length = envelope.length;
  operation.theirs = theirs;
  operation.rts = rts;
  operation.why.reset();
  if (from.ended) return complete(operation, peer_ended(envelope.source));
  std::uint32_t ways = way::kWrite | way::kRead;
  if (from.local >= 0) ways = node_->can_read() ? way::kCopy | way::kPieces : way::kPieces;
  const std::uint32_t prefer = options_.rendezvous == Rendezvous::write ? way::kWrite : way::kRead;
  auto& transfer = operation.transfer.emplace<ReceiveTransfer>(rts, operation.room, ways,
                                                               from.local >= 0 ? 0 : prefer);
  bool possible = number(operation) != 0;
  if (possible && from.local < 0 && operation.room != 0) {
    const std::size_t size = std::min<std::uint64_t>(operation.room, rts.length);
    auto memory = network_->registered(operation.received_bytes().first(size),
                                       verbs::Registrations::For::transfer);
    if (memory)
      operation.memory = std::move(*memory);
    else
      operation.why = memory.error();
    possible = memory.has_value();
  }
  carry_receive(operation, possible ? transfer.start() : transfer.refuse(Outcome::resources));
}

void Messenger::carry_receive(Operation& operation, const Steps& steps) {
  for (const Step& step : steps)
    switch (step.act) {
      case Act::say_ready:
        say_ready(operation, step);
        break;
      case Act::say_done:
        say(operation.peer, Kind::fin, operation.theirs, Fin{step.bytes, step.outcome, 0});
        break;
      case Act::read:
        move(operation, step);
        break;
      case Act::copy:
        return copy(operation, step);
      case Act::revoke:
        operation.memory.reset();
        return carry_receive(operation, std::get<ReceiveTransfer>(operation.transfer).revoked());
      case Act::complete:
        return end_receive(operation, step);
      default:
        break;  // a sender's
    }
}

void Messenger::say_ready(Operation& operation, const Step& step) {
  Cts ready;
  ready.length = std::min<std::uint64_t>(operation.length, operation.room);
  ready.address = reinterpret_cast<std::uint64_t>(operation.to);
  ready.key = operation.memory.rkey();
  ready.way = step.way;
  ready.number = operation.number;
  say(operation.peer, Kind::cts, operation.theirs, ready);
}

void Messenger::copy(Operation& operation, const Step& step) {
  const auto local = static_cast<std::uint32_t>(peer(operation.peer).local);
  const shm::Copied copied =
      node_->read_from(local, step.remote, operation.received_bytes().first(step.bytes));
  auto& transfer = std::get<ReceiveTransfer>(operation.transfer);
  using Why = shm::Copied::Why;
  if (copied.why == Why::refused) return carry_receive(operation, transfer.copy_refused());
  if (!copied) operation.why = copied.error;
  const Outcome failed = copied.why == Why::ended ? Outcome::peer_ended : Outcome::device;
  carry_receive(operation, transfer.fetched(copied ? Outcome::none : failed));
}

void Messenger::end_receive(Operation& operation, const Step& step) {
  forget_number(operation);
  operation.transfer.emplace<std::monostate>();
  operation.memory.reset();
  if (step.outcome == Outcome::none) {
    return received(operation, {operation.context, operation.peer, operation.tag, operation.length},
                    step.bytes);
  }
  if (step.outcome == Outcome::peer_ended) return complete(operation, peer_ended(operation.peer));
  const Code failed = code_of(step.outcome, operation.peer);
  const Code code = operation.why ? code_for(*operation.why, failed) : failed;
  complete(
      operation,
      error_of(code, operation.peer,
               cat("receive ", operation.length, " bytes of rank ", operation.peer, ": ",
                   operation.why
                       ? operation.why->text()
                       : "they cannot be moved here (is the buffer still there, on both sides?)")));
}

bool Messenger::fill_guarded(Operation& operation, const Envelope& envelope,
                             std::span<const std::byte> bytes) {
  const std::size_t size = std::min<std::size_t>(bytes.size(), operation.room);
  const bool good = guarded_copy_(operation.to, bytes.data(), size);
  if (good)
    received(operation, envelope, size);
  else
    complete(operation, error_of(Code::argument, envelope.source,
                                 cat("receive ", envelope.length, " bytes of rank ",
                                     envelope.source, ": ", buffer_gone("copy them").text())));
  return good;
}

void Messenger::take_piece(int rank, const Header& header, std::span<const std::byte> payload) {
  const auto piece = body_of<Piece>(payload);
  Operation* const operation = numbered(header.number, rank);
  if (!piece || operation == nullptr) return;
  auto* const transfer = std::get_if<ReceiveTransfer>(&operation->transfer);
  if (transfer == nullptr) return;
  const std::uint64_t at = piece->body.offset;
  const std::uint64_t most = std::min<std::uint64_t>(operation->length, operation->room);
  if (at == transfer->received() && piece->rest.size() <= most - std::min(at, most) &&
      !guarded_copy_(operation->to + at, piece->rest.data(), piece->rest.size())) {
    operation->why = buffer_gone(cat("write from byte ", at, " on"));
    return carry_receive(*operation, transfer->piece_lost());
  }
  carry_receive(*operation, transfer->piece(at, piece->rest.size()));
}

// ---- both ----

void Messenger::take_done(int rank, const Header& header, std::span<const std::byte> payload) {
  const auto done = only_body_of<Fin>(payload);
  Operation* const operation = numbered(header.number, rank);
  if (!done || operation == nullptr) return;
  if (auto* const send = std::get_if<SendTransfer>(&operation->transfer)) {
    // Pieces that wait for room are not wanted any more.
    std::erase_if(peer(rank).answers, [&](const Outgoing& one) {
      return one.operation == operation && one.act == Act::pieces;
    });
    carry_send(*operation, send->fin(*done));
  } else if (auto* const receive = std::get_if<ReceiveTransfer>(&operation->transfer)) {
    carry_receive(*operation, receive->fin(*done));
  } else {
    forget_number(*operation);  // synchronous, and sent whole
    complete(*operation, done->outcome == Outcome::closed ? not_received(rank) : ChannelError());
  }
}

// Moves bytes that do not go with a message, when there is room.
void Messenger::move(Operation& operation, const Step& step) {
  Outgoing outgoing;
  outgoing.operation = &operation;
  outgoing.act = step.act;
  outgoing.step = step;
  outgoing.header.kind = Kind::piece;
  outgoing.header.number = operation.theirs;
  put(operation.peer, outgoing);
}

bool Messenger::start_move(int rank, Outgoing& outgoing) {
  Operation& operation = *outgoing.operation;
  const Step& step = outgoing.step;
  if (step.act == Act::write)
    return network_->write(rank, operation, operation.sent_bytes().first(step.bytes), step.remote,
                           step.key);
  return network_->read(rank, operation, operation.received_bytes().first(step.bytes), step.remote,
                        step.key);
}

void Messenger::moved(Operation& operation, Outcome outcome) {
  if (auto* const send = std::get_if<SendTransfer>(&operation.transfer))
    carry_send(operation, send->written(outcome));
  else if (auto* const receive = std::get_if<ReceiveTransfer>(&operation.transfer))
    carry_receive(operation, receive->fetched(outcome));
}

void Messenger::end_transfer(Operation& operation) {
  if (auto* const send = std::get_if<SendTransfer>(&operation.transfer)) {
    carry_send(operation, send->peer_ended());
  } else if (auto* const receive = std::get_if<ReceiveTransfer>(&operation.transfer)) {
    carry_receive(operation, receive->peer_ended());
  } else {
    forget_number(operation);
    complete(operation, peer_ended(operation.peer));
  }
}

}  // namespace scela::channel
