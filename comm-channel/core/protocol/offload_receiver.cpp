#include "comm-channel/core/protocol/offload_receiver.h"

#include <algorithm>
#include <utility>

namespace scela::channel {
namespace {

ReceiverAction action_of(ReceiverAction::What what, Posted* receive, std::uint64_t bytes = 0) {
  ReceiverAction action;
  action.what = what;
  action.receive = receive;
  action.bytes = bytes;
  return action;
}

ReceiverAction failure_of(std::int32_t source, Posted* receive) {
  ReceiverAction action = action_of(ReceiverAction::What::fail, receive);
  action.source = source;
  return action;
}

ReceiverAction saying_of(Kind kind, std::int32_t source, std::uint32_t number, std::uint32_t life,
                         std::uint64_t count) {
  ReceiverAction action;
  action.source = source;
  action.saying.kind = kind;
  action.saying.body = {number, life, count, 0, 0};
  return action;
}

}  // namespace

Unexpected* OffloadReceiver::post(Posted& receive, ReceiverActions& actions) {
  const Pattern& pattern = receive.pattern;
  if (pattern.tag == kAny) hear_of_any_tag(pattern, actions);
  if (pattern.tag == kAny && !quiet(pattern.context)) holding_.insert(pattern.context);
  if (holding_.contains(pattern.context)) {
    held_.push_back(&receive);
    return nullptr;
  }
  Unexpected* message = matcher_.post(receive);
  if (message != nullptr && message->parked) {
    fetch(static_cast<ParkedMessage&>(*message), &receive, actions);
    return nullptr;
  }
  if (message != nullptr) return message;
  if (pattern.source == kAny) {
    recall_covered(pattern, actions);
  } else if (Channel* channel = find(pattern.source, pattern.context, pattern.tag)) {
    if (channel->state == State::open) arm_more(*channel, actions);
  }
  return nullptr;
}

Unexpected* OffloadReceiver::probe(const Pattern& pattern, ReceiverActions& actions) {
  if (pattern.tag == kAny) hear_of_any_tag(pattern, actions);
  if (holding_.contains(pattern.context)) return nullptr;
  if (pattern.tag == kAny && !quiet(pattern.context)) return nullptr;
  recall_covered(pattern, actions);
  return matcher_.probe(pattern);
}

Unexpected* OffloadReceiver::take(const Pattern& pattern, ReceiverActions& actions) {
  Unexpected* message = probe(pattern, actions);
  if (message != nullptr) matcher_.drop(*message);
  return message;
}

// Messages of one source and context have an order whatever their tags are, and the matcher does
// not see those in channels. So a context in which any tag is asked for does without channels.
void OffloadReceiver::hear_of_any_tag(const Pattern& pattern, ReceiverActions& actions) {
  plain_.insert(pattern.context);
  for (Channel& channel : channels_)
    if (channel.envelope.context == pattern.context) recall(channel, actions);
}

bool OffloadReceiver::quiet(std::uint32_t context) const {
  return std::ranges::none_of(channels_, [&](const Channel& channel) {
    return channel.envelope.context == context && channel.state != State::left;
  });
}

// Returns true if no channel may be opened in this context.
bool OffloadReceiver::does_without(std::uint32_t context) const {
  return max_ == 0 || plain_.contains(context) || matcher_.is_unwanted(context);
}

void OffloadReceiver::discard(ContextSet::Run contexts, ReceiverActions& actions) {
  for (Channel& channel : channels_)
    if (channel.envelope.context >= contexts.first && channel.envelope.context <= contexts.last)
      recall(channel, actions);
}

void OffloadReceiver::refuse(ReceiverActions& actions) {
  max_ = 0;
  for (Channel& channel : channels_)
    recall(channel, actions);
}

void OffloadReceiver::recall_covered(const Pattern& pattern, ReceiverActions& actions) {
  for (Channel& channel : channels_)
    if (fits(pattern, channel.envelope)) recall(channel, actions);
}

void OffloadReceiver::recall(Channel& channel, ReceiverActions& actions) {
  if (channel.state != State::open) return;
  channel.state = State::recalled;
  actions.push_back(saying_of(Kind::recall, channel.source, channel.number, channel.life, 0));
}

void OffloadReceiver::opening(std::int32_t source, std::uint32_t context, std::int32_t tag,
                              const Agreement& agreement, ReceiverActions& actions) {
  const Envelope envelope{context, source, tag, agreement.count};
  const bool accepts = channels_.size() < max_ && !does_without(context) &&
                       find(source, context, tag) == nullptr &&
                       matcher_.first_wild(envelope) == nullptr;
  actions.push_back(
      saying_of(Kind::opened, source, agreement.channel, agreement.life, accepts ? 1 : 0));
  if (!accepts) return;
  Channel channel;
  channel.source = source;
  channel.number = agreement.channel;
  channel.life = agreement.life;
  channel.envelope = envelope;
  channels_.push_back(std::move(channel));
}

void OffloadReceiver::not_opened(std::int32_t source, const Agreement& agreement) {
  std::erase_if(channels_, [&](const Channel& channel) {
    return channel.source == source && channel.number == agreement.channel &&
           channel.life == agreement.life && channel.state == State::accepted;
  });
}

void OffloadReceiver::began(std::int32_t source, const Agreement& agreement,
                            ReceiverActions& actions) {
  Channel* channel = find(source, agreement);
  if (channel == nullptr || channel->state != State::accepted) return;
  channel->state = State::open;
  arm_more(*channel, actions);
  // Since the channel was accepted, a receive or probe may have asked for messages that the matcher
  // would not see.
  const bool wild = matcher_.first_wild(channel->envelope) != nullptr;
  if (wild || does_without(channel->envelope.context)) recall(*channel, actions);
}

// Receives are armed in their order. So the channel's next message is always for the receive that
// the matcher would choose.
void OffloadReceiver::arm_more(Channel& channel, ReceiverActions& actions) {
  while (channel.slots.size() < kMaxParked) {
    Posted* next = channel.slots.empty()
                       ? matcher_.first_of(pattern_of(channel.envelope, Wild::none))
                       : Matcher::next_of(*channel.slots.back().receive);
    if (next == nullptr) return;
    const Posted* wild = matcher_.first_wild(channel.envelope);
    if (next->room < channel.envelope.length || (wild != nullptr && wild->turn() < next->turn())) {
      recall(channel, actions);
      return;
    }
    channel.slots.push_back({next, nullptr, false});
    ReceiverAction action = action_of(ReceiverAction::What::arm, next);
    action.source = channel.source;
    action.channel = channel.number;
    actions.push_back(action);
  }
}

void OffloadReceiver::came(std::int32_t source, std::uint32_t number, std::uint64_t bytes,
                           ReceiverActions& actions) {
  const auto found = std::ranges::find_if(channels_, [&](const Channel& channel) {
    return channel.source == source && channel.number == number;
  });
  if (found == channels_.end() || found->slots.empty()) return;
  Channel& channel = *found;
  const Slot slot = channel.slots.front();
  channel.slots.pop_front();
  ++channel.received;
  if (slot.parked != nullptr) {
    arrived_parked(*slot.parked, actions);
  } else {
    Posted* receive = slot.receive;
    if (!slot.claimed) {
      Envelope envelope = channel.envelope;
      envelope.length = bytes;
      receive = matcher_.arrived(envelope);
    }
    actions.push_back(action_of(ReceiverAction::What::complete, receive, bytes));
    if (channel.state == State::open) arm_more(channel, actions);
  }
  close_if_over(channel, actions);
}

void OffloadReceiver::left(std::int32_t source, const Agreement& agreement,
                           const std::vector<Parked>& parked, ReceiverActions& actions) {
  Channel* channel = find(source, agreement);
  if (channel == nullptr || channel->state == State::left) return;
  channel->state = State::left;
  channel->count = std::max(agreement.count, channel->received);
  // Messages that went by the channel belong to the armed receives, before any message that comes
  // outside of it. Receives that were armed beyond these wait as all others do.
  const std::uint64_t expected = channel->count - channel->received;
  while (channel->slots.size() > expected) {
    ReceiverAction action = action_of(ReceiverAction::What::disarm, channel->slots.back().receive);
    action.source = source;
    action.channel = channel->number;
    actions.push_back(action);
    channel->slots.pop_back();
  }
  for (Slot& slot : channel->slots) {
    slot.receive = matcher_.arrived(channel->envelope);
    slot.claimed = true;
  }
  // Messages without an armed receive are offered, each in its place among the messages of its
  // source. The sender describes only the last of them, however many it claims there are.
  const std::uint64_t first =
      channel->count - std::min<std::uint64_t>(channel->count, parked.size());
  const std::uint64_t armed = channel->received + channel->slots.size();
  for (std::uint64_t index = std::max(first, armed); index < channel->count; ++index)
    park(*channel, index, parked[static_cast<std::size_t>(index - first)], actions);
  close_if_over(*channel, actions);
  release(actions);
}

void OffloadReceiver::park(Channel& channel, std::uint64_t index, const Parked& parked,
                           ReceiverActions& actions) {
  ParkedMessage& message = messages_.emplace_back();
  message.parked = true;
  message.envelope = channel.envelope;
  // The length is capped at the agreed limit, because so much memory may be allocated for the
  // message.
  message.envelope.length = std::min<std::uint64_t>(parked.length, channel.envelope.length);
  message.after = parked.after;
  message.turn = parked.turn;
  message.source = channel.source;
  message.channel = channel.number;
  message.life = channel.life;
  message.index = index;
  if (Posted* receive = matcher_.arrived(message.envelope)) {
    fetch(message, receive, actions);
    return;
  }
  const auto goes_before = [&](const Unexpected& other) {
    if (other.envelope.source != channel.source ||
        other.envelope.context != channel.envelope.context)
      return false;
    if (other.parked) return static_cast<const ParkedMessage&>(other).turn > parked.turn;
    return other.after >= parked.after;
  };
  Unexpected* other = matcher_.first_message();
  while (other != nullptr && !goes_before(*other))
    other = Matcher::after(*other);
  if (other != nullptr)
    matcher_.keep_before(message, *other);
  else
    matcher_.keep(message);
}

void OffloadReceiver::fetch(ParkedMessage& message, Posted* receive, ReceiverActions& actions) {
  message.receive = receive;
  message.dropped = receive == nullptr;
  if (message.lost) {
    if (receive != nullptr) actions.push_back(failure_of(message.source, receive));
    forget(message);
    return;
  }
  if (message.here) {
    arrived_parked(message, actions);
    return;
  }
  if (message.fetched) return;  // its bytes go to the owner's memory
  Channel* channel = find(message.source, {message.channel, message.life, 0, 0, 0});
  // The channel delivers messages in its order. So the messages before this one go to the owner's
  // memory.
  for (ParkedMessage& other : messages_) {
    const bool earlier = other.source == message.source && other.channel == message.channel &&
                         other.life == message.life && other.index < message.index;
    if (earlier && !other.fetched) arm_parked(*channel, other, actions);
  }
  arm_parked(*channel, message, actions);
}

void OffloadReceiver::arm_parked(Channel& channel, ParkedMessage& message,
                                 ReceiverActions& actions) {
  message.fetched = true;
  message.bounced = message.receive == nullptr || message.receive->room < message.envelope.length;
  channel.slots.push_back({message.receive, &message, true});
  ReceiverAction action =
      action_of(message.bounced ? ReceiverAction::What::arm_own : ReceiverAction::What::arm,
                message.receive, message.envelope.length);
  action.source = channel.source;
  action.channel = channel.number;
  action.parked = &message;
  actions.push_back(action);
}

void OffloadReceiver::arrived_parked(ParkedMessage& message, ReceiverActions& actions) {
  message.here = true;
  if (message.receive == nullptr && !message.dropped) return;
  ReceiverAction action =
      action_of(ReceiverAction::What::complete, message.receive, message.envelope.length);
  action.parked = message.bounced ? &message : nullptr;
  if (message.receive != nullptr) actions.push_back(action);
  action.what = ReceiverAction::What::forget;
  action.parked = &message;
  if (message.bounced) actions.push_back(action);
  forget(message);
}

OffloadReceiver::Cancelled OffloadReceiver::cancel(Posted& receive, ReceiverActions& actions) {
  if (std::erase(held_, &receive) != 0) return Cancelled::yes;
  if (!receive.waiting()) return Cancelled::too_late;
  for (Channel& channel : channels_) {
    const auto is_it = [&](const Slot& slot) { return slot.receive == &receive; };
    if (std::ranges::none_of(channel.slots, is_it)) continue;
    recall(channel, actions);
    return Cancelled::later;
  }
  matcher_.cancel(receive);
  return Cancelled::yes;
}

bool OffloadReceiver::armed(const Posted& receive) const {
  return std::ranges::any_of(channels_, [&](const Channel& channel) {
    return std::ranges::any_of(channel.slots,
                               [&](const Slot& slot) { return slot.receive == &receive; });
  });
}

void OffloadReceiver::peer_ended(std::int32_t source, ReceiverActions& actions) {
  for (auto channel = channels_.begin(); channel != channels_.end();) {
    if (channel->source != source) {
      ++channel;
      continue;
    }
    for (const Slot& slot : channel->slots)
      if (slot.claimed && slot.receive != nullptr)
        actions.push_back(failure_of(source, slot.receive));
    channel = channels_.erase(channel);
  }
  for (auto message = messages_.begin(); message != messages_.end();) {
    ParkedMessage& lost = *message++;
    if (lost.source != source || lost.here) continue;
    lost.lost = true;
    // If it was on its way, its receive has failed above. If not, a receive that gets it later
    // fails then.
    if (lost.receive != nullptr || lost.dropped) forget(lost);
  }
  release(actions);
}

// If all channels of a context are left, receives that were held back go on in their order.
void OffloadReceiver::release(ReceiverActions& actions) {
  std::erase_if(holding_, [&](std::uint32_t context) {
    if (!quiet(context)) return false;
    if (matcher_.is_unwanted(context)) matcher_.tell_unwanted(context);
    return true;
  });
  std::deque<Posted*> held = std::exchange(held_, {});
  for (Posted* receive : held) {
    Unexpected* message = post(*receive, actions);
    if (message == nullptr) continue;
    ReceiverAction action = action_of(ReceiverAction::What::matched, receive);
    action.message = message;
    actions.push_back(action);
  }
}

void OffloadReceiver::close_if_over(Channel& channel, ReceiverActions& actions) {
  if (channel.state != State::left || channel.received < channel.count) return;
  ReceiverAction reset;
  reset.what = ReceiverAction::What::reset;
  reset.source = channel.source;
  reset.channel = channel.number;
  actions.push_back(reset);
  actions.push_back(saying_of(Kind::closed, channel.source, channel.number, channel.life, 0));
  const auto found =
      std::ranges::find_if(channels_, [&](const Channel& other) { return &other == &channel; });
  channels_.erase(found);
}

void OffloadReceiver::forget(ParkedMessage& message) {
  const auto found = std::ranges::find_if(
      messages_, [&](const ParkedMessage& other) { return &other == &message; });
  over_.splice(over_.end(), messages_, found);
}

OffloadReceiver::Channel* OffloadReceiver::find(std::int32_t source, const Agreement& agreement) {
  for (Channel& channel : channels_)
    if (channel.source == source && channel.number == agreement.channel &&
        channel.life == agreement.life)
      return &channel;
  return nullptr;
}

OffloadReceiver::Channel* OffloadReceiver::find(std::int32_t source, std::uint32_t context,
                                                std::int32_t tag) {
  for (Channel& channel : channels_)
    if (channel.source == source && channel.envelope.context == context &&
        channel.envelope.tag == tag)
      return &channel;
  return nullptr;
}

}  // namespace scela::channel
