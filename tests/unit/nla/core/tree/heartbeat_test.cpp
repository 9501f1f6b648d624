#include "nla/core/tree/heartbeat.h"

#include <catch2/catch.hpp>

namespace heartbeat_test {

using scela::nla::Heartbeat;
using Verdict = Heartbeat::Verdict;

namespace {

constexpr std::uint32_t kPeriod = Heartbeat::kTicksPerPeriod;

}  // namespace

TEST_CASE("an agent that sends nothing else sends a beat before a period has passed") {
  Heartbeat heart;
  std::uint64_t sent = 1, heard = 0;
  std::uint32_t since = 0;
  for (int tick = 0; tick < 100; ++tick) {
    ++since;
    const Verdict verdict = heart.tick({++heard, sent, false});
    REQUIRE(verdict != Verdict::lost);
    if (verdict == Verdict::beat) {
      ++sent;
      since = 0;
    }
    CHECK(since < kPeriod);
  }
}

TEST_CASE("an agent that sends all the time sends no beat") {
  Heartbeat heart;
  for (std::uint64_t bytes = 1; bytes < 100; ++bytes)
    CHECK(heart.tick({bytes, bytes, false}) == Verdict::nothing);
}

TEST_CASE("a peer is lost when nothing was heard for three periods, and not long before") {
  Heartbeat heart;
  for (std::uint64_t bytes = 1; bytes < 50; ++bytes)
    heart.tick({bytes, bytes, false});
  // The last byte was heard at some time in the tick before the first of these.
  std::uint32_t ticks = 0;
  for (std::uint64_t sent = 100; heart.tick({49, sent, false}) != Verdict::lost; ++sent) {
    ++ticks;
    CHECK(heart.overdue() == (ticks > kPeriod));
    REQUIRE(ticks < 100);
  }
  ++ticks;
  CHECK(ticks + 1 <= 3 * kPeriod);
  CHECK(ticks >= 2 * kPeriod + 2);
}

TEST_CASE("a peer that beats survives, whatever both wait for") {
  Heartbeat a, b;
  std::uint64_t from_a = 0, from_b = 0;
  for (int tick = 0; tick < 1000; ++tick) {
    const Verdict of_a = a.tick({from_b, from_a, false});
    const Verdict of_b = b.tick({from_a, from_b, false});
    REQUIRE(of_a != Verdict::lost);
    REQUIRE(of_b != Verdict::lost);
    if (of_a == Verdict::beat) ++from_a;
    if (of_b == Verdict::beat) ++from_b;
    CHECK_FALSE(a.overdue());
    CHECK_FALSE(b.overdue());
  }
}

TEST_CASE("however late one's own timer comes, it counts as one tick") {
  // A process that was stopped for an hour finds one tick due, and after it the timer starts anew.
  Heartbeat heart;
  heart.tick({1, 1, false});
  for (std::uint32_t late = 0; late + 1 < Heartbeat::kLostTicks; ++late)
    CHECK(heart.tick({1, late + 2, false}) != Verdict::lost);
  // The peer's beats have waited in the stream meanwhile.
  CHECK(heart.tick({2, 100, false}) != Verdict::lost);
  for (std::uint32_t tick = 0; tick + 1 < Heartbeat::kLostTicks; ++tick)
    CHECK(heart.tick({2, tick + 101, false}) != Verdict::lost);
  CHECK(heart.tick({2, 0, false}) == Verdict::lost);
}

TEST_CASE("time in which the agent did not read does not count") {
  Heartbeat heart;
  heart.tick({1, 1, false});
  for (int tick = 0; tick < 1000; ++tick)
    REQUIRE(heart.tick({1, 1, true}) != Verdict::lost);
  CHECK_FALSE(heart.overdue());
  std::uint32_t ticks = 0;
  while (heart.tick({1, 1, false}) != Verdict::lost)
    ++ticks;
  CHECK(ticks + 1 == Heartbeat::kLostTicks);
}

TEST_CASE("a slow peer that takes no byte is alive as long as it sends") {
  Heartbeat heart;
  for (std::uint64_t tick = 0; tick < 1000; ++tick)
    REQUIRE(heart.tick({tick / kPeriod, 1, false}) != Verdict::lost);
}

TEST_CASE("a sign of life that comes another way counts") {
  Heartbeat heart;
  heart.tick({1, 1, false});
  for (int tick = 0; tick < 1000; ++tick) {
    REQUIRE(heart.tick({1, 1, false}) != Verdict::lost);
    if (heart.overdue()) heart.alive();
  }
}

TEST_CASE("a peer that takes nothing of what waits for it is told apart from a slow one") {
  scela::nla::Stall stall;
  // No byte waits for the peer.
  for (int i = 0; i < 100; ++i)
    CHECK_FALSE(stall.tick(false, 0, 3));
  // The peer is slow: it takes a byte a tick.
  std::uint64_t taken = 0;
  for (int i = 0; i < 100; ++i)
    CHECK_FALSE(stall.tick(true, ++taken, 3));
  // The peer stands still, moves once, and then stands still for good.
  for (int i = 0; i < 3; ++i)
    CHECK_FALSE(stall.tick(true, taken, 3));
  CHECK_FALSE(stall.tick(true, ++taken, 3));
  for (int i = 0; i < 3; ++i)
    CHECK_FALSE(stall.tick(true, taken, 3));
  CHECK(stall.tick(true, taken, 3));
}

}  // namespace heartbeat_test
