// Which messages go by offloaded channels, as their sender sees it (docs/channel.md, Offloaded
// channels): one for each peer that is sent to.
//
// A channel carries all messages of one context and tag to that peer, from `begin` to `left`. What
// is to be said goes in one order with the messages outside of channels: the owner puts both into
// the same queue.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "comm-channel/core/wire.h"

namespace scela::channel {

// A message about a channel.
struct Saying {
  Kind kind = Kind::open;
  std::uint32_t context = 0;  // of open
  std::int32_t tag = 0;
  Agreement body;
  std::vector<Parked> parked;  // of left
};
using Sayings = std::vector<Saying>;

// How many channels a process has, to all its peers together.
struct ChannelBudget {
  std::uint32_t left = 0;
  std::uint64_t clock = 0;  // messages to all
  // There was none for a peer that has no idle one itself: another peer's may be left.
  bool wanted = false;
};

class OffloadSender {
 public:
  struct Limits {
    std::uint64_t from = 8 * 1024;  // bytes of messages that are worth a channel
    std::uint32_t uses = 3;         // so many with the same tag, before one is opened
  };
  struct Path {
    bool by_channel = false;
    std::uint32_t channel = 0;
  };

  OffloadSender(const Limits& limits, ChannelBudget& budget) : limits_(limits), budget_(budget) {}

  // The channel that such a message would go by now. None: it would go outside.
  std::optional<std::uint32_t> channel_for(std::uint32_t context, std::int32_t tag,
                                           std::uint64_t length) const;
  // How the next message goes; `sayings` are sent before it. All messages to the peer are told, in
  // order, whatever their length. Outside: it shall not go by a channel, whatever there is.
  enum class By : std::uint8_t { choice, outside };
  Path send(std::uint32_t context, std::int32_t tag, std::uint64_t length, Sayings& sayings,
            By by = By::choice);
  // The oldest message in the channel has gone.
  void gone(std::uint32_t number);
  void opened(const Agreement& agreement, Sayings& sayings);
  void recall(const Agreement& agreement, Sayings& sayings);
  // True: nothing moves in the channel any more; its queue pair is to be made new.
  bool closed(const Agreement& agreement);
  // When the idle channel was used that was not used for longest; none: all are busy, or one is
  // being left already. leave_idle(): that one, for another peer's sake.
  std::optional<std::uint64_t> idle_since();
  void leave_idle(Sayings& sayings);
  // This process ends: nobody shall wait for it to leave a channel.
  void leave_all(Sayings& sayings);
  // The peer has died: there are no channels any more.
  void peer_ended();

  std::uint32_t channels() const { return static_cast<std::uint32_t>(channels_.size()); }

 private:
  enum class State : std::uint8_t { opening, open, leaving };
  struct Channel {
    std::uint32_t number = 0, life = 0;
    std::uint32_t context = 0;
    std::int32_t tag = 0;
    State state = State::opening;
    std::uint64_t limit = 0;       // the longest message
    std::uint64_t count = 0;       // messages so far
    std::deque<Parked> under_way;  // those that have not gone
    std::uint64_t used = 0;        // when, by the budget's clock
  };
  // A tag that large messages have; few are remembered.
  struct Candidate {
    std::uint32_t context = 0;
    std::int32_t tag = 0;
    std::uint32_t uses = 0;
    std::uint32_t needed = 0;  // grows with each channel that had to be given up
    std::uint64_t longest = 0;
    std::uint64_t used = 0;
  };

  static bool takes(const Channel& channel, std::uint64_t length) {
    return channel.state == State::open && length <= channel.limit &&
           channel.under_way.size() < kMostParked;
  }
  Channel* find(std::uint32_t context, std::int32_t tag);
  Channel* find(const Agreement& agreement);
  Candidate& candidate(std::uint32_t context, std::int32_t tag);
  void try_open(std::uint32_t context, std::int32_t tag, std::uint64_t length, Sayings& sayings);
  Channel* longest_idle();
  // When its tag may have the next.
  enum class Again : std::uint8_t { soon, later };
  void leave(Channel& channel, Sayings& sayings, Again again = Again::later);
  void forget(const Channel& channel);

  Limits limits_;
  ChannelBudget& budget_;
  std::uint64_t ordinary_ = 0;  // messages outside of channels
  std::uint64_t ticks_ = 0;     // all messages
  std::uint32_t lives_ = 0;
  std::vector<Channel> channels_;
  std::array<Candidate, 16> candidates_;
};

}  // namespace scela::channel
