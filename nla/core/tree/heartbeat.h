// Detects if the other end of one link is alive (decision D3): says when this end must send a beat,
// and when silence means that the peer is lost. The link uses it.
//
// It counts ticks of the process's own timer, kTicksPerPeriod of them a period, and knows no clock.
// A tick may come late because the machine is overloaded or the process was stopped, and a clock
// may jump. In each case the peer grows no older than one tick, so a late timer extends the
// deadline by as much as it was late. Values only: one object for each link, one thread at a time.
#pragma once

#include <cstdint>
#include <utility>

namespace scela::nla {

class Heartbeat {
 public:
  // The timer ticks so often in one period of beats.
  static constexpr std::uint32_t kTicksPerPeriod = 4;
  // The time of the last byte is known to one tick only. So each limit counts from the earlier end
  // of that tick. No beat then comes more than a period after the last byte was sent, and silence
  // is noticed after three periods at the latest.
  static constexpr std::uint32_t kIdleTicks = kTicksPerPeriod - 1;
  static constexpr std::uint32_t kLostTicks = 3 * kTicksPerPeriod - 1;

  // The caller has observed this on the link until this tick.
  struct Seen {
    std::uint64_t heard = 0;  // bytes received in all, of any kind
    std::uint64_t sent = 0;   // bytes that the stream took in all
    // This end read nothing for some of the time since the last tick.
    bool deaf = false;
  };
  // The answer of tick() says what the caller must do: nothing; send a beat frame to the peer; or
  // treat the peer as lost.
  enum class Verdict : std::uint8_t { nothing, beat, lost };

  // Takes one tick of the caller's timer and returns what the caller must do now. A peer is lost if
  // nothing was heard of it for kLostTicks ticks. Ticks with Seen::deaf do not count as silence.
  Verdict tick(const Seen& seen);
  // Call this if the peer gave a sign of life that did not come over the link. Its silence counts
  // from 0 again.
  void alive() { quiet_ = 0; }
  // Returns true if the peer has been silent for more than one period, which a healthy peer never
  // is.
  bool overdue() const { return quiet_ > kTicksPerPeriod; }

 private:
  std::uint64_t heard_ = 0;
  std::uint64_t sent_ = 0;
  std::uint32_t quiet_ = 0;  // ticks since the peer was heard
  std::uint32_t idle_ = 0;   // ticks since a byte was sent
};

// Detects a peer that takes nothing of what waits for it, though it may say that it is alive. Bytes
// that wait for one child hold up all links of its parent. One object for each link.
class Stall {
 public:
  // The caller calls this once for each tick. `waits` says that more is queued for the peer than
  // may be. `taken` is the number of bytes that the stream has taken in all. Returns true if the
  // peer has taken nothing for more than `limit` ticks.
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
