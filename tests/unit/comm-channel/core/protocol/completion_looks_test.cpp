#include "comm-channel/core/protocol/completion_looks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

#include "common/core/random.h"

namespace scela::channel::completion_looks_test {
namespace {

constexpr std::size_t kCapacity = 24, kMax = 4;

// A completion queue and its poller.
struct Queue {
  CompletionLooks looks;
  std::deque<int> held;
  Queue() { looks.hold(kCapacity); }
  void add(std::uint64_t count, int value) {
    while (count-- > 0 && held.size() < kCapacity)
      held.push_back(value);
  }
  void look() {
    const std::size_t found = std::min(kMax, held.size());
    held.erase(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(found));
    looks.looked(found, kMax);
  }
};

TEST_CASE("looks: all earlier completions are taken once a look ends, and it ends soon") {
  Random random(11);
  for (int turn = 0; turn < 2000; ++turn) {
    Queue queue;
    const std::uint64_t busy = random.below(2 * kMax);
    for (std::uint64_t before = random.below(8); before > 0; --before) {
      queue.add(random.below(busy + 1), 0);
      queue.look();
    }
    queue.add(random.below(kCapacity + 1), 1);
    const CompletionLooks::Mark mark = queue.looks.mark();
    REQUIRE_FALSE(queue.looks.has_passed(mark));
    for (std::size_t looks = 0; !queue.looks.has_passed(mark); ++looks) {
      REQUIRE(looks <= kCapacity / kMax);
      queue.add(random.below(busy + 1), 2);
      queue.look();
    }
    REQUIRE(std::ranges::none_of(queue.held, [](int value) { return value < 2; }));
  }
}

TEST_CASE("looks: a queue that is never emptied passes too") {
  Queue queue;
  queue.add(kCapacity, 1);
  const CompletionLooks::Mark mark = queue.looks.mark();
  for (std::size_t looks = 1; looks <= kCapacity / kMax; ++looks) {
    queue.look();
    queue.add(kMax, 2);
    CHECK(queue.looks.has_passed(mark) == (looks == kCapacity / kMax));
  }
}

}  // namespace
}  // namespace scela::channel::completion_looks_test
