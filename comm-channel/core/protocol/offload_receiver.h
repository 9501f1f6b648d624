// The receiving side of offloaded channels (docs/design/channel.md, Offloaded channels). Each
// process has one, between the program's receives and the matcher; Offloader owns it
// (comm-channel/engine/offloader.h).
//
// While a channel is open, each receive that names its source, context and tag is *armed*. Its
// buffer is posted to the channel and the sender's adapter is told, which then sends without its
// program. An armed receive goes on waiting in the matcher, so the matcher alone decides which
// receive gets which message.
//
// The matcher cannot see the messages in a channel. A receive or probe with a wildcard, or a buffer
// that is too small, would need to know them. In these cases the receiver recalls the channel: the
// sender says how many messages went by it, and sends the next ones as any others.
//
// A channel is *left* once its sender sends nothing more by it. Messages that were sent by it until
// then, and for which no receive was armed, are *parked*: they wait in the matcher like others, and
// their bytes are fetched when a receive gets them. A receive is *held back*, and not yet in the
// matcher, while it is not known which messages went by a channel.
//
// If a process has no channels and does not use offloading, idle() is true. The matcher may then be
// asked directly, except for receives of any tag. The class is not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <set>
#include <vector>

#include "comm-channel/core/match/matching.h"
#include "comm-channel/core/protocol/offload_sender.h"

namespace scela::channel {

// A message in a channel that was left, for which no receive was armed.
struct ParkedMessage : Unexpected {
  std::int32_t source = 0;
  std::uint32_t channel = 0, life = 0;  // as in Agreement (wire.h)
  std::uint64_t index = 0;              // among the channel's messages, from 0
  std::uint64_t turn = 0;               // among all of its source's messages
  Posted* receive = nullptr;            // the receive that gets it
  bool fetched = false;                 // its bytes are requested
  bool bounced = false;                 // its bytes go to the owner's memory
  bool here = false;                    // its bytes have arrived
  bool dropped = false;                 // it was dropped: no receive gets it
  bool lost = false;                    // its sender has died
};

// An action for the owner to carry out, in the order of the list. A `complete` action takes the
// message of `bytes` bytes from the owner's memory if `parked` is set. `arm_own` needs `bytes`
// bytes of the owner's memory.
struct ReceiverAction {
  enum class What : std::uint8_t {
    say,       // send `saying` in an answer's room
    arm,       // post the buffer, tell the sender
    arm_own,   // post owner's memory for `parked`
    disarm,    // the receive waits outside of channels
    complete,  // the receive has its message
    matched,   // a held receive got `message`
    fail,      // the receive's source has died
    forget,    // release the memory for `parked`
    reset,     // replace the idle channel's queue pair
  };
  What what = What::say;
  std::int32_t source = 0;
  std::uint32_t channel = 0;
  Posted* receive = nullptr;
  Unexpected* message = nullptr;  // set for `matched`
  ParkedMessage* parked = nullptr;
  std::uint64_t bytes = 0;
  ControlMessage saying;
};
using ReceiverActions = std::vector<ReceiverAction>;

class OffloadReceiver {
 public:
  // The result of cancel(). `too_late`: the receive has its message. `later`: see cancel().
  enum class Cancelled : std::uint8_t { yes, too_late, later };

  OffloadReceiver(Matcher& matcher, std::uint32_t max_channels)
      : matcher_(matcher), max_(max_channels) {}

  // Returns true if there are no channels, parked messages or receives held back.
  bool idle() const { return channels_.empty() && messages_.empty() && held_.empty(); }

  // Posts a receive, as Matcher::post does, and returns the message that it gets. Returns nullptr
  // if the receive waits, is held back for a moment, or gets a parked message. It is then completed
  // by an action, or by the matcher.
  Unexpected* post(Posted& receive, ReceiverActions& actions);
  // These act as Matcher::probe and take do. They also return nullptr if the answer is not known
  // yet. It becomes known later, so the caller asks again.
  Unexpected* probe(const Pattern& pattern, ReceiverActions& actions);
  Unexpected* take(const Pattern& pattern, ReceiverActions& actions);
  // Fetches a parked message that was taken from the matcher: for `receive`, or to drop it if
  // `receive` is nullptr.
  void fetch(ParkedMessage& message, Posted* receive, ReceiverActions& actions);
  // Cancels a receive. Returns `later` if it is armed: the caller asks again after `disarm` or
  // `complete`.
  Cancelled cancel(Posted& receive, ReceiverActions& actions);

  // Recalls the channels of these contexts, which the matcher was told are unwanted. The messages
  // in these channels are then parked, and the matcher reports them.
  void discard(ContextSet::Run contexts, ReceiverActions& actions);
  // Returns true if receives of that context are held back, so it is not known yet which messages
  // they get. The matcher reports an unwanted context again when it is known.
  bool holds(std::uint32_t context) const { return holding_.contains(context); }
  // Recalls all channels, and opens no other, because this process ends.
  void refuse(ReceiverActions& actions);

  // These handle the source's messages `open`, `begin` and `left` about a channel: the source wants
  // to open one, sends by it from now on, or sends by it no more. The owner keeps messages that
  // come outside of channels in the matcher. Their `after` says how many of their source's messages
  // came before, outside of channels.
  void opening(std::int32_t source, std::uint32_t context, std::int32_t tag,
               const Agreement& agreement, ReceiverActions& actions);
  // Removes an accepted channel that cannot be made. The owner has refused it instead.
  void not_opened(std::int32_t source, const Agreement& agreement);
  void began(std::int32_t source, const Agreement& agreement, ReceiverActions& actions);
  void left(std::int32_t source, const Agreement& agreement, const std::vector<Parked>& parked,
            ReceiverActions& actions);
  // Records that the next message of the source's channel `number` has come, of `bytes` bytes.
  void came(std::int32_t source, std::uint32_t number, std::uint64_t bytes,
            ReceiverActions& actions);
  // Ends the channels of a source that has died. Afterwards the owner takes its receives that wait
  // in the matcher.
  void peer_ended(std::int32_t source, ReceiverActions& actions);

  // Destroys the parked messages that finished actions referred to.
  void sweep() { over_.clear(); }

  std::uint32_t channels() const { return static_cast<std::uint32_t>(channels_.size()); }
  // Returns whether the receive's buffer is posted to a channel.
  bool armed(const Posted& receive) const;

 private:
  // `accepted`: no message may go by the channel yet. `open`: from `begin` on. `recalled`: the
  // sender is asked to leave it. `left`: only messages sent before still come.
  enum class State : std::uint8_t { accepted, open, recalled, left };
  struct Slot {
    Posted* receive = nullptr;        // null: none, or none yet
    ParkedMessage* parked = nullptr;  // after `left`: the message that comes
    bool claimed = false;             // the receive has left the matcher
  };
  struct Channel {
    std::int32_t source = 0;
    std::uint32_t number = 0, life = 0;
    Envelope envelope;  // its length is the channel's limit
    State state = State::accepted;
    std::uint64_t received = 0;
    std::uint64_t count = 0;  // messages in all, once it is left
    std::deque<Slot> slots;   // armed, and without a message yet
  };

  // Both return null if there is no such channel.
  Channel* find(std::int32_t source, const Agreement& agreement);
  Channel* find(std::int32_t source, std::uint32_t context, std::int32_t tag);
  // Arms the receives that the channel's next messages are for, or recalls the channel if the next
  // one cannot be armed.
  void arm_more(Channel& channel, ReceiverActions& actions);
  // Asks the sender to leave an open channel, or all channels with messages that the pattern fits.
  void recall(Channel& channel, ReceiverActions& actions);
  void recall_covered(const Pattern& pattern, ReceiverActions& actions);
  // Returns true if all channels of the context are left, so the matcher knows all its messages.
  bool quiet(std::uint32_t context) const;
  // Returns true if no channel may be opened in the context.
  bool does_without(std::uint32_t context) const;
  // A receive or probe asks for any tag: channels of its context are recalled, and none is opened
  // there.
  void hear_of_any_tag(const Pattern& pattern, ReceiverActions& actions);
  // Posts the receives that were held back, if it is known by now what they get.
  void release(ReceiverActions& actions);
  // Takes in a message that is in a channel that was left, and for which no receive was armed.
  void park(Channel& channel, std::uint64_t index, const Parked& parked, ReceiverActions& actions);
  // Posts a buffer for the parked message: that of its receive, or the owner's memory.
  void arm_parked(Channel& channel, ParkedMessage& message, ReceiverActions& actions);
  // The bytes of the parked message are there: completes its receive, if it has one.
  void arrived_parked(ParkedMessage& message, ReceiverActions& actions);
  // Removes a parked message; sweep() destroys it.
  void forget(ParkedMessage& message);
  // Removes a channel that was left, and all messages of which have come.
  void close_if_over(Channel& channel, ReceiverActions& actions);

  Matcher& matcher_;
  std::uint32_t max_;  // 0: no channel is opened any more
  std::deque<Channel> channels_;
  std::list<ParkedMessage> messages_;
  std::list<ParkedMessage> over_;
  // Contexts in which a receive or probe has asked for any tag. No channel is opened there any
  // more.
  std::set<std::uint32_t> plain_;
  std::set<std::uint32_t> holding_;  // contexts with receives held back
  std::deque<Posted*> held_;
};

}  // namespace scela::channel
