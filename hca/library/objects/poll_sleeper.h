// Lets a poll that found nothing many times sleep until a completion comes to a queue that was
// polled. So the program leaves the processor to threads that have work. A poll that finds nothing
// is in vain. A row is a series of vain polls, of any queues of the device, without a completion in
// between. The functions that poll call it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "hca/library/link/engine_link.h"
#include "hca/library/objects/sleeper_set.h"

namespace scela::hca::library {

struct Cq;

// The vain polls of one open device; any thread may call.
class PollSleeper {
 public:
  // Called after a poll of this queue that found nothing. After 32 in a row, it blocks until a
  // completion comes to a queue polled in this row, for at most 250 microseconds. It does not block
  // for a queue that has a completion channel. It also moves a part of a long message if the engine
  // offers one.
  void found_nothing(Cq& cq, EngineLink& link);
  // Called after a poll that returned a completion: the row of vain polls ends.
  void found_something() {
    if (empty_.load(std::memory_order_relaxed) == 0) return;
    empty_.store(0, std::memory_order_relaxed);
    streak_.fetch_add(1, std::memory_order_relaxed);
  }

  // Wakes the threads that sleep, removes the queue from those that are watched, and returns a
  // lock. While the lock is held, no thread sleeps; afterwards none sleeps on this queue. The
  // caller is about to destroy the queue or replace its ring.
  [[nodiscard]] std::unique_lock<std::shared_mutex> without(const Cq& cq, EngineLink& link);

 private:
  // Adds the queue to those that end the next sleep.
  void note(Cq& cq);
  // Blocks until a noted queue gets a completion, or for 250 microseconds from `now`. It does not
  // block if the engine offers a part of a long message.
  void sleep(EngineLink& link, const timespec& now);

  std::atomic<std::uint32_t> empty_{0};  // vain polls in a row
  // Vain polls that are not counted, because another part of a message may come soon.
  std::atomic<std::uint32_t> more_{0};
  std::atomic<std::uint32_t> streak_{1};        // number of the present row
  std::atomic<std::uint64_t> looked_at_ns_{0};  // time of the last look at the link
  SleeperSet<std::atomic<int>, std::shared_mutex> sleeper_set_;
  std::mutex mutex_;            // protects the members below
  std::vector<Cq*> looked_at_;  // the queues polled in this row
  std::uint32_t noted_ = 0;     // the row that `looked_at_` is of
};

}  // namespace scela::hca::library
