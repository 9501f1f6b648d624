// The offloaded channels of a process, or none. An offloaded channel is a queue pair of one tag and
// peer, on which large messages move without the program. Without channels, each function does what
// is right for a process that has none. The parts of the messenger use it, so that only this class
// knows whether there are channels. The contracts are in comm-channel/engine/offloader.h.
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "comm-channel/core/match/matching.h"
#include "comm-channel/core/protocol/wire.h"
#include "comm-channel/engine/network.h"
#include "comm-channel/engine/offloader.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/include/scela/channel.h"

namespace scela::channel {

class OffloadPath {
 public:
  // The references must outlive this object. There are channels if `device` is not null and has
  // the queue pairs for them; it must live until close(). `ranks` is the size of the job.
  OffloadPath(Matcher& matcher, OffloadUser& user, NetworkDevice* device,
              const ChannelOptions& options, int ranks);

  // Returns true if the message of a send to another node goes by a channel; nothing else is needed
  // then. Otherwise the caller calls outside() before it sends the message.
  bool send(Operation& send) { return offloader_ && offloader_->send(send); }
  void outside(const Operation& send) {
    if (offloader_) offloader_->outside(send);
  }

  // Matching: these have the contracts of Matcher, and of Offloader if there are channels.
  Unexpected* post(Operation& receive) {
    return offloader_ ? offloader_->post(receive) : matcher_.post(receive);
  }
  Unexpected* probe(const Pattern& pattern) {
    return offloader_ ? offloader_->probe(pattern) : matcher_.probe(pattern);
  }
  Unexpected* take(const Pattern& pattern) {
    return offloader_ ? offloader_->take(pattern) : matcher_.take(pattern);
  }
  Unexpected* take_to_drop(const Pattern& pattern) {
    return offloader_ ? offloader_->take_to_drop(pattern) : matcher_.take(pattern);
  }
  bool cancel(Operation& receive) {
    return offloader_ ? offloader_->cancel(receive) : matcher_.cancel(receive);
  }
  // Begins to fetch the bytes of a message that is parked in a channel, for `receive`, or to drop
  // them if that is null. There must be channels.
  void fetch(Unexpected& parked, Operation* receive) { offloader_->fetch(parked, receive); }
  // Has the messages of these contexts that are in channels handed to the matcher.
  void discard(const ContextSet::Run& contexts) {
    if (offloader_) offloader_->discard(contexts);
  }
  // Does so for all channels; no channel is opened any more.
  void refuse_messages() {
    if (offloader_) offloader_->refuse_messages();
  }

  // Counts a message that belongs to no channel. Returns how many of the rank's came before it.
  std::uint64_t came_outside(int rank) { return offloader_ ? offloader_->came_outside(rank) : 0; }
  // Handles a message about channels that has come. Without channels, this process refuses to open
  // one. Returns true if receives that were held back may wait in the matcher now.
  bool on_agreement(int rank, const Header& header, std::span<const std::byte> payload);
  // Moves what can be moved, without waiting. Returns how many completions there were.
  unsigned poll() { return offloader_ ? offloader_->poll() : 0; }

  // Ends the operations in channels with a rank that has ended.
  void ended(int rank) {
    if (offloader_) offloader_->ended(rank);
  }
  // Leaves all channels before this process ends, so that other ranks need not wait for them.
  // Returns false if there are none.
  bool leave() {
    if (offloader_) offloader_->leave();
    return offloader_ != nullptr;
  }
  // Destroys all channels: from now on there are none.
  void close() { offloader_.reset(); }
  void add_counters(Counters& counters) const {
    if (offloader_) offloader_->add_counters(counters);
  }

 private:
  Matcher& matcher_;
  OffloadUser& user_;
  std::unique_ptr<Offloader> offloader_;  // null: no channels
};

}  // namespace scela::channel
