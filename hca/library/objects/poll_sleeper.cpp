#include "hca/library/objects/poll_sleeper.h"

#include <algorithm>
#include <ctime>

#include "common/os/futex.h"
#include "hca/library/objects/cq.h"

namespace scela::hca::library {

namespace {

constexpr std::uint32_t kSpins = 32;  // vain polls in a row before a sleep
// More vain polls after this process has moved a part: the next part comes soon, and a wake costs
// more.
constexpr std::uint32_t kSpinsMore = 1000;
constexpr std::uint64_t kSleepNs = 250'000;    // at most
constexpr std::uint64_t kLookNs = 10'000'000;  // between two looks at the engine's life
constexpr std::uint64_t kSecond = 1'000'000'000;

}  // namespace

void PollSleeper::note(Cq& cq) {
  const std::uint32_t streak = streak_.load(std::memory_order_relaxed);
  if (cq.noted_in == streak) return;
  const std::lock_guard lock(mutex_);
  if (noted_ != streak) looked_at_.clear();
  noted_ = streak;
  cq.noted_in = streak;
  if (std::ranges::find(looked_at_, &cq) == looked_at_.end()) looked_at_.push_back(&cq);
}

void PollSleeper::found_nothing(Cq& cq, EngineLink& link) {
  note(cq);
  if (cq.helps && link.help()) {
    empty_.store(0, std::memory_order_relaxed);
    more_.store(kSpinsMore, std::memory_order_relaxed);
    return;
  }
  if (const std::uint32_t more = more_.load(std::memory_order_relaxed); more > 0) {
    more_.store(more - 1, std::memory_order_relaxed);
    return;
  }
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
  // A program that has given the queue a channel sleeps there, and waits for other things too.
  if (!link.gone() && cq.channel == nullptr) sleep(link, now);
}

// Only the queues that were polled lately end the sleep. A program that waits for an answer must
// not wake because its question has left.
void PollSleeper::sleep(EngineLink& link, const timespec& now) {
  const auto looked_at = [this] {
    const std::lock_guard lock(mutex_);
    std::vector<CompletionRing*> rings;
    for (const Cq* const cq : looked_at_)
      rings.push_back(cq->ring);
    return rings;
  };
  sleeper_set_.sleep(link.page(), looked_at,
                     [&](const std::atomic<std::uint32_t>& doorbell, std::uint32_t seen) {
                       if (link.help_is_wanted()) return;
                       timespec until = now;
                       until.tv_nsec += static_cast<long>(kSleepNs);
                       if (until.tv_nsec >= static_cast<long>(kSecond)) {
                         ++until.tv_sec;
                         until.tv_nsec -= static_cast<long>(kSecond);
                       }
                       futex_wait(word_of(doorbell), seen, &until);
                     });
}

std::unique_lock<std::shared_mutex> PollSleeper::without(const Cq& cq, EngineLink& link) {
  auto alone = sleeper_set_.without(
      link.gone() ? nullptr : &link.page(),
      [](const std::atomic<std::uint32_t>& doorbell) { futex_wake(word_of(doorbell)); });
  const std::lock_guard lock(mutex_);
  std::erase(looked_at_, &cq);
  return alone;
}

}  // namespace scela::hca::library
