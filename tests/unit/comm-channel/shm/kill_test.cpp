// A rank, as a process, is killed at any step of sending. The other rank's messages go on.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <vector>

#include "comm-channel/shm/factory.h"
#include "common/os/futex.h"
#include "tests/unit/comm-channel/shm/shm_ranks.h"

namespace scela::channel::shm::test::kill_test {
namespace {

struct KillSystem {
  Processes& processes;
  // The number of steps that this process still takes. A negative number means any number of steps.
  static inline int steps_left = -1;

  bool gone(std::uint32_t rank, std::uint32_t) { return processes.has_ended(rank); }
  void everybody_sees() { barrier.everybody_sees(); }
  static void wake(std::uint32_t, SharedAtomic<std::uint32_t>& word) {
    futex_wake(reinterpret_cast<const std::uint32_t*>(&word));
  }
  static bool make_box(std::uint32_t) { return true; }
  static void point() {
    if (steps_left >= 0 && steps_left-- == 0) ::raise(SIGKILL);
  }
  Barrier barrier = Barrier::make();
};

constexpr std::uint32_t kSurvivor = 1, kVictim = 2;
// Each step needs two processes, and a process takes long to start under a sanitizer.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kMessages = 12;
#else
constexpr std::uint64_t kMessages = 24;
#endif
// There is one box, which changes hands. A few messages fill the cells and the box.
constexpr Shape kShape{3, 4, 128, 1, 4, 512};
constexpr FastBoxPolicy kHabits{2, 6};

struct Steps {
  std::atomic<std::uint32_t> joined;
  std::atomic<std::uint32_t> go_on;
};

struct End {
  End(const SharedSegment& segment, std::uint32_t rank)
      : link(std::move(*join_node(segment, rank))),
        processes(segment, rank),
        system{processes},
        exchange(kShape, rank, segment->areas(), system, kHabits) {}

  // The rank has joined by this link. Its messages are not used.
  std::unique_ptr<NodeLink> link;
  Processes processes;
  KillSystem system;
  Exchange<SharedAtomic, KillSystem> exchange;
};

int send_all(const SharedSegment& segment, std::uint32_t rank, Steps& steps) {
  End end(segment, rank);
  steps.joined.fetch_add(1);
  await(steps.joined, 3);
  std::array<std::byte, 100> bytes{};
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    if (rank == kSurvivor && i == kMessages / 2) await(steps.go_on, 1);
    std::memcpy(bytes.data(), &i, sizeof i);
    const auto payload = std::span(bytes).first(i % 3 == 0 ? 100 : 8);
    while (!end.exchange.send(0, Header{{i, rank, 0}}, payload))
      ::sched_yield();
  }
  return 0;
}

// Returns true if the victim was killed before it had sent everything.
bool survive(int step) {
  auto segment = make_segment(kShape);
  REQUIRE(segment);
  Shared<Steps> steps;
  Child survivor([&] { return send_all(*segment, kSurvivor, *steps); });
  Child victim([&] {
    KillSystem::steps_left = step;
    return send_all(*segment, kVictim, *steps);
  });
  End end(*segment, 0);
  steps->joined.fetch_add(1);
  await(steps->joined, 3);
  std::array<std::uint64_t, 3> got{};
  bool right = true;
  const auto handle = [&](std::uint32_t rank, const Header& header,
                          std::span<const std::byte> payload) {
    std::uint64_t said = 0;
    std::memcpy(&said, payload.data(), sizeof said);
    right = right && header.words[0] == got[rank] && header.words[1] == rank && said == got[rank] &&
            payload.size() == (said % 3 == 0 ? 100u : 8u);
    ++got[rank];
  };
  const auto poll = [&] {
    if (end.exchange.poll(handle) == 0) ::sched_yield();
  };
  while (got[kVictim] < kMessages && !end.processes.has_ended(kVictim))
    poll();
  steps->go_on = 1;
  // The reader passes what the victim has left unfinished, and gives its box to the survivor if
  // need be.
  while (got[kSurvivor] < kMessages)
    poll();
  CHECK(right);
  CHECK(survivor.wait() == 0);
  const int status = victim.wait();
  CHECK((status == 0 || status == 128 + SIGKILL));
  return status != 0;
}

}  // namespace

TEST_CASE("shm deaths: a rank that is killed at any step of a send keeps no other waiting") {
  int step = 0;
  while (survive(step)) {
    INFO("killed at step " << step);
    REQUIRE(++step < 1000);
  }
  // Each message takes three steps at least.
  CHECK(step >= 3 * static_cast<int>(kMessages));
}

}  // namespace scela::channel::shm::test::kill_test
