#include "comm-channel/messenger/messenger.h"

#include <utility>

#include "comm-channel/engine/error_words.h"
#include "common/core/text.h"

namespace scela::channel {

Messenger::Messenger(const World& world, const ChannelOptions& options,
                     std::unique_ptr<shm::NodeLink> node, std::unique_ptr<Network> network)
    : peers_(world, node != nullptr),
      transports_(peers_, std::move(node), std::move(network)),
      rendezvous_sender_(peers_, transports_, send_queue_, pending_, guarded_copy_),
      send_queue_(options, peers_, transports_, rendezvous_sender_),
      rendezvous_receiver_(options, peers_, transports_, send_queue_, pending_, completion_,
                           guarded_copy_),
      loopback_(options, peers_, matcher_, unexpected_, pending_, completion_),
      transfers_(peers_, transports_, send_queue_, pending_, rendezvous_sender_,
                 rendezvous_receiver_, loopback_),
      reassembler_(static_cast<std::size_t>(world.size), transports_, matcher_, unexpected_,
                   completion_),
      offload_events_(peers_, transports_, send_queue_, receive_queue_, completion_, *this),
      offload_(matcher_, offload_events_, transports_.network(), options, world.size),
      receive_queue_(peers_, transports_, matcher_, unexpected_, offload_, completion_, transfers_,
                     reassembler_),
      send_router_(options, peers_, transports_, pending_, send_queue_, rendezvous_sender_,
                   loopback_, offload_),
      options_(options) {}

Messenger::~Messenger() = default;

// ---- operations ----

Operation& Messenger::send_operation(int to, int tag, std::span<const std::byte> bytes,
                                     Context context) {
  Operation& operation = operations_.take();
  operation.is_send = true;
  operation.from = bytes.data();
  operation.length = bytes.size();
  operation.peer = to;
  operation.tag = tag;
  operation.context = context;
  operation.phase = Phase::idle;
  return operation;
}

Operation& Messenger::receive_operation(int source, int tag, std::span<std::byte> bytes,
                                        Context context) {
  Operation& operation = operations_.take();
  operation.is_send = false;
  operation.pattern = {context, source == kAnySource ? kAny : source, tag == kAnyTag ? kAny : tag};
  operation.to = bytes.data();
  operation.room = bytes.size();
  operation.phase = Phase::idle;
  return operation;
}

void Messenger::begin(Operation& operation) {
  operation.phase = Phase::waiting;
  operation.was_waited_for = false;
  StatusWriter::set_message(operation.status, -1, -1, 0);
  StatusWriter::clear_error(operation.status);
  if (transports_.is_closed()) return operation.finish(error_of_closing());
  if (operation.in_group) [[unlikely]] {
    operation.untranslated = true;
    group_receives_.add(operation);
  }
  if (operation.is_send) {
    if (operation.in_pieces && !operation.pieces->gather(guarded_copy_)) [[unlikely]]
      return operation.finish(
          error_of(Code::bad_buffer, operation.peer,
                   cat(what_of(operation), ", in pieces: ", buffer_gone("copy them").text())));
    send_router_.begin(operation);
  } else {
    receive_queue_.begin(operation);
  }
}

void Messenger::release(Operation& operation) {
  operation.progress = nullptr;
  operation.persistent = false;
  operation.synchronous = false;
  operation.invalid = false;
  operation.was_waited_for = false;
  if (operation.in_pieces || operation.in_group) [[unlikely]] {
    if (operation.in_group) group_receives_.remove(operation);
    operation.group.reset();
    operation.pieces.reset();
    operation.in_group = false;
    operation.untranslated = false;
    operation.in_pieces = false;
  }
  StatusWriter::clear_error(operation.status);
  operations_.give_back(operation);
}

void Messenger::set_group(Operation& operation, std::shared_ptr<const RankGroup> group) {
  operation.group = std::move(group);
  operation.in_group = true;
  operation.untranslated = true;
  if (operation.phase == Phase::waiting) group_receives_.add(operation);
}

void Messenger::detach(Operation& operation) {
  detached_.add(operation);
  detached_.release_some([this](Operation& one) { release(one); });
}

bool Messenger::cancel(Operation& operation) {
  return !operation.is_send && !operation.complete() && receive_queue_.cancel(operation);
}

// ---- messages that come ----

unsigned Messenger::poll() {
  unsigned count = 0;
  shm::NodeLink* const node = transports_.node();
  if (node != nullptr)
    count = node->poll(
        [this](std::uint32_t local, const shm::Header& header, std::span<const std::byte> bytes) {
          if (local < peers_.ranks_here().size())
            arrived(peers_.ranks_here()[local], shm::value_of<Header>(header), bytes);
        });
  if (Network* const network = transports_.network()) {
    network->keep_eager(matcher_.counts().bytes < options_.unexpected_bytes);
    count += network->poll(*this);
  }
  count += offload_.poll();
  receive_queue_.drop_unwanted();
  if (!detached_.empty()) [[unlikely]]
    detached_.release_some([this](Operation& one) { release(one); });
  // A caller that waits for room checks for it before it sleeps.
  if (send_queue_.blocked() && send_queue_.retry()) {
    ++count;
    if (node != nullptr) node->moved();
  }
  return count;
}

// The sender is known from where the message came; the message's own statement is not looked at.
void Messenger::arrived(int rank, const Header& header, std::span<const std::byte> payload) {
  if (header.kind == Kind::eager) [[likely]]
    return receive_queue_.on_eager(rank, header, payload);
  switch (header.kind) {
    case Kind::rts:
      return receive_queue_.on_rts(rank, header, payload);
    case Kind::first_part:
      return reassembler_.on_first_fragment(rank, header, payload);
    case Kind::part:
      return reassembler_.on_fragment(rank, payload);
    case Kind::cts:
      return rendezvous_sender_.on_cts(rank, header, payload);
    case Kind::piece:
      return rendezvous_receiver_.on_piece(rank, header, payload);
    case Kind::fin:
      return transfers_.on_fin(rank, header, payload);
    case Kind::credit:
      return;  // the network's
    default:
      // Receives that were held back wait now. Their peers may have ended meanwhile.
      if (offload_.on_agreement(rank, header, payload)) receive_queue_.fail_receives_of_ended();
  }
}

void Messenger::moved(Operation& operation, Outcome outcome) {
  transfers_.on_moved(operation, outcome);
}

// ---- ends of other ranks ----

void Messenger::lost(int rank, const std::string& why) {
  if (!has_ended(rank)) ended(rank, why);
}

void Messenger::notice_ends() {
  shm::NodeLink* const node = transports_.node();
  if (node == nullptr) return;
  const std::vector<std::int32_t>& ranks_here = peers_.ranks_here();
  for (std::size_t local = 0; local < ranks_here.size(); ++local) {
    if (!node->deaths().is_known(static_cast<std::uint32_t>(local)) || has_ended(ranks_here[local]))
      continue;
    // Messages that it sent before come first.
    while (poll() != 0) {
    }
    ended(ranks_here[local]);
  }
}

// Messages that the rank sent before come first.
void Messenger::ended_elsewhere(int rank) {
  while (poll() != 0) {
  }
  const bool comes_yet = network() != nullptr && network()->is_receiving(rank);
  if (!has_ended(rank) && !comes_yet) ended(rank);
}

void Messenger::ended(int rank, std::string why) {
  peers_.record_end(rank, std::move(why));
  if (!peers_.is_local(rank) && network() != nullptr) network()->ended(rank);
  const SendQueue::Unsent unsent = send_queue_.remove(rank);
  reassembler_.end(rank);
  for (Operation* const send : unsent.sends)
    send->finish(peer_ended(rank));
  transfers_.end_all_with(rank);
  // Moves that have not begun do not come back: nothing uses their buffers.
  for (Operation* const operation : unsent.moves)
    transfers_.on_moved(*operation, Outcome::peer_ended);
  offload_.ended(rank);
  receive_queue_.fail_receives_of(rank);
}

void Messenger::notice_solitude() {
  if (nobody_left()) receive_queue_.fail_receives_of_any(error_of_solitude());
  if (!group_receives_.empty()) group_receives_.fail_solitary(error_of_solitude());
}

// ---- this process's end ----

// Other ranks need to know what has gone by channels, and nothing else about channels.
void Messenger::finish() {
  if (offload_.leave()) send_queue_.drop_agreements();
}

bool Messenger::end_requests() {
  receive_queue_.refuse_all();
  bool over = true;
  operations_.each([&](Operation& one) {
    if (one.progress == nullptr || one.phase != Phase::waiting) return;
    if (cancel(one)) StatusWriter::set_error(one.status, error_of_closing());
    over = over && one.phase != Phase::waiting;
  });
  return over;
}

std::size_t Messenger::close() {
  offload_.close();
  transports_.close();
  detached_.release_all([this](Operation& one) { release(one); });
  std::size_t requests = 0;
  operations_.each([&](const Operation& one) { requests += one.progress != nullptr; });
  return requests;
}

Counters Messenger::counters() const {
  Counters counters;
  peers_.add_counters(counters);
  counters.unexpected = matcher_.counts().unexpected;
  counters.max_unexpected = matcher_.counts().max_unexpected;
  transports_.add_counters(counters);
  offload_.add_counters(counters);
  return counters;
}

}  // namespace scela::channel
