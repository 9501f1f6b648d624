// The sending side of offloaded channels: decides which messages go by a channel
// (docs/design/channel.md, Offloaded channels). Offloader (comm-channel/engine/offloader.h) owns
// one for each peer that is sent to.
//
// A channel carries all messages of one context and tag to that peer, from `begin` to `left`.
// Messages about channels are in one order with the messages outside of channels: the owner puts
// both into the same queue. The class is not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "comm-channel/core/protocol/wire.h"

namespace scela::channel {

// A message about a channel, to be sent to the peer.
struct ControlMessage {
  Kind kind = Kind::open;
  std::uint32_t context = 0;  // set for `open`
  std::int32_t tag = 0;
  Agreement body;
  std::vector<Parked> parked;  // set for `left`
};
using ControlMessages = std::vector<ControlMessage>;

// The number of channels that a process may still open, to all its peers together.
struct ChannelBudget {
  std::uint32_t left = 0;
  std::uint64_t clock = 0;  // messages so far to all peers
  // A peer that has no idle channel itself found none left. The owner may leave another peer's
  // channel.
  bool wanted = false;
};

class OffloadSender {
 public:
  struct Limits {
    std::uint64_t from = 8 * 1024;  // bytes: the least worth a channel
    std::uint32_t uses = 3;         // such messages of a tag before one opens
  };
  // Says how a message goes: by the channel of that number, or outside of channels.
  struct Path {
    bool by_channel = false;
    std::uint32_t channel = 0;
  };

  OffloadSender(const Limits& limits, ChannelBudget& budget) : limits_(limits), budget_(budget) {}

  // Returns the channel that such a message would go by now, or std::nullopt if it would go outside
  // of channels.
  std::optional<std::uint32_t> channel_for(std::uint32_t context, std::int32_t tag,
                                           std::uint64_t length) const;
  // Decides how the next message to the peer goes. The owner calls this for all messages to the
  // peer, in the order of sending, whatever their length in bytes. It sends the messages that were
  // added to `sayings` before this one. By::outside: the message shall not go by a channel.
  enum class By : std::uint8_t { choice, outside };
  Path send(std::uint32_t context, std::int32_t tag, std::uint64_t length, ControlMessages& sayings,
            By by = By::choice);
  // Records that the adapter has sent the oldest message under way in the channel of this number.
  void gone(std::uint32_t number);
  // These handle answers of the peer: to `open` (a count of 0 refuses), and the request to leave a
  // channel. The owner sends `sayings`.
  void opened(const Agreement& agreement, ControlMessages& sayings);
  void recall(const Agreement& agreement, ControlMessages& sayings);
  // Returns true if nothing moves in the channel any more, so its queue pair is to be replaced.
  bool closed(const Agreement& agreement);
  // idle_since() returns when the least recently used idle channel was last used, by the budget's
  // clock. It returns std::nullopt if all are busy, or if one is being left already. leave_idle()
  // leaves that channel, for the sake of another peer.
  std::optional<std::uint64_t> idle_since();
  void leave_idle(ControlMessages& sayings);
  // Leaves all open channels because this process ends. So no receiver waits for it to leave one.
  void leave_all(ControlMessages& sayings);
  // Drops all channels because the peer has died.
  void peer_ended();

  std::uint32_t channels() const { return static_cast<std::uint32_t>(channels_.size()); }

 private:
  // `opening`: the peer was asked. `leaving`: the peer was told, and messages may still be under
  // way.
  enum class State : std::uint8_t { opening, open, leaving };
  struct Channel {
    std::uint32_t number = 0, life = 0;
    std::uint32_t context = 0;
    std::int32_t tag = 0;
    State state = State::opening;
    std::uint64_t limit = 0;       // bytes of the longest message it takes
    std::uint64_t count = 0;       // messages so far
    std::deque<Parked> under_way;  // messages that have not gone
    std::uint64_t used = 0;        // last use, by the budget's clock
  };
  // A tag of large messages that may get a channel. Only the last few tags are remembered.
  struct Candidate {
    std::uint32_t context = 0;
    std::int32_t tag = 0;
    std::uint32_t uses = 0;
    std::uint32_t needed = 0;  // doubles if a channel is given up
    std::uint64_t longest = 0;
    std::uint64_t used = 0;
  };

  static bool takes(const Channel& channel, std::uint64_t length) {
    return channel.state == State::open && length <= channel.limit &&
           channel.under_way.size() < kMaxParked;
  }
  // Both return null if there is no such channel.
  Channel* find(std::uint32_t context, std::int32_t tag);
  Channel* find(const Agreement& agreement);
  // Returns the candidate of the tag. A new one takes the place of the least recently used.
  Candidate& candidate(std::uint32_t context, std::int32_t tag);
  // Opens a channel if there were enough such messages, and if the budget permits it.
  void try_open(std::uint32_t context, std::int32_t tag, std::uint64_t length,
                ControlMessages& sayings);
  // Returns the open channel that was idle longest, or null if all are busy or one is being left.
  Channel* longest_idle();
  // The time at which the tag may have its next channel. `soon`: with its next large message.
  // `later`: after more messages than for this one.
  enum class Again : std::uint8_t { soon, later };
  // Tells the peer that the channel is left.
  void leave(Channel& channel, ControlMessages& sayings, Again again = Again::later);
  // Removes the channel, and gives it back to the budget.
  void forget(const Channel& channel);

  Limits limits_;
  ChannelBudget& budget_;
  std::uint64_t ordinary_ = 0;  // messages outside of channels
  std::uint64_t ticks_ = 0;     // all messages to the peer
  std::uint32_t lives_ = 0;
  std::vector<Channel> channels_;
  std::array<Candidate, 16> candidates_;
};

}  // namespace scela::channel
