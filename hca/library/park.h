// Polls that find nothing time and again sleep until something comes to a queue that they looked
// at, so that they leave the processor to whoever has work.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "hca/library/engine_link.h"
#include "hca/library/sleepers.h"

namespace scela::hca::library {

struct Cq;

// Of one open device; any thread may call.
class Park {
 public:
  // A poll of this queue found nothing: after many in a row, sleeps for a bounded time.
  void found_nothing(Cq& cq, EngineLink& link);
  void found_something() {
    if (empty_.load(std::memory_order_relaxed) == 0) return;
    empty_.store(0, std::memory_order_relaxed);
    streak_.fetch_add(1, std::memory_order_relaxed);
  }

  // Nobody sleeps on the queue, nor will, as long as this is held and after it: the queue is about
  // to go, or its ring to be another.
  [[nodiscard]] std::unique_lock<std::shared_mutex> without(const Cq& cq, EngineLink& link);

 private:
  void note(Cq& cq);
  void sleep(EngineLink& link, const timespec& now);

  std::atomic<std::uint32_t> empty_{0};         // polls in a row that found nothing
  std::atomic<std::uint32_t> more_{0};          // empty polls that are spared a sleep
  std::atomic<std::uint32_t> streak_{1};        // which row
  std::atomic<std::uint64_t> looked_at_ns_{0};  // when the link was looked at last
  Sleepers<std::atomic<int>, std::shared_mutex> sleepers_;
  std::mutex mutex_;            // of what follows
  std::vector<Cq*> looked_at_;  // in this row
  std::uint32_t noted_ = 0;     // the row that `looked_at_` is of
};

}  // namespace scela::hca::library
