#include "comm-channel/engine/offloader.h"

#include <algorithm>
#include <utility>

#include "common/core/text.h"

namespace scela::channel {

namespace {

OffloadSender::Limits limits_of(const ChannelOptions& options) {
  OffloadSender::Limits limits;
  limits.from = std::max(options.offload.min_bytes, options.eager.verbs + 1);
  limits.uses =
      options.rendezvous == Rendezvous::offloaded
          ? 1
          : static_cast<std::uint32_t>(std::min<std::size_t>(options.offload.min_uses, 1 << 16));
  return limits;
}

}  // namespace

Offloader::Offloader(Matcher& matcher, OffloadUser& user, NetworkDevice& device, OffloadLink& link,
                     const ChannelOptions& options, int ranks)
    : matcher_(matcher),
      user_(user),
      device_(device),
      link_(link),
      eager_(options.eager.verbs),
      limits_(limits_of(options)),
      sends_(link.can_send() && (options.rendezvous == Rendezvous::by_choice ||
                                 options.rendezvous == Rendezvous::offloaded)),
      budget_{static_cast<std::uint32_t>(options.offload.max_channels)},
      senders_(static_cast<std::size_t>(ranks)),
      receiver_(matcher, static_cast<std::uint32_t>(options.offload.max_channels)),
      seen_(static_cast<std::size_t>(ranks)) {}

// ---- sending ----

OffloadSender& Offloader::sender(int rank) {
  auto& known = senders_[static_cast<std::size_t>(rank)];
  if (!known) known = std::make_unique<OffloadSender>(limits_, budget_);
  return *known;
}

// A small message goes by a channel only if its buffer waits for it. Its sender expects that it is
// taken at once, and kept there if need be. A synchronous message never does, as the channel's own
// memory may be armed before its receive is there.
bool Offloader::send(Operation& operation) {
  if (!sends_ || operation.synchronous) return false;
  OffloadSender& to = sender(operation.peer);
  const auto number = to.channel_for(operation.context, operation.tag, operation.length);
  if (!number) return false;
  const LaneId lane = outgoing_.at({operation.peer, *number}).lane;
  if (operation.length <= eager_ && !link_.awaited(lane)) return false;
  if (operation.length != 0) {
    auto memory =
        device_.registered({operation.from, operation.length}, verbs::Registrations::For::sending);
    if (!memory) {
      user_.refused(operation, operation.peer, memory.error());
      return true;
    }
    operation.memory = std::move(*memory);
  }
  ControlMessages none;
  static_cast<void>(to.send(operation.context, operation.tag, operation.length, none));
  link_.send(lane, operation);
  ++messages_;
  return true;
}

void Offloader::outside(const Operation& operation) {
  if (!sends_) return;
  OffloadSender& to = sender(operation.peer);
  const bool must = operation.synchronous || operation.length > link_.longest_message() ||
                    to.channel_for(operation.context, operation.tag, operation.length);
  ControlMessages sayings;
  static_cast<void>(to.send(operation.context, operation.tag, operation.length, sayings,
                            must ? OffloadSender::By::outside : OffloadSender::By::choice));
  say_all(operation.peer, sayings);
  if (std::exchange(budget_.wanted, false)) leave_longest_idle();
}

// Leaves the channel that has been idle longest, among those to all peers.
void Offloader::leave_longest_idle() {
  std::size_t oldest = senders_.size();
  std::uint64_t since = 0;
  for (std::size_t rank = 0; rank < senders_.size(); ++rank) {
    const auto idle = senders_[rank] ? senders_[rank]->idle_since() : std::nullopt;
    if (!idle || (oldest < senders_.size() && *idle >= since)) continue;
    oldest = rank;
    since = *idle;
  }
  if (oldest == senders_.size()) return;
  ControlMessages sayings;
  senders_[oldest]->leave_idle(sayings);
  say_all(static_cast<int>(oldest), sayings);
}

void Offloader::say_all(int rank, const ControlMessages& sayings) {
  for (const ControlMessage& saying : sayings) {
    if (saying.kind != Kind::open) {
      user_.say(rank, saying, nullptr);
    } else if (!open(rank, saying)) {
      // This counts as a refusal, so that it is not tried again soon.
      Agreement no = saying.body;
      no.count = 0;
      ControlMessages nothing;
      sender(rank).opened(no, nothing);
    }
  }
}

bool Offloader::open(int rank, const ControlMessage& saying) {
  const auto lane = link_.make(OffloadLink::Side::sending);
  if (!lane) return false;
  const Place place{rank, saying.body.channel};
  outgoing_[place] = {*lane, saying.body.life, false};
  places_[*lane] = place;
  max_queue_pairs_ = std::max(max_queue_pairs_, link_.queue_pairs());
  const LaneEnd end = link_.end_of(*lane);
  user_.say(rank, saying, &end);
  return true;
}

void Offloader::opened(int rank, std::span<const std::byte> payload) {
  const auto opening = opening_of(Kind::opened, payload);
  if (!opening) return;
  const auto at = outgoing_.find({rank, opening->agreement.channel});
  if (at == outgoing_.end() || at->second.life != opening->agreement.life || at->second.connected)
    return;
  ControlMessages sayings;
  if (!opening->end) {
    places_.erase(at->second.lane);
    static_cast<void>(link_.remove(at->second.lane));
    outgoing_.erase(at);
    return sender(rank).opened(opening->agreement, sayings);
  }
  at->second.connected = true;
  const bool connected = link_.connect(at->second.lane, *opening->end).has_value();
  sender(rank).opened(opening->agreement, sayings);
  // The channel is left before anything goes by it. Both sides agree on that, and neither tries
  // again soon.
  if (!connected) sender(rank).recall(opening->agreement, sayings);
  say_all(rank, sayings);
}

void Offloader::closed(int rank, const Agreement& agreement) {
  const auto at = outgoing_.find({rank, agreement.channel});
  if (at == outgoing_.end() || !sender(rank).closed(agreement)) return;
  places_.erase(at->second.lane);
  link_.retire(at->second.lane);
  outgoing_.erase(at);
}

void Offloader::lane_sent(LaneId lane, Operation& operation) {
  const auto at = places_.find(lane);
  if (at != places_.end()) sender(at->second.rank).gone(at->second.number);
  operation.memory.reset();
  user_.offloaded(operation);
}

void Offloader::leave() {
  for (std::size_t rank = 0; rank < senders_.size(); ++rank) {
    if (!senders_[rank]) continue;
    ControlMessages sayings;
    senders_[rank]->leave_all(sayings);
    say_all(static_cast<int>(rank), sayings);
  }
}

// ---- receiving ----

Unexpected* Offloader::post(Operation& receive) {
  receive.cancelling = false;
  receive.why.reset();
  if (receiver_.idle() && receive.pattern.tag != kAny) return matcher_.post(receive);
  ReceiverActions actions;
  Unexpected* const message = receiver_.post(receive, actions);
  carry_out(actions);
  return message;
}

Unexpected* Offloader::probe(const Pattern& pattern) {
  if (receiver_.idle() && pattern.tag != kAny) return matcher_.probe(pattern);
  ReceiverActions actions;
  Unexpected* const message = receiver_.probe(pattern, actions);
  carry_out(actions);
  return message;
}

Unexpected* Offloader::take(const Pattern& pattern) {
  if (receiver_.idle() && pattern.tag != kAny) return matcher_.take(pattern);
  ReceiverActions actions;
  Unexpected* const message = receiver_.take(pattern, actions);
  carry_out(actions);
  return message;
}

Unexpected* Offloader::take_to_drop(const Pattern& pattern) {
  return receiver_.holds(pattern.context) ? nullptr : matcher_.take(pattern);
}

void Offloader::discard(ContextSet::Run contexts) {
  ReceiverActions actions;
  receiver_.discard(contexts, actions);
  carry_out(actions);
}

void Offloader::refuse_messages() {
  ReceiverActions actions;
  receiver_.refuse(actions);
  carry_out(actions);
}

void Offloader::fetch(Unexpected& parked, Operation* receive) {
  if (receive != nullptr) receive->why.reset();
  ReceiverActions actions;
  receiver_.fetch(static_cast<ParkedMessage&>(parked), receive, actions);
  carry_out(actions);
}

bool Offloader::cancel(Operation& receive) {
  if (receiver_.idle()) return matcher_.cancel(receive);
  ReceiverActions actions;
  const auto cancelled = receiver_.cancel(receive, actions);
  carry_out(actions);
  receive.cancelling = cancelled == OffloadReceiver::Cancelled::later;
  return cancelled == OffloadReceiver::Cancelled::yes;
}

// ---- messages about channels ----

void Offloader::arrived(int rank, const Header& header, std::span<const std::byte> payload) {
  if (header.kind == Kind::open) return opening(rank, header, payload);
  if (header.kind == Kind::opened) return opened(rank, payload);
  ReceiverActions actions;
  if (header.kind == Kind::left) {
    const auto left = left_of(payload);
    if (!left) return;
    std::vector<Parked> parked;
    for (std::uint32_t i = 0; i < left->agreement.first; ++i)
      parked.push_back(left->parked(i));
    receiver_.left(rank, left->agreement, parked, actions);
    return carry_out(actions);
  }
  const auto agreement = only_body_of<Agreement>(payload);
  if (!agreement) return;
  ControlMessages sayings;
  if (header.kind == Kind::begin) receiver_.began(rank, *agreement, actions);
  if (header.kind == Kind::recall) sender(rank).recall(*agreement, sayings);
  if (header.kind == Kind::closed) closed(rank, *agreement);
  carry_out(actions);
  say_all(rank, sayings);
}

void Offloader::opening(int rank, const Header& header, std::span<const std::byte> payload) {
  const auto opening = opening_of(Kind::open, payload);
  if (!opening) return;
  ControlMessage answer{Kind::opened, 0, 0, opening->agreement, {}};
  ReceiverActions actions;
  const bool may = opening->agreement.count <= link_.longest_message() &&
                   !incoming_.contains({rank, opening->agreement.channel});
  if (may) {
    receiver_.opening(rank, header.context, header.tag, opening->agreement, actions);
    answer = actions.front().saying;
  }
  if (!may) answer.body.count = 0;
  if (answer.body.count != 0 && !accept(rank, header, *opening)) {
    receiver_.not_opened(rank, opening->agreement);
    answer.body.count = 0;
  }
  if (answer.body.count == 0) return user_.say(rank, answer, nullptr);
  const LaneEnd end = link_.end_of(incoming_.at({rank, answer.body.channel}).lane);
  user_.say(rank, answer, &end);
}

bool Offloader::accept(int rank, const Header& header, const Opening& opening) {
  const auto lane = link_.make(OffloadLink::Side::receiving);
  if (!lane) return false;
  if (!link_.connect(*lane, *opening.end)) {
    static_cast<void>(link_.remove(*lane));
    return false;
  }
  const Place place{rank, opening.agreement.channel};
  incoming_[place] = {*lane, {header.context, rank, header.tag, opening.agreement.count}};
  places_[*lane] = place;
  max_queue_pairs_ = std::max(max_queue_pairs_, link_.queue_pairs());
  return true;
}

// ---- carrying out ----

// `current` is the envelope of the message that has just come.
void Offloader::carry_out(const ReceiverActions& actions, const Envelope* current) {
  for (const ReceiverAction& action : actions)
    carry_out(action, current);
  // These receives were armed, and their channel was left without their messages.
  for (const ReceiverAction& action : actions) {
    if (action.what != ReceiverAction::What::disarm) continue;
    auto& receive = static_cast<Operation&>(*action.receive);
    if (receive.cancelling && cancel(receive)) user_.cancelled(receive);
  }
  receiver_.sweep();
}

void Offloader::carry_out(const ReceiverAction& action, const Envelope* current) {
  using What = ReceiverAction::What;
  auto* const receive = static_cast<Operation*>(action.receive);
  switch (action.what) {
    case What::say:
      return user_.say(action.source, action.saying, nullptr);
    case What::arm:
      return arm(action);
    case What::arm_own:
      return arm_own(action);
    case What::disarm:
      return;  // its buffer stays posted and unused
    case What::complete:
      return complete(action, current);
    case What::matched:
      return user_.matched(*receive, *action.message);
    case What::fail:
      return user_.peer_gone(*receive, action.source);
    case What::forget:
      own_.erase(action.parked);
      return;
    case What::reset: {
      const auto at = incoming_.find({action.source, action.channel});
      places_.erase(at->second.lane);
      link_.retire(at->second.lane);
      incoming_.erase(at);
      return;
    }
  }
}

// If a buffer cannot be registered, its message is received into the channel's own memory and its
// receive fails. The channel goes on for others.
void Offloader::arm(const ReceiverAction& action) {
  auto& receive = static_cast<Operation&>(*action.receive);
  const Incoming& in = incoming_.at({action.source, action.channel});
  const auto size = std::min<std::uint64_t>(receive.room, in.envelope.length);
  auto memory = device_.registered({receive.to, size}, verbs::Registrations::For::transfer);
  if (memory) return link_.arm(in.lane, {{receive.to, size}, std::move(*memory)});
  receive.why = memory.error();
  arm_own({action.source, action.channel}, nullptr, in.envelope.length);
}

void Offloader::arm_own(const ReceiverAction& action) {
  arm_own({action.source, action.channel}, action.parked, action.bytes);
}

void Offloader::arm_own(const Place& place, const ParkedMessage* message, std::uint64_t bytes) {
  auto memory = link_.own_memory(bytes);
  if (!memory) {
    unreachable_.emplace_back(place.rank, memory.error().text());
    return;
  }
  if (message != nullptr) own_[message] = *memory;
  const std::span<std::byte> room((*memory)->bytes.get(), bytes);
  link_.arm(incoming_.at(place).lane, {room, std::move(*memory)});
}

void Offloader::complete(const ReceiverAction& action, const Envelope* current) {
  auto& receive = static_cast<Operation&>(*action.receive);
  Envelope envelope = action.parked != nullptr ? action.parked->envelope : *current;
  envelope.length = action.bytes;
  receive.cancelling = false;
  if (receive.why) return user_.refused(receive, envelope.source, *receive.why);
  const auto own = own_.find(action.parked);
  user_.came(receive, envelope, own == own_.end() ? nullptr : own->second->bytes.get());
}

void Offloader::lane_came(LaneId lane, std::uint64_t bytes) {
  const Place place = places_.at(lane);
  Envelope envelope = incoming_.at(place).envelope;
  envelope.length = bytes;
  ReceiverActions actions;
  receiver_.came(place.rank, place.number, bytes, actions);
  carry_out(actions, &envelope);
}

// ---- ends ----

void Offloader::lane_broken(LaneId lane, const std::string& why) {
  const auto at = places_.find(lane);
  if (at == places_.end()) return;
  unreachable_.emplace_back(at->second.rank,
                            cat("an offloaded channel to it, or from it, has failed: ", why));
}

unsigned Offloader::poll() {
  const unsigned count = link_.poll(*this);
  while (!unreachable_.empty()) {
    const auto [rank, why] = std::move(unreachable_.back());
    unreachable_.pop_back();
    user_.unreachable(rank, why);
  }
  return count;
}

// Messages that the rank had sent come first. Nothing uses the other buffers any more when their
// operations fail.
void Offloader::ended(int rank) {
  while (link_.poll(*this) != 0) {
  }
  std::erase_if(places_, [&](const auto& lane) {
    if (lane.second.rank != rank) return false;
    for (Operation* const send : link_.remove(lane.first)) {
      send->memory.reset();
      user_.peer_gone(*send, rank);
    }
    return true;
  });
  std::erase_if(outgoing_, [&](const auto& one) { return one.first.rank == rank; });
  std::erase_if(incoming_, [&](const auto& one) { return one.first.rank == rank; });
  if (senders_[static_cast<std::size_t>(rank)]) sender(rank).peer_ended();
  ReceiverActions actions;
  receiver_.peer_ended(rank, actions);
  carry_out(actions);
}

void Offloader::add_counters(Counters& counters) const {
  counters.offload_queue_pairs = link_.queue_pairs();
  counters.max_offload_queue_pairs = max_queue_pairs_;
  counters.offloaded = messages_;
}

}  // namespace scela::channel
