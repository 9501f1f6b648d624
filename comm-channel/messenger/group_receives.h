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
#include "comm-channel/include/scela/status.h"

namespace scela::channel {

class GroupReceives {
 public:
  // The references must outlive this object.
  GroupReceives(const Peers& peers, Matcher& matcher) : peers_(peers), matcher_(matcher) {}

  // An operation of a group has begun, and may be complete. It is added if it is such a receive.
  void add(Operation& operation) {
    if (operation.is_send || operation.pattern.source != kAny || operation.group->is_whole())
      return;
    receives_.insert(&operation);
    seen_ended_ = 0;  // all are looked at next time
  }
  // The operation is given back.
  void remove(Operation& operation) { receives_.erase(&operation); }
  // Fails those that no rank can complete any more.
  void fail_solitary(const Status& error);
  bool empty() const { return receives_.empty(); }

 private:
  const Peers& peers_;
  Matcher& matcher_;
  std::unordered_set<Operation*> receives_;  // complete ones may be among them
  std::size_t seen_ended_ = 0;               // ranks that had ended at the last look
};

// A receive that an offloaded channel holds back is not in the matcher now: it is looked at again.
inline void GroupReceives::fail_solitary(const Status& error) {
  if (peers_.ended().size() == seen_ended_) return;
  bool some_held = false;
  std::erase_if(receives_, [&](Operation* const receive) {
    if (receive->phase != Phase::waiting) return true;
    if (!receive->group->nobody_left([&](int rank) { return peers_.has_ended(rank); }))
      return false;
    some_held = some_held || !receive->waiting();
    if (!matcher_.cancel(*receive)) return false;
    receive->finish(error);
    return true;
  });
  if (!some_held) seen_ended_ = peers_.ended().size();
}

}  // namespace scela::channel
