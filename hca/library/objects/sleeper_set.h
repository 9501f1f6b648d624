// Polls that sleep until a completion comes (hca/core/wire/doorbells.h), and callers that must make
// sure that none of them sleeps. PollSleeper uses it; any thread may call.
//
// It is a template of a counter (an atomic integer) and of a lock (a shared mutex), because
// tests/unit/hca/core/interleavings_test.cpp runs it in every order. `Page` is ProcessPage; its
// futex `doorbell` changes when a watched ring gets a completion.
#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>

#include "hca/core/wire/doorbells.h"

namespace scela::hca::library {

// The threads that sleep, and a lock that excludes them.
template <class Counter, class Lock>
class SleeperSet {
 public:
  // Blocks until a watched ring gets a completion. `rings()` returns the pointers to the rings to
  // watch, which stay as they are until this returns. `wait(doorbell, seen)` must block as long as
  // the doorbell has the value `seen`; it may return earlier. Returns at once if another thread is
  // in without().
  template <class Page, class Rings, class Wait>
  void sleep(Page& page, Rings rings, Wait wait) {
    // The lock lets readers pass a writer that waits, and there may always be one more reader.
    if (wanting_.load(std::memory_order_acquire) != 0) return;
    const std::shared_lock asleep(lock_);
    sleep_until_doorbell(page, rings(), [&](std::uint32_t seen) {
      // This is read after the doorbell: a caller of without() first sets it, then changes the
      // doorbell.
      if (wanting_.load(std::memory_order_seq_cst) == 0) wait(page.doorbell, seen);
    });
  }

  // Returns a lock. While it is held, no thread sleeps, and none begins to. `wake(doorbell)` must
  // wake every thread that sleeps on that futex. If `page` is null, none is woken: each sleep must
  // then end by itself soon.
  template <class Page, class Wake>
  [[nodiscard]] std::unique_lock<Lock> without(Page* page, Wake wake) {
    wanting_.fetch_add(1, std::memory_order_seq_cst);
    if (page != nullptr) {
      page->doorbell.fetch_add(1, std::memory_order_seq_cst);
      wake(page->doorbell);
    }
    std::unique_lock alone(lock_);
    wanting_.fetch_sub(1, std::memory_order_seq_cst);
    return alone;
  }

 private:
  Counter wanting_{0};  // callers of without()
  Lock lock_;           // shared by the threads that sleep
};

}  // namespace scela::hca::library
