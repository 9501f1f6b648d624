#include "comm-channel/shm/node_sleep.h"

namespace scela::channel::shm {

bool NodeSleep::arm() {
  if (!exchange_.arm()) return false;
  if (deaths_.count() == deaths_seen_) return true;
  deaths_seen_ = deaths_.count();
  exchange_.disarm();
  return false;
}

void NodeSleep::disarm(WokenBy by) {
  ++sleeps_;
  const bool rung = exchange_.asleep().load(std::memory_order_acquire) == 0;
  exchange_.disarm();
  if (rung || by == WokenBy::other)
    ++sleeps_woken_;
  else
    deaths_.find_out();
}

void NodeSleep::sleep(std::optional<std::chrono::nanoseconds> limit) {
  if (limit && limit->count() <= 0) return;
  if (!arm()) return;
  doze(limit);
  disarm(WokenBy::node);
}

}  // namespace scela::channel::shm
