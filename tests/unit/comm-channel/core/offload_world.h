// Runs senders and a receiver that agree about offloaded channels. The links deliver at any time,
// and the adapters carry out posted requests at any time.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "comm-channel/core/protocol/offload_receiver.h"
#include "comm-channel/core/protocol/offload_sender.h"
#include "common/core/random.h"
#include "tests/unit/comm-channel/core/offload_record.h"

namespace scela::channel::test {

struct Mix {
  std::int32_t sources;
  std::uint32_t contexts;
  std::int32_t tags;
  std::uint64_t any_source, any_tag;  // wildcards in 1000 receives
  std::uint64_t small_room;           // small buffers in 1000 receives
  std::uint64_t small;                // small ones in 100 messages
  std::uint64_t probes, cancels;      // in a thousand operations
  std::uint32_t channels;
  std::uint64_t receives;  // in a hundred operations
};

inline constexpr std::uint64_t kLarge = 1000;

class World {
 public:
  World(std::uint64_t seed, const Mix& mix)
      : random_(seed), mix_(mix), budget_{mix.channels}, receiver_(matcher_, mix.channels) {
    for (std::int32_t i = 0; i < mix.sources; ++i)
      sources_.push_back(std::make_unique<Source>(budget_));
  }

  void run(std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; ++i) {
      const std::uint64_t kind = random_.below(1000);
      if (kind < mix_.probes)
        probe();
      else if (kind < mix_.probes + mix_.cancels)
        cancel();
      else if (random_.chance(mix_.receives, 100))
        post();
      else
        send();
      for (std::uint64_t steps = random_.below(12); steps > 0; --steps)
        step();
    }
    settle();
    check();
  }

  void send_tag(std::int32_t source, std::int32_t tag, std::uint64_t length) {
    Sent sent{static_cast<int>(record_.sent.size()), {0, source, tag, length}};
    record_.sent.push_back(sent);
    Source& from = *sources_[static_cast<std::size_t>(source)];
    ControlMessages sayings;
    const auto path = from.sender.send(sent.envelope.context, tag, length, sayings);
    say(from, sayings);
    if (path.by_channel) {
      ++by_channel;
      from.wires[path.channel].sends.push_back(sent.number);
    } else {
      from.link.push_back({{}, sent.number});
    }
    max_channels = std::max({max_channels, from.sender.channels(), receiver_.channels()});
  }

  Receive& post_pattern(const Pattern& pattern, std::uint64_t room) {
    Receive& receive = *record_.receives.emplace_back(std::make_unique<Receive>());
    receive.number = static_cast<int>(record_.receives.size()) - 1;
    receive.pattern = pattern;
    receive.room = room;
    ReceiverActions actions;
    if (Unexpected* message = receiver_.post(receive, actions)) {
      REQUIRE_FALSE(message->parked);
      received(receive, static_cast<Ordinary*>(message)->number);
    }
    carry_out(actions);
    return receive;
  }

  // Returns the tag of the message that a probe shows or takes.
  std::optional<std::int32_t> probe_pattern(const Pattern& pattern, bool take) {
    ReceiverActions actions;
    Unexpected* found = take ? receiver_.take(pattern, actions) : receiver_.probe(pattern, actions);
    carry_out(actions);
    if (found == nullptr) return std::nullopt;
    if (take) taken_.push_back(found);
    return found->envelope.tag;
  }

  void die(std::int32_t source) {
    Source& dead = *sources_[static_cast<std::size_t>(source)];
    dead.alive = false;
    dead.link.clear();
    dead.back.clear();
    dead.wires.clear();
    ReceiverActions actions;
    receiver_.peer_ended(source, actions);
    carry_out(actions);
    for (Posted* posted = matcher_.take_receives_of(source); posted != nullptr;
         posted = Matcher::following(*posted))
      static_cast<Receive*>(posted)->failed = true;
  }

  void hear_one(std::int32_t source) { hear(*sources_[static_cast<std::size_t>(source)], source); }

  // Delivers everything that is under way.
  void settle() {
    while (move_anything()) {
    }
  }

  // Checks the rules of order (docs/design/channel.md, Order).
  void check() {
    settle();
    record_.check(
        [&](std::int32_t source) { return sources_[static_cast<std::size_t>(source)]->alive; });
  }

  const Receive& receive(std::size_t index) const { return *record_.receives[index]; }
  std::uint32_t in_use() const { return receiver_.channels(); }
  std::uint32_t budget_left() const { return budget_.left; }

  std::uint64_t by_channel = 0;
  std::uint32_t max_channels = 0;
  std::uint64_t bounces = 0, recalls = 0, parked = 0;

 private:
  struct Packet {
    std::optional<ControlMessage> saying;
    int message = kNone;
  };
  // The queue pairs of a channel: requests that are posted at both ends, and messages under way.
  struct Wire {
    std::deque<int> sends;
    struct Arm {
      std::uint64_t room = 0;
      ParkedMessage* own = nullptr;
      Posted* receive = nullptr;
    };
    std::deque<Arm> arms;
    // Permissions to send that were said and have not reached the sender's adapter.
    std::uint64_t ready = 0;
    std::uint64_t tokens = 0;  // permissions that have reached it
    std::deque<int> under_way;
    // Sends that are over and that the sending program has not noticed.
    std::uint64_t gone = 0;
  };
  struct Source {
    explicit Source(ChannelBudget& budget) : sender({kLarge / 2, 2}, budget) {}
    OffloadSender sender;
    std::deque<Packet> link;          // to the receiver
    std::deque<ControlMessage> back;  // to the sender
    std::map<std::uint32_t, Wire> wires;
    // Messages that the receiver has seen outside of channels.
    std::uint64_t seen = 0;
    bool alive = true;
  };

  void say(Source& from, const ControlMessages& sayings) {
    for (const ControlMessage& saying : sayings)
      from.link.push_back({saying, kNone});
  }

  std::int32_t any_source() {
    return static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(mix_.sources)));
  }
  std::int32_t any_tag() {
    return static_cast<std::int32_t>(random_.below(static_cast<std::uint64_t>(mix_.tags)));
  }

  void send() {
    const std::int32_t source = any_source();
    const std::uint64_t length =
        random_.chance(mix_.small, 100) ? random_.below(10) : kLarge - random_.below(3) * 100;
    if (mix_.contexts > 1) {
      // send_tag() always sends in context 0, so this sends by hand in any context.
      Sent sent{
          static_cast<int>(record_.sent.size()),
          {static_cast<std::uint32_t>(random_.below(mix_.contexts)), source, any_tag(), length}};
      record_.sent.push_back(sent);
      Source& from = *sources_[static_cast<std::size_t>(source)];
      ControlMessages sayings;
      const auto path = from.sender.send(sent.envelope.context, sent.envelope.tag, length, sayings);
      say(from, sayings);
      if (path.by_channel)
        from.wires[path.channel].sends.push_back(sent.number);
      else
        from.link.push_back({{}, sent.number});
      by_channel += path.by_channel ? 1 : 0;
      return;
    }
    send_tag(source, any_tag(), length);
  }

  Pattern any_pattern() {
    Pattern pattern{static_cast<std::uint32_t>(random_.below(mix_.contexts)), any_source(),
                    any_tag()};
    if (random_.chance(mix_.any_source, 1000)) pattern.source = kAny;
    if (random_.chance(mix_.any_tag, 1000)) pattern.tag = kAny;
    return pattern;
  }

  void post() { post_pattern(any_pattern(), random_.chance(mix_.small_room, 1000) ? 5 : kLarge); }

  void probe() {
    ReceiverActions actions;
    const Pattern pattern = any_pattern();
    const bool takes = random_.chance(1, 2);
    Unexpected* found =
        takes ? receiver_.take(pattern, actions) : receiver_.probe(pattern, actions);
    if (found != nullptr) {
      REQUIRE(fits(pattern, found->envelope));
      record_.seen.push_back({found, kNone, pattern, record_.receives.size(), takes});
    }
    // A receive of its own takes this message later, after other taken ones.
    if (takes && found != nullptr) taken_.push_back(found);
    carry_out(actions);
    if (taken_.size() > 3) receive_taken(random_.below(taken_.size()));
  }

  void receive_taken(std::size_t index) {
    Unexpected* message = taken_[index];
    taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(index));
    Receive& receive = *record_.receives.emplace_back(std::make_unique<Receive>());
    receive.number = kNone;  // it has no place in the order
    receive.taken = message;
    receive.pattern = {message->envelope.context, message->envelope.source, message->envelope.tag};
    receive.room = random_.chance(1, 4) ? 5 : kLarge;
    if (!message->parked) {
      received(receive, static_cast<Ordinary*>(message)->number);
      return;
    }
    ReceiverActions actions;
    receiver_.fetch(static_cast<ParkedMessage&>(*message), &receive, actions);
    carry_out(actions);
  }

  void cancel() {
    if (record_.receives.empty()) return;
    Receive& receive =
        *record_.receives[record_.receives.size() - 1 -
                          random_.below(std::min<std::size_t>(record_.receives.size(), 20))];
    if (receive.number == kNone || receive.message != kNone || receive.cancelled) return;
    try_cancel(receive);
  }

  void try_cancel(Receive& receive) {
    ReceiverActions actions;
    const auto cancelled = receiver_.cancel(receive, actions);
    receive.cancelled = cancelled == OffloadReceiver::Cancelled::yes;
    receive.cancelling = cancelled == OffloadReceiver::Cancelled::later;
    carry_out(actions);
  }

  void received(Receive& receive, int message) {
    Sent& sent = record_.sent[static_cast<std::size_t>(message)];
    REQUIRE(fits(receive.pattern, sent.envelope));
    REQUIRE(receive.message == kNone);
    REQUIRE_FALSE(receive.cancelled);
    REQUIRE(sent.receive == kNone);
    for (Seen& seen : record_.seen)
      if (seen.number == kNone && seen.taken && seen.message == receive.taken)
        seen.number = message;
    receive.message = message;
    sent.receive = receive.number == kNone ? kReceiver : receive.number;
  }

  void carry_out(const ReceiverActions& actions, int current = kNone) {
    for (const ReceiverAction& action : actions)
      carry_out_one(action, current);
    receiver_.sweep();
    std::vector<Receive*> again;
    for (const ReceiverAction& action : actions)
      if (action.what == ReceiverAction::What::disarm &&
          static_cast<Receive*>(action.receive)->cancelling)
        again.push_back(static_cast<Receive*>(action.receive));
    for (Receive* receive : again)
      if (receive->message == kNone) try_cancel(*receive);
  }

  void carry_out_one(const ReceiverAction& action, int current) {
    Receive* receive = static_cast<Receive*>(action.receive);
    Source& source = *sources_[static_cast<std::size_t>(action.source)];
    Wire& wire = source.wires[action.channel];
    switch (action.what) {
      case ReceiverAction::What::say:
        recalls += action.saying.kind == Kind::recall ? 1 : 0;
        source.back.push_back(action.saying);
        break;
      case ReceiverAction::What::arm:
        wire.arms.push_back({receive->room, nullptr, receive});
        ++wire.ready;
        parked += action.parked != nullptr ? 1 : 0;
        break;
      case ReceiverAction::What::arm_own:
        wire.arms.push_back({action.bytes, action.parked, nullptr});
        ++wire.ready;
        ++bounces;
        break;
      case ReceiverAction::What::disarm: {
        const auto found = std::ranges::find(wire.arms, action.receive, &Wire::Arm::receive);
        REQUIRE(found != wire.arms.end());
        wire.arms.erase(found);
        break;
      }
      case ReceiverAction::What::complete:
        received(*receive, action.parked != nullptr ? memory_.at(action.parked) : current);
        REQUIRE(action.bytes ==
                record_.sent[static_cast<std::size_t>(receive->message)].envelope.length);
        break;
      case ReceiverAction::What::matched:
        REQUIRE_FALSE(action.message->parked);
        received(*receive, static_cast<Ordinary*>(action.message)->number);
        break;
      case ReceiverAction::What::fail:
        receive->failed = true;
        break;
      case ReceiverAction::What::forget:
        memory_.erase(action.parked);
        break;
      case ReceiverAction::What::reset:
        REQUIRE(wire.arms.empty());
        REQUIRE(wire.under_way.empty());
        break;
    }
  }

  bool step() {
    const std::size_t index = random_.below(sources_.size());
    Source& source = *sources_[index];
    if (!source.alive) return false;
    const auto number = static_cast<std::int32_t>(index);
    switch (random_.below(4)) {
      case 0:
        return hear(source, number);
      case 1:
        return hear_back(source);
      default:
        for (auto& [channel, wire] : source.wires)
          if (random_.chance(1, 2) && move(source, number, channel, wire)) return true;
        return false;
    }
  }

  bool move_anything() {
    bool moved = false;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (!sources_[i]->alive) continue;
      const auto number = static_cast<std::int32_t>(i);
      while (hear(*sources_[i], number))
        moved = true;
      while (hear_back(*sources_[i]))
        moved = true;
      std::vector<std::uint32_t> channels;
      for (const auto& [channel, wire] : sources_[i]->wires)
        channels.push_back(channel);
      for (const std::uint32_t channel : channels)
        while (sources_[i]->wires.contains(channel) &&
               move(*sources_[i], number, channel, sources_[i]->wires[channel]))
          moved = true;
    }
    while (!taken_.empty()) {
      receive_taken(0);
      moved = true;
    }
    return moved;
  }

  bool hear(Source& source, std::int32_t number) {
    if (source.link.empty()) return false;
    const Packet packet = source.link.front();
    source.link.pop_front();
    ReceiverActions actions;
    if (!packet.saying) {
      ordinary(source, packet.message);
      return true;
    }
    const ControlMessage& saying = *packet.saying;
    if (saying.kind == Kind::open)
      receiver_.opening(number, saying.context, saying.tag, saying.body, actions);
    if (saying.kind == Kind::begin) receiver_.began(number, saying.body, actions);
    if (saying.kind == Kind::left) receiver_.left(number, saying.body, saying.parked, actions);
    carry_out(actions);
    return true;
  }

  void ordinary(Source& source, int message) {
    const Sent& sent = record_.sent[static_cast<std::size_t>(message)];
    const std::uint64_t after = source.seen++;
    if (Posted* receive = matcher_.arrived(sent.envelope)) {
      received(static_cast<Receive&>(*receive), message);
      return;
    }
    Ordinary& kept = ordinary_.emplace_back();
    kept.envelope = sent.envelope;
    kept.number = message;
    kept.after = after;
    matcher_.keep(kept);
  }

  bool hear_back(Source& source) {
    if (source.back.empty()) return false;
    const ControlMessage saying = source.back.front();
    source.back.pop_front();
    ControlMessages sayings;
    if (saying.kind == Kind::opened) source.sender.opened(saying.body, sayings);
    if (saying.kind == Kind::recall) source.sender.recall(saying.body, sayings);
    if (saying.kind == Kind::closed && source.sender.closed(saying.body)) {
      Wire& wire = source.wires[saying.body.channel];
      REQUIRE(wire.sends.empty());
      REQUIRE(wire.arms.empty());
      source.wires.erase(saying.body.channel);
    }
    say(source, sayings);
    return true;
  }

  // Does one step of the two adapters.
  bool move(Source& source, std::int32_t number, std::uint32_t channel, Wire& wire) {
    if (wire.ready > 0 && random_.chance(1, 2)) {
      --wire.ready;
      ++wire.tokens;
      return true;
    }
    if (wire.tokens > 0 && !wire.sends.empty()) {
      --wire.tokens;
      wire.under_way.push_back(wire.sends.front());
      wire.sends.pop_front();
      ++wire.gone;
      return true;
    }
    if (wire.gone > 0 && random_.chance(1, 2)) {
      --wire.gone;
      source.sender.gone(channel);
      return true;
    }
    if (wire.under_way.empty()) return wire.ready > 0 || wire.gone > 0;
    const int message = wire.under_way.front();
    wire.under_way.pop_front();
    const std::uint64_t length = record_.sent[static_cast<std::size_t>(message)].envelope.length;
    REQUIRE_FALSE(wire.arms.empty());
    // A message that is longer than the buffer would break the queue pair.
    REQUIRE(length <= wire.arms.front().room);
    if (wire.arms.front().own != nullptr) memory_[wire.arms.front().own] = message;
    wire.arms.pop_front();
    ReceiverActions actions;
    receiver_.came(number, channel, length, actions);
    carry_out(actions, message);
    return true;
  }

  Random random_;
  Mix mix_;
  Matcher matcher_;
  ChannelBudget budget_;
  OffloadReceiver receiver_;
  std::vector<std::unique_ptr<Source>> sources_;
  Record record_;
  std::list<Ordinary> ordinary_;
  std::vector<Unexpected*> taken_;
  std::map<const ParkedMessage*, int> memory_;
};

}  // namespace scela::channel::test
