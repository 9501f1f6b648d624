#include "comm-channel/engine/messenger.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <utility>

#include "comm-channel/engine/error_words.h"
#include "common/core/text.h"

namespace scela::channel {

Messenger::Messenger(const World& world, const Options& options,
                     std::unique_ptr<shm::NodeLink> node, std::unique_ptr<Network> network)
    : world_(world),
      options_(options),
      node_(std::move(node)),
      network_(std::move(network)),
      ranks_here_(world.ranks_of(world.node())),
      peers_(static_cast<std::size_t>(world.size)) {
  if (node_)
    for (std::size_t local = 0; local < ranks_here_.size(); ++local)
      peer(ranks_here_[local]).local = static_cast<std::int32_t>(local);
  OffloadUser& user = *this;
  if (OffloadLink* const link = network_ ? network_->offload_link() : nullptr)
    offloader_ =
        std::make_unique<Offloader>(matcher_, user, *network_, *link, options_, world_.size);
}

Messenger::~Messenger() = default;

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
  Status& status = operation.status;
  status.source = status.tag = -1;
  status.bytes = 0;
  if (status.error) status.error = {};
  if (closed_) return complete(operation, error_of_closing());
  if (operation.is_send)
    begin_send(operation);
  else
    begin_receive(operation);
}

void Messenger::release(Operation& operation) {
  operation.progress = nullptr;
  operation.persistent = false;
  operation.synchronous = false;
  operation.invalid = false;
  if (operation.status.error) operation.status.error = {};
  operations_.give_back(operation);
}

bool Messenger::cancel(Operation& operation) {
  if (operation.is_send || operation.complete()) return false;
  if (offloader_ ? !offloader_->cancel(operation) : !matcher_.cancel(operation)) return false;
  complete(operation, error_with(Code::cancelled, operation));
  return true;
}

// ---- sending ----

void Messenger::count_sent(int rank, std::size_t bytes) {
  PeerAccounts& their = peer(rank).accounts;
  ++their.messages_sent;
  their.sent += bytes;
}

// A synchronous message has its number in its first header, where a message in parts has its
// length.
std::size_t Messenger::eager_limit(const Operation& operation) const {
  const int rank = operation.peer;
  if (peers_[static_cast<std::size_t>(rank)].local >= 0)
    return operation.synchronous ? options_.eager_shm
                                 : std::max(options_.eager_shm, options_.stream_shm);
  return network_ && network_->takes_eager(rank) ? options_.eager_verbs : 0;
}

bool Messenger::send_at_once(int to, int tag, std::span<const std::byte> bytes, Context context) {
  const Peer& their = peer(to);
  if (their.local < 0 || to == world_.rank || their.waits || their.ended ||
      bytes.size() > options_.eager_shm)
    return false;
  Header header;
  header.context = context;
  header.tag = tag;
  header.source = world_.rank;
  header.length = static_cast<std::uint32_t>(bytes.size());
  if (!node_->send_small(static_cast<std::uint32_t>(their.local), shm::Header{words_of(header)},
                         bytes))
    return false;
  count_sent(to, bytes.size());
  return true;
}

void Messenger::begin_send(Operation& operation) {
  if (operation.peer == world_.rank) return send_to_self(operation);
  const Peer& to = peer(operation.peer);
  if (to.ended) return complete(operation, peer_ended(operation.peer));
  const bool by_network = to.local < 0 && offloader_ != nullptr;
  if (by_network && offloader_->send(operation)) {
    count_sent(operation.peer, operation.length);
    return;
  }
  if (operation.length > eager_limit(operation)) return rts(operation);
  if (by_network) offloader_->outside(operation);
  Outgoing outgoing;
  outgoing.operation = &operation;
  outgoing.header.context = operation.context;
  outgoing.header.tag = operation.tag;
  if (operation.synchronous) {
    outgoing.header.flags = flag::kSynchronous;
    outgoing.header.number = number(operation);
    if (outgoing.header.number == 0) return complete(operation, error_of_numbers(operation.peer));
  }
  put(operation.peer, outgoing);
}

void Messenger::send_to_self(Operation& operation) {
  const Envelope envelope{operation.context, world_.rank, operation.tag, operation.length};
  count_sent(world_.rank, operation.length);
  if (Posted* const receive = matcher_.arrived(envelope)) {
    auto& into = static_cast<Operation&>(*receive);
    if (operation.length > options_.eager_shm &&
        !fill_guarded(into, envelope, operation.sent_bytes()))
      return complete(operation, into.status.error);
    if (operation.length <= options_.eager_shm) fill(into, envelope, operation.sent_bytes());
    return complete(operation);
  }
  // The bytes of a large message stay where they are until there is a receive. Small messages are
  // copied.
  const bool stays = operation.length > options_.eager_shm;
  Header header;
  if (operation.synchronous) header.flags = flag::kSynchronous;
  if (stays || operation.synchronous) header.number = number(operation);
  Rts own;
  own.length = operation.length;
  own.address = reinterpret_cast<std::uint64_t>(operation.from);
  keep(envelope, header, stays ? &own : nullptr, operation.sent_bytes());
  if (header.number == 0) complete(operation);
}

void Messenger::put(int rank, Outgoing& outgoing) {
  Peer& to = peer(rank);
  // An answer to a rank that has ended would wait here for ever, and delay the end of this process.
  if (to.ended && outgoing.operation == nullptr) return;
  const bool in_order = outgoing.act == Act::complete && is_in_order(outgoing.header.kind);
  std::deque<Outgoing>& queue = in_order ? to.outgoing : to.answers;
  // On a node, giving a message causes nothing else, so it need not be queued for that.
  if (to.local >= 0 && queue.empty() && give(rank, outgoing)) return;
  queue.push_back(outgoing);
  if (to.local < 0 && queue.size() == 1 && give(rank, queue.front())) queue.pop_front();
  if (queue.empty() || to.waits) return;
  to.waits = true;
  busy_.push_back(rank);
}

bool Messenger::give_message(int rank, const Header& header, std::span<const std::byte> payload) {
  Header whole = header;
  whole.source = world_.rank;
  whole.length = static_cast<std::uint32_t>(payload.size());
  const Peer& to = peer(rank);
  if (to.local < 0) return network_->send(rank, whole, payload);
  return node_->send_small(static_cast<std::uint32_t>(to.local), shm::Header{words_of(whole)},
                           payload);
}

// Returns false if there is no room now.
bool Messenger::give(int rank, Outgoing& outgoing) {
  if (outgoing.act == Act::pieces) return give_pieces(rank, outgoing);
  if (outgoing.act == Act::write || outgoing.act == Act::read) return start_move(rank, outgoing);
  const bool eager = outgoing.header.kind == Kind::eager;
  if (eager && peer(rank).local >= 0 && outgoing.operation->length > options_.eager_shm)
    return give_parts(rank, outgoing);
  std::span<const std::byte> body(outgoing.body.data(), outgoing.body_length);
  if (outgoing.longer) body = *outgoing.longer;
  if (!give_message(rank, outgoing.header, eager ? outgoing.operation->sent_bytes() : body))
    return false;
  if (outgoing.operation == nullptr) return true;
  count_sent(rank, outgoing.operation->length);
  if (outgoing.operation->number == 0) complete(*outgoing.operation);
  return true;
}

bool Messenger::send_blocked(int rank, std::deque<Outgoing>& outgoing, bool& some) {
  while (!outgoing.empty() && give(rank, outgoing.front())) {
    outgoing.pop_front();
    some = true;
  }
  return outgoing.empty();
}

bool Messenger::send_blocked() {
  bool some = false;
  for (std::size_t i = 0; i < busy_.size();) {
    const int rank = busy_[i];
    Peer& to = peer(rank);
    const bool answered = send_blocked(rank, to.answers, some);
    if (!send_blocked(rank, to.outgoing, some) || !answered) {
      ++i;
      continue;
    }
    to.waits = false;
    busy_[i] = busy_.back();
    busy_.pop_back();
  }
  return some;
}

template <class Body>
void Messenger::say(int rank, Kind kind, std::uint32_t number, const Body& body,
                    const Operation* of) {
  Outgoing outgoing;
  outgoing.header.kind = kind;
  outgoing.header.number = number;
  if (of != nullptr) {
    outgoing.header.context = of->context;
    outgoing.header.tag = of->tag;
  }
  static_assert(sizeof body <= sizeof outgoing.body);
  std::memcpy(outgoing.body.data(), &body, sizeof body);
  outgoing.body_length = sizeof body;
  put(rank, outgoing);
}
template void Messenger::say(int, Kind, std::uint32_t, const Rts&, const Operation*);
template void Messenger::say(int, Kind, std::uint32_t, const Cts&, const Operation*);
template void Messenger::say(int, Kind, std::uint32_t, const Fin&, const Operation*);

void Messenger::answer_synchronous(int rank, std::uint32_t number, Outcome told) {
  if (rank != world_.rank) return say(rank, Kind::fin, number, Fin{0, told});
  if (Operation* const send = request_table_.find(number)) {
    forget_number(*send);
    complete(*send, told == Outcome::closed ? not_received(rank) : ChannelError());
  }
}

// ---- receiving ----

void Messenger::begin_receive(Operation& operation) {
  Unexpected* const message = offloader_ ? offloader_->post(operation) : matcher_.post(operation);
  if (message != nullptr) return receive(operation, *message);
  const std::int32_t source = operation.pattern.source;
  if (source != kAny && peer(source).ended && matcher_.cancel(operation))
    complete(operation, peer_ended(source));
}

Unexpected* Messenger::probe(const Pattern& pattern) {
  return offloader_ ? offloader_->probe(pattern) : matcher_.probe(pattern);
}

Unexpected* Messenger::take(const Pattern& pattern) {
  return offloader_ ? offloader_->take(pattern) : matcher_.take(pattern);
}

void Messenger::receive(Operation& operation, Unexpected& unexpected) {
  operation.phase = Phase::waiting;
  if (unexpected.parked) return offloader_->fetch(unexpected, &operation);
  auto& message = static_cast<UnexpectedMessage&>(unexpected);
  const Envelope envelope = message.envelope;
  if (message.rts) {
    accept(operation, envelope, *message.rts, message.number);
  } else if (message.missing != 0) {
    receive_stream(operation, message);
  } else {
    fill(operation, envelope, {message.bytes.get(), envelope.length});
    if (message.synchronous) answer_synchronous(envelope.source, message.number);
  }
  recycle(message);
}

void Messenger::drop(Unexpected& unexpected, Outcome told) {
  if (closed_) return;
  if (unexpected.parked) return offloader_->fetch(unexpected, nullptr);
  auto& message = static_cast<UnexpectedMessage&>(unexpected);
  const int source = message.envelope.source;
  if (message.rts && source != world_.rank)
    say(source, Kind::fin, message.number, Fin{0, told});
  else if (message.number != 0)
    answer_synchronous(source, message.number, told);
  else if (message.missing != 0)
    drop_stream(message);
  recycle(message);
}

void Messenger::drop_all(const Pattern& pattern, Outcome told) {
  while (Unexpected* const message =
             offloader_ ? offloader_->take_to_drop(pattern) : matcher_.take(pattern))
    drop(*message, told);
}

void Messenger::drop_all(const ContextSet::Run& contexts) {
  // Above this number of contexts, the contexts of kept messages are looked up instead.
  constexpr Context kFew = 64;
  std::set<Context> some;
  if (contexts.last - contexts.first < kFew) {
    for (Context context = contexts.first; context < contexts.last; ++context)
      some.insert(context);
    some.insert(contexts.last);
  } else {
    for (const Unexpected* message = matcher_.first_message(); message != nullptr;
         message = Matcher::after(*message)) {
      const Context context = message->envelope.context;
      if (context >= contexts.first && context <= contexts.last) some.insert(context);
    }
  }
  for (const Context context : some)
    drop_all({context, kAny, kAny});
}

void Messenger::discard(Context first, Context count) {
  if (count == 0) return;
  for (const ContextSet::Run& news : matcher_.unwant({first, first + (count - 1)})) {
    if (offloader_) offloader_->discard(news);
    drop_all(news);
  }
}

void Messenger::accept(Context first, Context count) {
  if (count != 0) matcher_.want({first, first + (count - 1)});
}

void Messenger::recycle(UnexpectedMessage& message) {
  message.rts.reset();
  kept_.give_back(message);
}

void Messenger::fill(Operation& operation, const Envelope& envelope,
                     std::span<const std::byte> bytes) {
  const std::size_t size = std::min<std::size_t>(bytes.size(), operation.room);
  shm::copy_bytes(operation.to, bytes.data(), size);
  received(operation, envelope, size);
}

void Messenger::received(Operation& operation, const Envelope& envelope, std::uint64_t bytes) {
  operation.status.source = envelope.source;
  operation.status.tag = envelope.tag;
  operation.status.bytes = envelope.length;
  PeerAccounts& their = peer(envelope.source).accounts;
  ++their.messages_received;
  their.received += bytes;
  if (envelope.length <= operation.room) [[likely]]
    operation.phase = Phase::complete;
  else
    truncated(operation, envelope);
}

void Messenger::truncated(Operation& operation, const Envelope& envelope) {
  complete(operation,
           error_of(Code::truncated, envelope.source,
                    cat("receive a message of rank ", envelope.source, " with tag ", envelope.tag,
                        ": it has ", envelope.length, " bytes and the buffer ", operation.room,
                        " (give the receive a larger buffer)")));
}

unsigned Messenger::poll() {
  unsigned count = 0;
  if (node_)
    count = node_->poll(
        [this](std::uint32_t local, const shm::Header& header, std::span<const std::byte> bytes) {
          if (local < ranks_here_.size())
            arrived(ranks_here_[local], shm::value_of<Header>(header), bytes);
        });
  if (network_) {
    network_->keep_eager(matcher_.counts().bytes < options_.unexpected_bytes);
    count += network_->poll(*this);
  }
  if (offloader_) count += offloader_->poll();
  while (const auto unwanted = matcher_.next_unwanted()) {
    ++unwanted_looks_;
    drop_all(*unwanted);
  }
  // A caller that waits for room checks for it before it sleeps.
  if (!busy_.empty() && send_blocked()) {
    ++count;
    if (node_) node_->moved();
  }
  return count;
}

// The sender is known from where the message came; the message's own statement is not looked at.
void Messenger::arrived(int rank, const Header& header, std::span<const std::byte> payload) {
  if (header.kind == Kind::eager) [[likely]] {
    const std::uint64_t after = came_outside(rank);
    const Envelope envelope{header.context, rank, header.tag, payload.size()};
    Posted* const receive = matcher_.arrived(envelope);
    if (receive == nullptr) return keep(envelope, header, nullptr, payload, after);
    fill(static_cast<Operation&>(*receive), envelope, payload);
    if ((header.flags & flag::kSynchronous) != 0) answer_synchronous(rank, header.number);
    return;
  }
  switch (header.kind) {
    case Kind::rts: {
      const auto rts = only_body_of<Rts>(payload);
      if (!rts) return;
      const std::uint64_t after = came_outside(rank);
      const Envelope envelope{header.context, rank, header.tag, rts->length};
      Posted* const receive = matcher_.arrived(envelope);
      if (receive == nullptr) return keep(envelope, header, &*rts, {}, after);
      return accept(static_cast<Operation&>(*receive), envelope, *rts, header.number);
    }
    case Kind::first_part:
      return begin_stream(rank, header, payload);
    case Kind::part:
      return take_part(rank, payload);
    case Kind::cts:
      return take_ready(rank, header, payload);
    case Kind::piece:
      return take_piece(rank, header, payload);
    case Kind::fin:
      return take_done(rank, header, payload);
    case Kind::credit:
      return;  // the network's
    default:
      return agreement_arrived(rank, header, payload);
  }
}

void Messenger::keep(const Envelope& envelope, const Header& header, const Rts* rts,
                     std::span<const std::byte> bytes, std::uint64_t after) {
  UnexpectedMessage& message = unexpected_for(envelope, rts != nullptr ? 0 : bytes.size());
  message.after = after;
  message.number = header.number;
  message.synchronous = (header.flags & flag::kSynchronous) != 0;
  if (rts != nullptr)
    message.rts = *rts;
  else if (!bytes.empty())
    std::memcpy(message.bytes.get(), bytes.data(), bytes.size());
  matcher_.keep(message);
}

// Returns a message with memory for `room` bytes.
UnexpectedMessage& Messenger::unexpected_for(const Envelope& envelope, std::size_t room) {
  UnexpectedMessage& message = kept_.take();
  message.envelope = envelope;
  message.after = 0;
  message.number = 0;
  message.synchronous = false;
  message.missing = 0;
  message.kept = room;
  if (message.capacity < room) {
    message.capacity = std::bit_ceil(room);
    message.bytes = std::make_unique_for_overwrite<std::byte[]>(message.capacity);
  }
  return message;
}

void Messenger::complete(Operation& operation, ChannelError error) {
  operation.status.error = std::move(error);
  operation.phase = Phase::complete;
}

ChannelError Messenger::error_of(Code code, int rank, std::string words) {
  return {code, rank, std::make_shared<const std::string>(std::move(words))};
}

Accounts Messenger::accounts() const {
  Accounts accounts;
  for (const Peer& one : peers_) {
    accounts.messages_sent += one.accounts.messages_sent;
    accounts.messages_received += one.accounts.messages_received;
    accounts.sent += one.accounts.sent;
    accounts.received += one.accounts.received;
  }
  accounts.unexpected = matcher_.counts().unexpected;
  accounts.max_unexpected = matcher_.counts().max_unexpected;
  if (node_) {
    accounts.shared = node_->shared_bytes();
    accounts.sleeps = node_->sleeps();
    accounts.sleeps_woken = node_->sleeps_woken();
  }
  if (network_) network_->account(accounts);
  if (offloader_) offloader_->account(accounts);
  return accounts;
}

}  // namespace scela::channel
