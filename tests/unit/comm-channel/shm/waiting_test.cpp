#include "comm-channel/shm/waiting.h"

#include <catch2/catch.hpp>

namespace scela::channel::shm::waiting_test {

TEST_CASE("shm patience: a rank alone on a processor polls for a while, then sleeps") {
  Waiting waiting(WaitLimits{false, 1000, 40, 200'000});
  std::uint64_t time = 5000;
  const auto now = [&] { return time; };
  for (int i = 0; i < 200; ++i)
    CHECK(waiting.next(now) == Waiting::Step::look);
  time += 1000;
  int looks = 0;
  while (waiting.next(now) == Waiting::Step::look)
    REQUIRE(++looks < 100);
  // After a wake-up for nothing, it looks a few times and sleeps again. It does not look for the
  // whole while.
  looks = 0;
  while (waiting.next(now) == Waiting::Step::look)
    REQUIRE(++looks < 100);
  waiting.over();
  for (int i = 0; i < 200; ++i)
    CHECK(waiting.next(now) == Waiting::Step::look);
}

TEST_CASE("shm patience: a rank on a shared processor yields, then sleeps") {
  Waiting waiting(WaitLimits{true, 1000, 3, 200'000});
  const auto now = [] { return std::uint64_t{0}; };
  for (int i = 0; i < 3; ++i) {
    CHECK(waiting.next(now) == Waiting::Step::yield);
    waiting.yielded(500);
  }
  CHECK(waiting.next(now) == Waiting::Step::sleep);
  waiting.over();
  CHECK(waiting.next(now) == Waiting::Step::yield);
  // The yield went to a process that computes, so the next wait is a sleep.
  waiting.yielded(200'000);
  CHECK(waiting.next(now) == Waiting::Step::sleep);
}

TEST_CASE("shm patience: no rank falls asleep while a message is copied that takes longer") {
  WaitLimits patience{false, 1000};
  patience.copied_per_ns = 2;
  patience.longest_spin_ns = 50'000;
  Waiting waiting(patience);
  std::uint64_t time = 0;
  const auto spun = [&] {
    waiting.over();
    const std::uint64_t began = time;
    while (waiting.next([&] { return time += 100; }) == Waiting::Step::look) {
    }
    return time - began;
  };
  CHECK(spun() < 1500);
  waiting.expect(40'000);
  CHECK(spun() >= 21'000);
  CHECK(spun() < 21'500);
  // A longer copy is not expected awake to its end: others should have the processor.
  waiting.expect(1'000'000'000);
  CHECK(spun() >= 51'000);
  CHECK(spun() < 51'500);
  waiting.expect(0);
  CHECK(spun() < 1500);
}

}  // namespace scela::channel::shm::waiting_test
