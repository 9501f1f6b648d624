#include "comm-channel/core/protocol/offload_sender.h"

#include <algorithm>

namespace scela::channel {
namespace {

constexpr std::uint32_t kMaxNeeded = 1u << 16;

}  // namespace

std::optional<std::uint32_t> OffloadSender::channel_for(std::uint32_t context, std::int32_t tag,
                                                        std::uint64_t length) const {
  for (const Channel& channel : channels_)
    if (channel.context == context && channel.tag == tag)
      return takes(channel, length) ? std::optional(channel.number) : std::nullopt;
  return std::nullopt;
}

OffloadSender::Path OffloadSender::send(std::uint32_t context, std::int32_t tag,
                                        std::uint64_t length, ControlMessages& sayings, By by) {
  ++ticks_;
  ++budget_.clock;
  Channel* channel = channels_.empty() ? nullptr : find(context, tag);
  if (channel != nullptr && channel->state == State::open) {
    channel->used = budget_.clock;
    if (by == By::choice && takes(*channel, length)) {
      ++channel->count;
      channel->under_way.push_back({length, ordinary_, ticks_});
      return {true, channel->number};
    }
    // A message twice as long as the limit or longer is worth a new channel at once, and this does
    // not happen often.
    const bool grown = by == By::choice && length / 2 >= channel->limit;
    leave(*channel, sayings, grown ? Again::soon : Again::later);
    if (by == By::choice) candidate(context, tag).longest = length;
  } else if (channel == nullptr && length >= limits_.from && by == By::choice) {
    try_open(context, tag, length, sayings);
  }
  ++ordinary_;
  return {};
}

void OffloadSender::try_open(std::uint32_t context, std::int32_t tag, std::uint64_t length,
                             ControlMessages& sayings) {
  Candidate& wanted = candidate(context, tag);
  wanted.used = ticks_;
  wanted.longest = std::max(wanted.longest, length);
  if (++wanted.uses < wanted.needed) return;
  if (budget_.left == 0) {
    if (longest_idle() != nullptr)
      leave_idle(sayings);
    else
      budget_.wanted = true;
    return;
  }
  --budget_.left;
  Channel channel;
  while (std::ranges::any_of(channels_, [&](const auto& c) { return c.number == channel.number; }))
    ++channel.number;
  channel.life = ++lives_;
  channel.context = context;
  channel.tag = tag;
  channel.limit = wanted.longest;
  channel.used = budget_.clock;
  channels_.push_back(channel);
  ControlMessage saying{Kind::open, context, tag, {}, {}};
  saying.body = {channel.number, channel.life, channel.limit, 0, 0};
  sayings.push_back(saying);
}

// Returns the least recently used channel of this peer if nothing moves in it, or nullptr.
OffloadSender::Channel* OffloadSender::longest_idle() {
  Channel* oldest = nullptr;
  for (Channel& channel : channels_) {
    if (channel.state == State::leaving) return nullptr;  // one is being left already
    if (channel.state != State::open || !channel.under_way.empty()) continue;
    if (oldest == nullptr || channel.used < oldest->used) oldest = &channel;
  }
  return oldest;
}

std::optional<std::uint64_t> OffloadSender::idle_since() {
  const Channel* const oldest = longest_idle();
  return oldest != nullptr ? std::optional(oldest->used) : std::nullopt;
}

void OffloadSender::leave_idle(ControlMessages& sayings) {
  if (Channel* const oldest = longest_idle()) leave(*oldest, sayings);
}

void OffloadSender::leave(Channel& channel, ControlMessages& sayings, Again again) {
  channel.state = State::leaving;
  ControlMessage saying{Kind::left, 0, 0, {}, {}};
  saying.parked.assign(channel.under_way.begin(), channel.under_way.end());
  saying.body = {channel.number, channel.life, channel.count,
                 static_cast<std::uint32_t>(saying.parked.size()), 0};
  sayings.push_back(std::move(saying));
  // A tag that lost its channel may lose the next one too. It is worth trying again, but not as
  // soon. The messages that it was opened for may be over, so the next limit is the longest message
  // that comes until then.
  Candidate& next = candidate(channel.context, channel.tag);
  if (again == Again::later) next.needed = std::min(next.needed * 2, kMaxNeeded);
  next.uses = again == Again::later ? 0 : next.needed - 1;
  next.longest = 0;
}

void OffloadSender::gone(std::uint32_t number) {
  for (Channel& channel : channels_)
    if (channel.number == number && !channel.under_way.empty()) channel.under_way.pop_front();
}

void OffloadSender::opened(const Agreement& agreement, ControlMessages& sayings) {
  Channel* channel = find(agreement);
  if (channel == nullptr || channel->state != State::opening) return;
  if (agreement.count == 0) {
    Candidate& again = candidate(channel->context, channel->tag);
    again.uses = 0;
    again.needed = std::min(again.needed * 2, kMaxNeeded);
    forget(*channel);
    return;
  }
  channel->state = State::open;
  ControlMessage saying{Kind::begin, 0, 0, {}, {}};
  saying.body = {channel->number, channel->life, 0, 0, 0};
  sayings.push_back(saying);
}

void OffloadSender::recall(const Agreement& agreement, ControlMessages& sayings) {
  Channel* channel = find(agreement);
  // The sender may have left the channel meanwhile, for a reason of its own.
  if (channel != nullptr && channel->state == State::open) leave(*channel, sayings);
}

bool OffloadSender::closed(const Agreement& agreement) {
  Channel* channel = find(agreement);
  if (channel == nullptr || channel->state != State::leaving) return false;
  forget(*channel);
  return true;
}

void OffloadSender::leave_all(ControlMessages& sayings) {
  for (Channel& channel : channels_)
    if (channel.state == State::open) leave(channel, sayings);
}

void OffloadSender::peer_ended() {
  budget_.left += channels();
  channels_.clear();
}

void OffloadSender::forget(const Channel& channel) {
  ++budget_.left;
  channels_.erase(channels_.begin() + (&channel - channels_.data()));
}

OffloadSender::Channel* OffloadSender::find(std::uint32_t context, std::int32_t tag) {
  for (Channel& channel : channels_)
    if (channel.context == context && channel.tag == tag) return &channel;
  return nullptr;
}

OffloadSender::Channel* OffloadSender::find(const Agreement& agreement) {
  for (Channel& channel : channels_)
    if (channel.number == agreement.channel && channel.life == agreement.life) return &channel;
  return nullptr;
}

OffloadSender::Candidate& OffloadSender::candidate(std::uint32_t context, std::int32_t tag) {
  Candidate* oldest = candidates_.data();
  for (Candidate& candidate : candidates_) {
    if (candidate.needed != 0 && candidate.context == context && candidate.tag == tag)
      return candidate;
    if (candidate.used < oldest->used) oldest = &candidate;
  }
  *oldest = {context, tag, 0, std::max(limits_.uses, 1u), 0, ticks_};
  return *oldest;
}

}  // namespace scela::channel
