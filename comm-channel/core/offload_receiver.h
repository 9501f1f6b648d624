// The receiving side of offloaded channels (docs/channel.md, Offloaded channels): one per process,
// between the program's receives and the matcher.
//
// While a channel is open, each receive that names its source, context and tag is *armed*: its
// buffer is posted to the channel, and the sender's adapter told, which then sends without its
// program. Such a receive goes on waiting in the matcher, which so remains the only one to decide
// who gets what. What the matcher would have to know of messages that it cannot see (a receive or a
// probe with a wildcard, a buffer that is too small) makes the receiver recall the channel: the
// sender says how many messages went by it, and sends the next ones as any others.
//
// A process without channels that does not use offloading needs none of this: idle() is then true,
// and the matcher may be asked directly, but for receives of any tag.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <set>
#include <vector>

#include "comm-channel/core/matching.h"
#include "comm-channel/core/offload_sender.h"

namespace scela::channel {

// A message in a channel that was left, for which no receive was armed.
struct ParkedMessage : Unexpected {
  std::int32_t source = 0;
  std::uint32_t channel = 0, life = 0;
  std::uint64_t index = 0;    // in the channel, from 0
  std::uint64_t turn = 0;     // among all that its source has sent
  Posted* receive = nullptr;  // that gets it
  bool fetched = false;       // it is on its way: to the receive, or to memory of our own
  bool bounced = false;       // to memory of our own
  bool here = false;          // and there
  bool dropped = false;       // nobody wants it
  bool lost = false;          // its sender has died
};

// What the owner is to do, in this order.
struct Deed {
  enum class What : std::uint8_t {
    say,       // to the source; takes the room of an answer
    arm,       // post the receive's buffer to the channel, and tell the sender's adapter
    arm_own,   // the same with memory of the owner's, of `bytes`, for `parked`
    disarm,    // the receive is no longer in the channel; it waits as others do
    complete,  // the receive has its message, of `bytes`; from the owner's memory where parked is
               // set
    matched,   // the receive, which was held, got this message, as post() says it
    fail,      // the receive's source has died
    forget,    // the owner's memory for `parked` is not needed any more
    reset,     // nothing moves in the channel any more: its queue pair is to be made new
  };
  What what = What::say;
  std::int32_t source = 0;
  std::uint32_t channel = 0;
  Posted* receive = nullptr;
  Unexpected* message = nullptr;  // matched
  ParkedMessage* parked = nullptr;
  std::uint64_t bytes = 0;
  Saying saying;
};
using Deeds = std::vector<Deed>;

class OffloadReceiver {
 public:
  enum class Cancelled : std::uint8_t { yes, too_late, later };

  OffloadReceiver(Matcher& matcher, std::uint32_t most_channels)
      : matcher_(matcher), most_(most_channels) {}

  bool idle() const { return channels_.empty() && messages_.empty() && held_.empty(); }

  // As Matcher::post: the message that the receive gets. None: it waits, is held back for a moment,
  // or gets a parked message; its end comes by a deed, or by the matcher.
  Unexpected* post(Posted& receive, Deeds& deeds);
  // As of the matcher. None also where it is not known yet; then it will be, so ask again.
  Unexpected* probe(const Pattern& pattern, Deeds& deeds);
  Unexpected* take(const Pattern& pattern, Deeds& deeds);
  // A parked message that was taken is received, or dropped (none).
  void fetch(ParkedMessage& message, Posted* receive, Deeds& deeds);
  // `later`: it is armed; ask again after `disarm` or `complete`.
  Cancelled cancel(Posted& receive, Deeds& deeds);

  // The matcher has been told that these contexts are unwanted: their channels are recalled, so
  // that what is in them is parked, and told of by the matcher.
  void discard(ContextSet::Run contexts, Deeds& deeds);
  // Whether receives of that context are held back, so that it is not known yet which messages are
  // theirs. The matcher tells of an unwanted context again when it is known.
  bool holds(std::uint32_t context) const { return holding_.contains(context); }
  // This process ends: all channels are recalled, and no other is opened.
  void refuse(Deeds& deeds);

  // The owner keeps messages outside of channels in the matcher; `after` says how many of their
  // source's came before, outside of channels.
  void opening(std::int32_t source, std::uint32_t context, std::int32_t tag,
               const Agreement& agreement, Deeds& deeds);
  // A channel that was accepted cannot be made: the owner has said no instead.
  void not_opened(std::int32_t source, const Agreement& agreement);
  void began(std::int32_t source, const Agreement& agreement, Deeds& deeds);
  void left(std::int32_t source, const Agreement& agreement, const std::vector<Parked>& parked,
            Deeds& deeds);
  // The channel's next message has come, of so many bytes.
  void came(std::int32_t source, std::uint32_t number, std::uint64_t bytes, Deeds& deeds);
  // Its receives that wait in the matcher are the owner's to take, after this.
  void peer_ended(std::int32_t source, Deeds& deeds);

  // Parked messages that deeds spoke of may go: they were all done.
  void sweep() { over_.clear(); }

  std::uint32_t channels() const { return static_cast<std::uint32_t>(channels_.size()); }
  bool armed(const Posted& receive) const;

 private:
  enum class State : std::uint8_t { accepted, open, recalled, left };
  struct Slot {
    Posted* receive = nullptr;
    ParkedMessage* parked = nullptr;  // after `left`: what comes is this message
    bool claimed = false;             // the receive has left the matcher
  };
  struct Channel {
    std::int32_t source = 0;
    std::uint32_t number = 0, life = 0;
    Envelope envelope;  // with the limit as its length
    State state = State::accepted;
    std::uint64_t received = 0;
    std::uint64_t count = 0;  // of messages, once it is left
    std::deque<Slot> slots;   // armed, and nothing has come yet
  };

  Channel* find(std::int32_t source, const Agreement& agreement);
  Channel* find(std::int32_t source, std::uint32_t context, std::int32_t tag);
  void arm_more(Channel& channel, Deeds& deeds);
  void recall(Channel& channel, Deeds& deeds);
  void recall_covered(const Pattern& pattern, Deeds& deeds);
  bool quiet(std::uint32_t context) const;
  bool does_without(std::uint32_t context) const;
  void hear_of_any_tag(const Pattern& pattern, Deeds& deeds);
  void release(Deeds& deeds);
  void park(Channel& channel, std::uint64_t index, const Parked& parked, Deeds& deeds);
  void arm_parked(Channel& channel, ParkedMessage& message, Deeds& deeds);
  void arrived_parked(ParkedMessage& message, Deeds& deeds);
  void forget(ParkedMessage& message);
  void close_if_over(Channel& channel, Deeds& deeds);

  Matcher& matcher_;
  std::uint32_t most_;  // 0: no channel is opened any more
  std::deque<Channel> channels_;
  std::list<ParkedMessage> messages_;
  std::list<ParkedMessage> over_;
  // Contexts in which any tag was asked for: no channels are opened there any more.
  std::set<std::uint32_t> plain_;
  std::set<std::uint32_t> holding_;  // those of them whose receives are held back
  std::deque<Posted*> held_;
};

}  // namespace scela::channel
