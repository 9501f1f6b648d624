// What to do while nothing comes: look again at once for a while, then let others have the
// processor, then sleep.
//
// Where each rank has a processor of its own, looking again is cheapest, for about as long as it
// takes to fall asleep and be woken; and for as long as a message takes that is being copied, since
// its copier is not to be held up by a sleeper whom it must wake. Where ranks share processors,
// whoever looks again may keep away the very rank it waits for: it yields at once. A yield that
// takes long was to somebody who computes, and would not give the processor back when the message
// comes; a sleeper gets it back. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace scela::channel::shm {

struct Patience {
  bool crowded = false;            // ranks outnumber processors
  std::uint64_t spin_ns = 50'000;  // where they do not
  std::uint32_t yields = 40;       // where they do
  std::uint64_t long_yield_ns = 200'000;
  // A slow copy's, and what is not waited for awake however long a message is.
  std::uint64_t copied_per_ns = 2;
  std::uint64_t longest_spin_ns = 10'000'000;
};

class Waiting {
 public:
  enum class Step : unsigned char { look, yield, sleep };

  explicit Waiting(const Patience& patience) : patience_(patience), spin_ns_(patience.spin_ns) {}

  // A message of so many bytes is about to be copied; 0: none any more.
  void expect(std::uint64_t bytes) {
    const std::uint64_t copy_ns = bytes / patience_.copied_per_ns;
    spin_ns_ = patience_.spin_ns + std::min(copy_ns, patience_.longest_spin_ns);
  }

  // Something has come.
  void over() { looks_ = yields_ = 0; }

  // Nothing has. `now()` in nanoseconds is asked for now and then.
  template <class Now>
  Step next(Now now) {
    if (patience_.crowded) return yields_ < patience_.yields ? Step::yield : Step::sleep;
    // Most of what comes comes within these first looks, and would have to wait for the clock.
    if (++looks_ % kLooksPerClock != 0) return Step::look;
    const std::uint64_t time = now();
    if (looks_ == kLooksPerClock) since_ = time;
    if (time - since_ < spin_ns_) return Step::look;
    looks_ = kLooksPerClock;  // once more after the sleep, unless something has come
    since_ = time - spin_ns_;
    return Step::sleep;
  }
  void yielded(std::uint64_t took_ns) {
    yields_ = took_ns >= patience_.long_yield_ns ? patience_.yields : yields_ + 1;
  }

 private:
  static constexpr std::uint32_t kLooksPerClock = 64;

  Patience patience_;
  std::uint64_t spin_ns_;
  std::uint32_t looks_ = 0;
  std::uint32_t yields_ = 0;
  std::uint64_t since_ = 0;
};

}  // namespace scela::channel::shm
