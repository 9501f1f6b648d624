#include "nla/core/tree/heartbeat.h"

#include <utility>

namespace scela::nla {

Heartbeat::Verdict Heartbeat::tick(const Seen& seen) {
  const bool heard = std::exchange(heard_, seen.heard) != seen.heard;
  const bool sent = std::exchange(sent_, seen.sent) != seen.sent;
  if (heard) {
    quiet_ = 0;
  } else if (!seen.deaf) {
    ++quiet_;
  }
  idle_ = sent ? 0 : idle_ + 1;
  if (quiet_ >= kLostTicks) return Verdict::lost;
  return idle_ >= kIdleTicks ? Verdict::beat : Verdict::nothing;
}

}  // namespace scela::nla
