#include "comm-channel/messenger/group_receives.h"

namespace scela::channel {

void GroupReceives::add(Operation& receive) {
  receives_.insert(&receive);
  seen_ended_ = 0;  // all are looked at next time
}

// A receive that an offloaded channel holds back is not in the matcher now: it is looked at again.
void GroupReceives::fail_solitary(const Status& error) {
  if (peers_.ended().size() == seen_ended_) return;
  bool some_held = false;
  std::erase_if(receives_, [&](Operation* const receive) {
    if (receive->phase != Phase::waiting) return true;
    if (!receive->group->nobody_left([&](int rank) { return peers_.has_ended(rank); }))
      return false;
    if (!matcher_.cancel(*receive)) {
      some_held = true;
      return false;
    }
    receive->finish(error);
    return true;
  });
  if (!some_held) seen_ended_ = peers_.ended().size();
}

}  // namespace scela::channel
