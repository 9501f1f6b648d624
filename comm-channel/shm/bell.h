// Sleeping until somebody has something for one.
//
// Who wants to sleep says so, makes everybody's stores visible, looks once more, and sleeps. Who
// has something publishes it, then looks whether the other sleeps. Were the sender's store still in
// its processor's buffer when it looks, both could miss each other; a fence for each message would
// cost a good part of its time. So the sleeper, who has time, has the kernel run a fence on every
// processor that runs one of the ranks (membarrier). Where the kernel does not, senders fence.
#pragma once

#include <atomic>
#include <cstdint>

namespace scela::channel::shm {

// True: whoever sleeps at it must be woken.
template <class Word>
bool ring(Word& asleep, bool fence) {
  std::uint32_t seen = 0;
  if (fence) {
    // An exchange of both sides with the same word: one of them sees what the other did before.
    seen = asleep.fetch_add(0, std::memory_order_seq_cst);
  } else {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    seen = asleep.load(std::memory_order_relaxed);
  }
  return seen != 0 && asleep.exchange(0, std::memory_order_seq_cst) != 0;
}

// False: there is something already.
template <class Word, class Everybody, class Something>
bool may_sleep(Word& asleep, Everybody everybody_sees, Something something) {
  asleep.exchange(1, std::memory_order_seq_cst);
  everybody_sees();
  if (!something()) return true;
  asleep.store(0, std::memory_order_relaxed);
  return false;
}

// This process's part in making everybody's stores visible.
class Barrier {
 public:
  // Registers this process, and tries.
  static Barrier make();
  // No: stores of others must be fenced by themselves.
  bool works() const { return works_; }
  void everybody_sees() const;

 private:
  bool works_ = false;
};

}  // namespace scela::channel::shm
