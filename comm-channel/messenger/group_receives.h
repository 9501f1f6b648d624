// The receives from any rank of a communicator that has not all ranks of the job. They fail once
// none of the communicator's other ranks is left, though other ranks of the job live. The messenger
// uses it (comm-channel/messenger/messenger.h).
//
// Only one thread at a time may call it.
#pragma once

#include <cstddef>
#include <unordered_set>

#include "comm-channel/core/match/matching.h"
#include "comm-channel/engine/operation.h"
#include "comm-channel/engine/peers.h"

namespace scela::channel {

class GroupReceives {
 public:
  // The references must outlive this object.
  GroupReceives(const Peers& peers, Matcher& matcher) : peers_(peers), matcher_(matcher) {}

  // Adds such a receive, which has begun. It may be complete.
  void add(Operation& receive);
  // The receive is given back.
  void remove(Operation& receive) { receives_.erase(&receive); }
  // Fails those that no rank can complete any more.
  void fail_solitary(const Status& error);
  bool empty() const { return receives_.empty(); }

 private:
  const Peers& peers_;
  Matcher& matcher_;
  std::unordered_set<Operation*> receives_;  // complete ones may be among them
  std::size_t seen_ended_ = 0;               // ranks that had ended at the last look
};

}  // namespace scela::channel
