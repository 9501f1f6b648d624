// The offloaded channels of one process (docs/design/channel.md, Offloaded channels).
// comm-channel/core/protocol/offload_sender.h and comm-channel/core/protocol/offload_receiver.h
// decide; the offloader carries this out on the queue pairs of offload_link.h. The messenger uses
// it.
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm-channel/core/protocol/offload_receiver.h"
#include "comm-channel/core/protocol/offload_sender.h"
#include "comm-channel/engine/network.h"
#include "comm-channel/engine/offload_link.h"
#include "comm-channel/include/scela/channel.h"

namespace scela::channel {

// The offloader has the messenger do something by these functions. None of them may call the
// offloader. `rank` is the peer.
class OffloadUser {
 public:
  // Sends a message about a channel to the rank. `end` is this end of the queue pair: it is given
  // for `open`, and for `opened` if that is not a refusal; otherwise it is null.
  virtual void say(int rank, const ControlMessage& saying, const LaneEnd* end) = 0;
  // Completes a send: its buffer is free.
  virtual void offloaded(Operation& send) = 0;
  // Completes a receive with the message of this envelope. `own` is the memory from which the bytes
  // are still to be copied. If it is null, they are in the receive's buffer.
  virtual void came(Operation& receive, const Envelope& envelope, const std::byte* own) = 0;
  // Moves a message that came outside of channels into the receive that got it, which was held
  // back.
  virtual void matched(Operation& receive, Unexpected& message) = 0;
  // Completes a receive as cancelled. cancel() has returned false for it.
  virtual void cancelled(Operation& receive) = 0;
  // Fails an operation, because its memory could not be registered.
  virtual void refused(Operation& operation, int rank, const Error& why) = 0;
  // Fails an operation, because the rank has ended.
  virtual void peer_gone(Operation& operation, int rank) = 0;
  // Gives the rank up, because a channel with it has failed.
  virtual void unreachable(int rank, const std::string& why) = 0;

 protected:
  ~OffloadUser() = default;
};

class Offloader final : private OffloadLink::User {
 public:
  // All references must outlive this object, except for the options. `ranks` is the size of the
  // job.
  Offloader(Matcher& matcher, OffloadUser& user, NetworkDevice& device, OffloadLink& link,
            const ChannelOptions& options, int ranks);
  Offloader(const Offloader&) = delete;
  Offloader& operator=(const Offloader&) = delete;

  // send() returns true if the message goes by a channel; nothing else is needed then. Otherwise
  // the caller calls outside() before it sends the operation like other messages.
  bool send(Operation& operation);
  void outside(const Operation& operation);

  // These have the meaning that they have in OffloadReceiver.
  Unexpected* post(Operation& receive);
  Unexpected* probe(const Pattern& pattern);
  Unexpected* take(const Pattern& pattern);
  void fetch(Unexpected& parked, Operation* receive);
  // Removes a message of the pattern from the matcher, to be dropped, and returns it. Returns null
  // if there is none, or if it may be for a receive that is held back.
  Unexpected* take_to_drop(const Pattern& pattern);
  void discard(ContextSet::Run contexts);
  // This process closes: messages in channels come like other messages, and no channel is opened.
  void refuse_messages();
  // Returns false if the receive gets its message, or if cancelled() may follow.
  bool cancel(Operation& receive);

  // Handles a message about channels (Kind::open to Kind::closed) of the rank.
  void arrived(int rank, const Header& header, std::span<const std::byte> payload);
  // Counts a message of the rank that belongs to no channel. Returns how many came before it.
  std::uint64_t came_outside(int rank) { return seen_[static_cast<std::size_t>(rank)]++; }
  // Moves what can be moved. Returns how many completions there were; 0: nothing has changed.
  unsigned poll();
  // Ends the channels with a rank that has ended. Operations in them fail by peer_gone().
  void ended(int rank);
  // Called before this process ends, so that other ranks do not wait for it.
  void leave();
  void add_counters(Counters& counters) const;

 private:
  using LaneId = OffloadLink::LaneId;
  // Identifies a channel by its peer and its number there.
  struct Place {
    int rank = -1;
    std::uint32_t number = 0;
    auto operator<=>(const Place&) const = default;
  };
  // The sending end of a channel to a rank.
  struct Outgoing {
    LaneId lane = 0;
    std::uint32_t life = 0;
    bool connected = false;
  };
  // The receiving end of a channel from a rank.
  struct Incoming {
    LaneId lane = 0;
    Envelope envelope;  // its length is the longest message's
  };

  // Returns the sending side for a rank, which is made at its first use.
  OffloadSender& sender(int rank);
  // Sends the messages about channels, in order, and makes the queue pairs of those that open.
  void say_all(int rank, const ControlMessages& sayings);
  // Leaves the channel that was idle longest, whatever its peer; none, if all are in use.
  void leave_longest_idle();
  // open() makes the sending end for a message of Kind::open, and sends it. accept() makes the
  // receiving end for one. Both return false if the queue pair cannot be made: the channel is then
  // refused.
  bool open(int rank, const ControlMessage& saying);
  // Messages of Kind::open, Kind::opened and Kind::closed have come.
  void opening(int rank, const Header& header, std::span<const std::byte> payload);
  void opened(int rank, std::span<const std::byte> payload);
  void closed(int rank, const Agreement& agreement);
  // See open().
  bool accept(int rank, const Header& header, const Opening& opening);

  // These carry out the receiver's actions. `current` is the envelope of the message that has come
  // in a channel, or null if they have another cause.
  void carry_out(const ReceiverActions& actions, const Envelope* current = nullptr);
  void carry_out(const ReceiverAction& action, const Envelope* current);
  // These post the receive's buffer, or memory of the channel, for the next message of a channel. A
  // buffer that cannot be registered is replaced by such memory.
  void arm(const ReceiverAction& action);
  void arm_own(const ReceiverAction& action);
  void arm_own(const Place& place, const ParkedMessage* message, std::uint64_t bytes);
  // The message of the action's receive is there.
  void complete(const ReceiverAction& action, const Envelope* current);

  // The contract of these functions is in offload_link.h (OffloadLink::User).
  void lane_sent(LaneId lane, Operation& operation) override;
  void lane_came(LaneId lane, std::uint64_t bytes) override;
  void lane_broken(LaneId lane, const std::string& why) override;

  Matcher& matcher_;
  OffloadUser& user_;
  NetworkDevice& device_;
  OffloadLink& link_;
  const std::size_t eager_;
  const OffloadSender::Limits limits_;
  const bool sends_;
  ChannelBudget budget_;
  std::vector<std::unique_ptr<OffloadSender>> senders_;  // by rank, once it is sent to
  OffloadReceiver receiver_;
  std::map<Place, Outgoing> outgoing_;
  std::map<Place, Incoming> incoming_;
  std::map<LaneId, Place> places_;
  std::map<const ParkedMessage*, std::shared_ptr<OwnMemory>> own_;
  std::vector<std::uint64_t> seen_;  // by rank
  std::vector<std::pair<int, std::string>> unreachable_;
  std::uint64_t messages_ = 0;
  std::size_t max_queue_pairs_ = 0;
};

}  // namespace scela::channel
