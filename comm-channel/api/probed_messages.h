// The messages that improbe() has taken and that no imrecv() has received. Channel::State has the
// list, so that a channel that closes can refuse them: their senders would wait for ever otherwise.
// All calls are made within Progress::with(), which has the channel's lock.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "comm-channel/messenger/messenger.h"

namespace scela::channel {

class ProbedMessages {
 public:
  // Takes the message that a receive with this pattern would get. Returns null if there is none.
  // Throws std::bad_alloc, and takes nothing, if there is no memory for the list.
  Unexpected* take(Messenger& messenger, const Pattern& pattern) {
    taken_.push_back(nullptr);
    Unexpected* const message = messenger.take(pattern);
    if (message == nullptr)
      taken_.pop_back();
    else
      taken_.back() = message;
    return message;
  }
  // Removes a message from the list: receive() or drop() of the messenger must follow. Returns
  // false if the message is not in the list, since the channel has refused it.
  bool release(const Unexpected* message) {
    const auto found = std::ranges::find(taken_, message);
    if (found == taken_.end()) return false;
    taken_.erase(found);
    return true;
  }
  // Drops all messages of the list. Their senders are told that the channel has closed.
  void refuse_all(Messenger& messenger) {
    for (Unexpected* const message : std::exchange(taken_, {}))
      messenger.drop(*message, Outcome::closed);
  }

 private:
  std::vector<Unexpected*> taken_;
};

}  // namespace scela::channel
