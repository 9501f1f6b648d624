// Decides between three steps while nothing comes: to look again at once, to yield the processor,
// or to sleep. NodeLink uses it.
//
// If each rank has a processor of its own, looking again is cheapest. A rank does so for about as
// long as it takes to fall asleep and be woken. If another rank copies its message, it also does so
// for as long as the copy takes. A copier must not be held up by a sleeper that it has to wake.
//
// If ranks share processors, a rank that looks again may keep away the very rank it waits for. So
// it yields at once. A yield that takes long went to a process that computes. Such a process would
// not give the processor back when the message comes; a sleeper gets it back. The class is pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace scela::channel::shm {

// How the ranks of a node have its processors.
enum class Processors : unsigned char {
  own,     // each rank can have a processor of its own
  shared,  // there are more ranks than processors
  lent,    // processes other than ranks need them too, and ranks that wait leave them to those
};

// How long a rank that waits does each step.
struct WaitLimits {
  bool crowded = false;                   // ranks outnumber processors
  std::uint64_t spin_ns = 50'000;         // not crowded: looks before a sleep
  std::uint32_t yields = 40;              // crowded: yields before a sleep
  std::uint64_t long_yield_ns = 200'000;  // a yield this long is the last one
  // The rate of a slow copy in bytes, and the longest time a rank waits awake for a copy.
  std::uint64_t copied_per_ns = 2;
  std::uint64_t longest_spin_ns = 10'000'000;
};

// Returns the limits for ranks that have processors so. Fewer yields precede a sleep if processes
// other than ranks need the processors.
inline WaitLimits limits_for(Processors processors) {
  constexpr std::uint32_t kYieldsToOthers = 8;
  WaitLimits limits;
  limits.crowded = processors != Processors::own;
  if (processors == Processors::lent) limits.yields = kYieldsToOthers;
  return limits;
}

class Waiting {
 public:
  // `look`: poll again at once. `yield`: let other processes run, then report yielded(). `sleep`:
  // wait until another rank wakes this one.
  enum class Step : unsigned char { look, yield, sleep };

  explicit Waiting(const WaitLimits& patience) : patience_(patience), spin_ns_(patience.spin_ns) {}

  // Lengthens the time of looking by that of a copy of so many bytes, which another rank is about
  // to make; 0: there is none any more.
  void expect(std::uint64_t bytes) {
    const std::uint64_t copy_ns = bytes / patience_.copied_per_ns;
    spin_ns_ = patience_.spin_ns + std::min(copy_ns, patience_.longest_spin_ns);
  }

  // Begins the time of waiting anew, because something has come.
  void over() { looks_ = yields_ = 0; }

  // Returns the next step after a look that found nothing. `now()` returns nanoseconds, and is
  // called now and then.
  template <class Now>
  Step next(Now now) {
    if (patience_.crowded) return yields_ < patience_.yields ? Step::yield : Step::sleep;
    // Most messages come within these first looks, and would have to wait for the clock.
    if (++looks_ % kLooksPerClock != 0) return Step::look;
    const std::uint64_t time = now();
    if (looks_ == kLooksPerClock) since_ = time;
    if (time - since_ < spin_ns_) return Step::look;
    looks_ = kLooksPerClock;  // one more look after the sleep
    since_ = time - spin_ns_;
    return Step::sleep;
  }
  // Counts a yield that has taken so long. After a long one, the next step is a sleep.
  void yielded(std::uint64_t took_ns) {
    yields_ = took_ns >= patience_.long_yield_ns ? patience_.yields : yields_ + 1;
  }

 private:
  static constexpr std::uint32_t kLooksPerClock = 64;

  WaitLimits patience_;
  std::uint64_t spin_ns_;
  std::uint32_t looks_ = 0;
  std::uint32_t yields_ = 0;
  std::uint64_t since_ = 0;
};

}  // namespace scela::channel::shm
