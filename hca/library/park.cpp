#include "hca/library/park.h"

#include <algorithm>
#include <ctime>

#include "common/os/futex.h"
#include "hca/library/objects.h"

namespace scela::hca::library {

namespace {

constexpr std::uint32_t kSpins = 32;           // empty polls in a row before one sleeps
constexpr std::uint64_t kSleepNs = 250'000;    // at most
constexpr std::uint64_t kLookNs = 10'000'000;  // between two looks whether the engine lives
constexpr std::uint64_t kSecond = 1'000'000'000;

// futex_wait wants a plain word.
const std::uint32_t* word_of(const std::atomic<std::uint32_t>& word) {
  return reinterpret_cast<const std::uint32_t*>(&word);
}

// Nothing came since it was marked as watched. Where it is not any more, the engine has woken those
// who slept then, and another thread may have taken what came.
bool is_quiet(const Cq& cq) {
  return cq.ring->watched.load(std::memory_order_seq_cst) != 0 &&
         cq.ring->produced.load(std::memory_order_seq_cst) ==
             cq.ring->consumed.load(std::memory_order_acquire);
}

}  // namespace

void Park::note(Cq& cq) {
  const std::uint32_t streak = streak_.load(std::memory_order_relaxed);
  if (cq.noted_in == streak) return;
  const std::lock_guard lock(mutex_);
  if (noted_ != streak) looked_at_.clear();
  noted_ = streak;
  cq.noted_in = streak;
  if (std::ranges::find(looked_at_, &cq) == looked_at_.end()) looked_at_.push_back(&cq);
}

void Park::found_nothing(Cq& cq, EngineLink& link) {
  note(cq);
  const std::uint32_t empty = empty_.load(std::memory_order_relaxed) + 1;
  empty_.store(empty, std::memory_order_relaxed);
  if (empty < kSpins) return;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::uint64_t ns =
      static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
  if (ns - looked_at_ns_.load(std::memory_order_relaxed) > kLookNs) {
    looked_at_ns_.store(ns, std::memory_order_relaxed);
    link.look();
  }
  if (!link.gone()) sleep(link, now);
}

// What comes to queues that nobody looked at lately wakes nobody: a program that waits for an
// answer does not want to be woken because its question has left.
void Park::sleep(EngineLink& link, const timespec& now) {
  // The lock lets readers pass a writer that waits, and there may always be one more of them.
  if (wanting_.load(std::memory_order_acquire) != 0) return;
  const std::shared_lock asleep(sleeping_);
  std::vector<Cq*> watched;
  {
    const std::lock_guard lock(mutex_);
    watched = looked_at_;
  }
  ProcessPage& page = link.page();
  for (Cq* const cq : watched)
    cq->ring->watched.store(1, std::memory_order_seq_cst);
  page.waiters.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = page.bell.load(std::memory_order_seq_cst);
  if (std::ranges::all_of(watched, [](const Cq* cq) { return is_quiet(*cq); })) {
    timespec until = now;
    until.tv_nsec += static_cast<long>(kSleepNs);
    if (until.tv_nsec >= static_cast<long>(kSecond)) {
      ++until.tv_sec;
      until.tv_nsec -= static_cast<long>(kSecond);
    }
    futex_wait(word_of(page.bell), seen, &until);
  }
  page.waiters.fetch_sub(1, std::memory_order_relaxed);
}

std::unique_lock<std::shared_mutex> Park::without(const Cq& cq, EngineLink& link) {
  wanting_.fetch_add(1, std::memory_order_acq_rel);
  if (!link.gone()) {
    link.page().bell.fetch_add(1, std::memory_order_seq_cst);
    futex_wake(word_of(link.page().bell));
  }
  std::unique_lock alone(sleeping_);
  wanting_.fetch_sub(1, std::memory_order_acq_rel);
  const std::lock_guard lock(mutex_);
  std::erase(looked_at_, &cq);
  return alone;
}

}  // namespace scela::hca::library
