#include "comm-channel/messenger/match_queue.h"

#include <set>

#include "comm-channel/engine/error_words.h"

namespace scela::channel {

ReceiveQueue::ReceiveQueue(const Peers& peers, const Transports& transports, Matcher& matcher,
                           UnexpectedStore& unexpected, OffloadPath& offload,
                           ReceiveCompletion& completion, Transfers& transfers,
                           Reassembler& reassembler)
    : peers_(peers),
      transports_(transports),
      matcher_(matcher),
      unexpected_(unexpected),
      offload_(offload),
      completion_(completion),
      transfers_(transfers),
      reassembler_(reassembler) {}

// ---- receives ----

void ReceiveQueue::begin(Operation& operation) {
  if (Unexpected* const message = offload_.post(operation)) return receive(operation, *message);
  const std::int32_t source = operation.pattern.source;
  if (source != kAny && peers_.has_ended(source) && matcher_.cancel(operation))
    operation.finish(transports_.error_of_end(source));
}

bool ReceiveQueue::cancel(Operation& receive) {
  if (!offload_.cancel(receive)) return false;
  receive.finish(error_with(Code::cancelled, receive));
  return true;
}

void ReceiveQueue::receive(Operation& operation, Unexpected& unexpected) {
  operation.phase = Phase::waiting;
  if (unexpected.parked) return offload_.fetch(unexpected, &operation);
  auto& message = static_cast<UnexpectedMessage&>(unexpected);
  const Envelope envelope = message.envelope;
  if (message.rts) {
    transfers_.accept(operation, envelope, *message.rts, message.number);
  } else if (message.missing != 0) {
    reassembler_.attach(operation, message);
  } else {
    completion_.deliver(operation, envelope, {message.bytes.get(), envelope.length});
    if (message.synchronous) transfers_.acknowledge(envelope.source, message.number);
  }
  unexpected_.recycle(message);
}

// ---- messages that are not received ----

void ReceiveQueue::drop(Unexpected& unexpected, Outcome outcome) {
  if (transports_.is_closed()) return;
  if (unexpected.parked) return offload_.fetch(unexpected, nullptr);
  auto& message = static_cast<UnexpectedMessage&>(unexpected);
  if (message.rts || message.number != 0)
    transfers_.acknowledge(message.envelope.source, message.number, outcome);
  else if (message.missing != 0)
    reassembler_.ignore(message);
  unexpected_.recycle(message);
}

void ReceiveQueue::drop_all(const Pattern& pattern) {
  while (Unexpected* const message = offload_.take_to_drop(pattern))
    drop(*message, Outcome::none);
}

void ReceiveQueue::drop_all(const ContextSet::Run& contexts) {
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

void ReceiveQueue::discard(Context first, Context count) {
  if (count == 0) return;
  for (const ContextSet::Run& news : matcher_.unwant({first, first + (count - 1)})) {
    offload_.discard(news);
    drop_all(news);
  }
}

void ReceiveQueue::accept(Context first, Context count) {
  if (count != 0) matcher_.want({first, first + (count - 1)});
}

void ReceiveQueue::drop_unwanted() {
  while (const auto unwanted = matcher_.next_unwanted()) {
    ++unwanted_looks_;
    drop_all(*unwanted);
  }
}

// If messages wait at both ends, each rank closes only when the other says that nothing will
// receive them.
void ReceiveQueue::refuse_all() {
  offload_.refuse_messages();
  while (const Unexpected* const message = matcher_.first_message()) {
    const Envelope& envelope = message->envelope;
    Unexpected* const taken = take({envelope.context, envelope.source, envelope.tag});
    if (taken == nullptr) break;
    drop(*taken, Outcome::closed);
  }
}

// ---- messages that come ----

void ReceiveQueue::on_rts(int rank, const Header& header, std::span<const std::byte> payload) {
  const auto rts = only_body_of<Rts>(payload);
  if (!rts) return;
  const std::uint64_t after = offload_.came_outside(rank);
  const Envelope envelope{header.context, rank, header.tag, rts->length};
  Posted* const receive = matcher_.arrived(envelope);
  if (receive == nullptr) return unexpected_.store_offer(envelope, header, *rts, after);
  transfers_.accept(static_cast<Operation&>(*receive), envelope, *rts, header.number);
}

// ---- receives that fail ----

void ReceiveQueue::fail_receives_of(int rank) {
  fail(matcher_.take_receives_of(rank), transports_.error_of_end(rank));
}

void ReceiveQueue::fail_receives_of_ended() {
  for (const int rank : peers_.ended())
    fail_receives_of(rank);
}

void ReceiveQueue::fail_receives_of_any(const Status& error) {
  fail(matcher_.take_receives_of(kAny), error);
}

void ReceiveQueue::fail(Posted* first, const Status& error) {
  for (Posted* receive = first; receive != nullptr;) {
    Posted* const next = Matcher::following(*receive);
    static_cast<Operation&>(*receive).finish(error);
    receive = next;
  }
}

}  // namespace scela::channel
