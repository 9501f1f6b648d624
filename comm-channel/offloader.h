// Offloaded channels of one process (docs/channel.md, Offloaded channels): what is decided by
// core/offload_sender.h and core/offload_receiver.h is carried out here, on the queue pairs of
// offload_link.h.
//
// Not for two threads at once.
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

#include "comm-channel/core/offload_receiver.h"
#include "comm-channel/core/offload_sender.h"
#include "comm-channel/include/scela/channel.h"
#include "comm-channel/network.h"
#include "comm-channel/offload_link.h"

namespace scela::channel {

// What it wants done. None of these asks it for anything.
class OffloadUser {
 public:
  // `end`: of open, and of opened that is not a refusal.
  virtual void say(int rank, const Saying& saying, const LaneEnd* end) = 0;
  virtual void offloaded(Operation& send) = 0;  // its buffer is free
  // `own`: where its bytes are still to be copied from; none: they are in its buffer.
  virtual void came(Operation& receive, const Envelope& envelope, const std::byte* own) = 0;
  virtual void matched(Operation& receive, Unexpected& message) = 0;
  virtual void cancelled(Operation& receive) = 0;
  // Memory could not be registered.
  virtual void refused(Operation& operation, int rank, const Error& why) = 0;
  virtual void peer_gone(Operation& operation, int rank) = 0;
  virtual void unreachable(int rank, const std::string& why) = 0;

 protected:
  ~OffloadUser() = default;
};

class Offloader final : private OffloadLink::User {
 public:
  Offloader(Matcher& matcher, OffloadUser& user, Network& network, OffloadLink& link,
            const Options& options, int ranks);
  Offloader(const Offloader&) = delete;
  Offloader& operator=(const Offloader&) = delete;

  // True: it goes by a channel, and needs nothing more. Else outside() is told before it goes as
  // other messages do.
  bool send(Operation& operation);
  void outside(const Operation& operation);

  // As of OffloadReceiver.
  Unexpected* post(Operation& receive);
  Unexpected* probe(const Pattern& pattern);
  Unexpected* take(const Pattern& pattern);
  void fetch(Unexpected& parked, Operation* receive);
  // A message that is to be dropped; none also where it may be for a receive that is held back.
  Unexpected* take_to_drop(const Pattern& pattern);
  void discard(ContextSet::Run contexts);
  // This process ends: what is in channels comes as other messages do, and no channel is opened.
  void refuse_messages();
  // False: it may be cancelled() yet, or gets its message.
  bool cancel(Operation& receive);

  // A message about channels has come.
  void arrived(int rank, const Header& header, std::span<const std::byte> payload);
  // A message that is none of a channel has come. How many came before it.
  std::uint64_t came_outside(int rank) { return seen_[static_cast<std::size_t>(rank)]++; }
  unsigned poll();
  void ended(int rank);
  // Before this process ends: others do not wait for it.
  void leave();
  void account(Accounts& accounts) const;

 private:
  using LaneId = OffloadLink::LaneId;
  // Where a channel is: at which peer, with which number.
  struct Place {
    int rank = -1;
    std::uint32_t number = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Outgoing {
    LaneId lane = 0;
    std::uint32_t life = 0;
    bool connected = false;
  };
  struct Incoming {
    LaneId lane = 0;
    Envelope envelope;  // its length: of the longest message
  };

  OffloadSender& sender(int rank);
  void say_all(int rank, const Sayings& sayings);
  void leave_longest_idle();
  bool open(int rank, const Saying& saying);
  void opening(int rank, const Header& header, std::span<const std::byte> payload);
  void opened(int rank, std::span<const std::byte> payload);
  void closed(int rank, const Agreement& agreement);
  bool accept(int rank, const Header& header, const Opening& opening);

  void carry_out(const Deeds& deeds, const Envelope* current = nullptr);
  void carry_out(const Deed& deed, const Envelope* current);
  void arm(const Deed& deed);
  void arm_own(const Deed& deed);
  void arm_own(const Place& place, const ParkedMessage* message, std::uint64_t bytes);
  void complete(const Deed& deed, const Envelope* current);

  void lane_sent(LaneId lane, Operation& operation) override;
  void lane_came(LaneId lane, std::uint64_t bytes) override;
  void lane_broken(LaneId lane, const std::string& why) override;

  Matcher& matcher_;
  OffloadUser& user_;
  Network& network_;
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
  std::size_t queue_pairs_most_ = 0;
};

}  // namespace scela::channel
