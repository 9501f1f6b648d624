// Polls that sleep until something comes (hca/core/bells.h), and who wants that none of them does.
//
// A template of a counter and a lock: tests/unit/hca/interleavings_test.cpp runs it in every order.
#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>

#include "hca/core/bells.h"

namespace scela::hca::library {

template <class Counter, class Lock>
class Sleepers {
 public:
  // `rings()` names the queues to watch; they stay as they are until this returns. `wait(bell,
  // seen)` sleeps as long as the bell is what was seen.
  template <class Page, class Rings, class Wait>
  void sleep(Page& page, Rings rings, Wait wait) {
    // The lock lets readers pass a writer that waits, and there may always be one more of them.
    if (wanting_.load(std::memory_order_acquire) != 0) return;
    const std::shared_lock asleep(lock_);
    sleep_until_bell(page, rings(), [&](std::uint32_t seen) {
      // Looked at after the bell: who wants nobody to sleep says so, then changes that.
      if (wanting_.load(std::memory_order_seq_cst) == 0) wait(page.bell, seen);
    });
  }

  // Nobody sleeps, nor will, as long as this is held. No page: nobody can be asleep for long.
  template <class Page, class Wake>
  [[nodiscard]] std::unique_lock<Lock> without(Page* page, Wake wake) {
    wanting_.fetch_add(1, std::memory_order_seq_cst);
    if (page != nullptr) {
      page->bell.fetch_add(1, std::memory_order_seq_cst);
      wake(page->bell);
    }
    std::unique_lock alone(lock_);
    wanting_.fetch_sub(1, std::memory_order_seq_cst);
    return alone;
  }

 private:
  Counter wanting_{0};  // callers of without(): nobody falls asleep
  Lock lock_;           // shared by those who sleep
};

}  // namespace scela::hca::library
