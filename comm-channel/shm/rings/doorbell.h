// Sleeping until another rank has something for this one.
//
// A rank that wants to sleep says so, makes all stores of the other ranks visible, looks once more,
// and sleeps. A sender publishes its message, then looks whether the receiver sleeps. If the store
// were still in the sender's store buffer at that look, both could miss each other. A fence for
// each message would cost a good part of its time. So the sleeper, which has time, has the kernel
// run a fence on each processor that runs one of the ranks (membarrier). If the kernel does not
// support this, senders fence.
#pragma once

#include <atomic>
#include <cstdint>

namespace scela::channel::shm {

// Called by a sender after it has published a message. Returns true if the rank that sleeps at the
// word must be woken. `fence` is true unless both ranks have a working Barrier.
template <class Word>
bool ring(Word& asleep, bool fence) {
  std::uint32_t seen = 0;
  if (fence) {
    // Both sides exchange the same word, so one of them sees what the other did before.
    seen = asleep.fetch_add(0, std::memory_order_seq_cst);
  } else {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    seen = asleep.load(std::memory_order_relaxed);
  }
  return seen != 0 && asleep.exchange(0, std::memory_order_seq_cst) != 0;
}

// Called by a rank that wants to sleep at its word: sets the word to 1. Returns false, and sets it
// to 0 again, if there is something already; the rank must not sleep then. `everybody_sees()` is
// that of Barrier. `something()` returns whether a message or room has come.
template <class Word, class Everybody, class Something>
bool may_sleep(Word& asleep, Everybody everybody_sees, Something something) {
  asleep.exchange(1, std::memory_order_seq_cst);
  everybody_sees();
  if (!something()) return true;
  asleep.store(0, std::memory_order_relaxed);
  return false;
}

// This process's part in making the stores of all ranks visible.
class Barrier {
 public:
  // Registers this process with the kernel, and tries the fence.
  static Barrier make();
  // If this returns false, the other ranks must fence their stores themselves.
  bool works() const { return works_; }
  // Makes the stores of all ranks until now visible to this one. Does nothing if works() is false.
  void everybody_sees() const;

 private:
  bool works_ = false;
};

}  // namespace scela::channel::shm
