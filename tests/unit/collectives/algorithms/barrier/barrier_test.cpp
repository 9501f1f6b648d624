#include <bit>
#include <catch2/catch.hpp>
#include <vector>

#include "collectives/core/analysis/schedule.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace barrier_test {

using namespace scela;
using namespace scela::collectives;

namespace {

using Known = std::vector<bool>;  // by rank: true if it has begun

void learn(Known& known, const Known& other) {
  for (std::size_t i = 0; i < known.size(); ++i)
    known[i] = known[i] || other[i];
}

// Returns, for each rank, which ranks it can know to have begun at the end of its list, if it
// learns of them only by messages.
std::vector<Known> known_at_the_end(const std::vector<TaskList>& lists) {
  const auto schedule = Schedule::of(lists);
  REQUIRE(schedule.has_value());
  std::vector<Known> known(lists.size(), Known(lists.size(), false));
  std::vector<Known> told(schedule->messages().size());
  for (std::size_t rank = 0; rank < lists.size(); ++rank)
    known[rank][rank] = true;
  const auto done = schedule->run(
      [&](int rank, const Step& step) {
        Known& own = known[static_cast<std::size_t>(rank)];
        if (step.kind == Kind::send) told[step.message] = own;
        for (std::uint32_t i = 0; step.kind == Kind::wait_received && i < step.count; ++i)
          learn(own, told[step.message + i]);
      },
      [](std::uint32_t) {});
  REQUIRE(done.has_value());
  return known;
}

std::uint64_t messages_of_dissemination(const Shape& shape) {
  std::uint64_t each = 0;
  for (std::int64_t step = 1; step < shape.ranks; step *= shape.radix) {
    for (std::int64_t port = 1; port < shape.radix && port * step < shape.ranks; ++port)
      ++each;
  }
  return each * static_cast<std::uint64_t>(shape.ranks);
}

}  // namespace

// Requirement O17 (docs/coverage.md).
TEST_CASE("barrier: no rank leaves before the last has entered") {
  for (const int ranks : up_to_130()) {
    each_shape(Operation::barrier, ranks, [](const Algorithm& algorithm, const Shape& shape) {
      for (const Known& known : known_at_the_end(lists_of(algorithm, shape))) {
        for (const bool has_begun : known) {
          if (!has_begun) FAIL(text(algorithm, shape) << ": a rank leaves early");
        }
      }
    });
  }
}

TEST_CASE("barrier: lists fit, rounds and messages are as few as the formulas say") {
  for (const int ranks : rank_counts()) {
    each_shape(Operation::barrier, ranks, [](const Algorithm& algorithm, const Shape& shape) {
      INFO(text(algorithm, shape));
      const Counts counts = prove(algorithm, shape);
      CHECK(counts.blocks == 0);
      if (algorithm.name == "dissemination") {
        CHECK(counts.rounds == static_cast<std::uint32_t>(ceil_log(shape.ranks, shape.radix)));
        CHECK(counts.messages == messages_of_dissemination(shape));
      } else {
        const auto all = static_cast<std::uint32_t>(shape.ranks);
        const std::uint32_t pairs = std::bit_floor(all);
        const auto rounds = static_cast<std::uint32_t>(std::bit_width(pairs) - 1);
        // A rank beyond the power of two reports to its partner first and is told last. Both ends
        // are in one chain if two such ranks have partners that are as far apart as possible.
        const std::uint32_t others = all - pairs;
        CHECK(counts.rounds == rounds + (others > 0 ? 1 : 0) + (2 * others > pairs ? 1 : 0));
        CHECK(counts.messages == pairs * rounds + 2 * others);
      }
    });
  }
}

}  // namespace barrier_test
