// Whether the other end of one link is alive: when to say that we are, and when silence means that
// it is not (decision D3).
//
// Counts ticks of the process's own timer, kTicksPerPeriod of them a period, and knows no clock. So
// a tick that comes late, because the machine is overloaded or the process was stopped, or a clock
// that jumps, makes the peer no older than one tick: a late timer of one's own extends the deadline
// by as much as it was late. Values only, one per link.
#pragma once

#include <cstdint>
#include <utility>

namespace scela::nla {

class Heartbeat {
 public:
  static constexpr std::uint32_t kTicksPerPeriod = 4;
  // What was heard or sent is only known to lie within the tick before. So that no beat comes more
  // than a period after what was sent last, and silence is noticed no later than after three
  // periods, each counts from the earlier end of that tick.
  static constexpr std::uint32_t kIdleTicks = kTicksPerPeriod - 1;
  static constexpr std::uint32_t kLostTicks = 3 * kTicksPerPeriod - 1;

  struct Seen {
    std::uint64_t heard = 0;  // bytes in all, of any kind
    std::uint64_t sent = 0;   // bytes in all that the stream has taken
    bool deaf = false;        // for some of the time since the last tick we read nothing
  };
  enum class Verdict : std::uint8_t { nothing, beat, lost };

  Verdict tick(const Seen& seen);
  // A sign of life that did not come over the link.
  void alive() { quiet_ = 0; }
  // Nothing was heard for longer than a peer in good health is silent.
  bool overdue() const { return quiet_ > kTicksPerPeriod; }

 private:
  std::uint64_t heard_ = 0;
  std::uint64_t sent_ = 0;
  std::uint32_t quiet_ = 0;
  std::uint32_t idle_ = 0;
};

// Whether a peer takes nothing of what waits for it, though it may say that it is alive: what waits
// for one child holds up all links of its parent.
class Stall {
 public:
  // Once for each tick. `waits`: more is queued for the peer than may be; `taken`: bytes in all
  // that the stream has taken. True: the peer has taken nothing for more than `limit` ticks.
  bool tick(bool waits, std::uint64_t taken, std::uint32_t limit) {
    const bool moved = taken != std::exchange(taken_, taken);
    ticks_ = waits && !moved ? ticks_ + 1 : 0;
    return ticks_ > limit;
  }

 private:
  std::uint64_t taken_ = 0;
  std::uint32_t ticks_ = 0;
};

}  // namespace scela::nla
