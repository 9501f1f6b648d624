#include <catch2/catch.hpp>

#include "collectives/core/analysis/checker.h"
#include "collectives/core/block_layout.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace alltoall_test {

using namespace scela::collectives;

namespace {

// A block for the rank i ranks ahead is sent once for each digit of i that is not 0.
std::uint64_t bruck_blocks(const Shape& shape) {
  std::uint64_t blocks = 0;
  for (std::uint32_t i = 1; i < static_cast<std::uint32_t>(shape.ranks); ++i) {
    for (std::uint32_t rest = i; rest > 0; rest /= shape.radix)
      blocks += rest % shape.radix != 0 ? 1 : 0;
  }
  return blocks;
}

std::uint64_t bruck_messages(const Shape& shape) {
  std::uint64_t count = 0;
  for (std::int64_t distance = 1; distance < shape.ranks; distance *= shape.radix) {
    for (std::uint32_t i = 1; i < shape.radix; ++i)
      count += i * distance < shape.ranks ? 1 : 0;
  }
  return count;
}

void count(const Algorithm& algorithm, const Shape& shape, const Counts& counts) {
  const auto ranks = static_cast<std::uint64_t>(shape.ranks);
  if (algorithm.name == "bruck") {
    CHECK(counts.rounds == static_cast<std::uint32_t>(ceil_log(shape.ranks, shape.radix)));
    CHECK(counts.messages == ranks * bruck_messages(shape));
    CHECK(counts.blocks == ranks * bruck_blocks(shape) * shape.segments);
    return;
  }
  CHECK(counts.messages == ranks * (ranks - 1));
  CHECK(counts.blocks == ranks * (ranks - 1) * shape.segments);
  if (algorithm.name == "flat") {
    CHECK(counts.rounds == (ranks > 1 ? 1 : 0));
  } else if (algorithm.name == "ring") {
    CHECK(counts.rounds == ranks - 1);
  } else {
    REQUIRE(algorithm.name == "pairwise");
    CHECK(counts.rounds >= ranks - 1);
    CHECK(counts.rounds <= ranks - (ranks % 2 == 0 ? 1 : 0));
  }
}

// In place, a rank has as many bytes for another as that rank has for it.
std::uint64_t size(const Shape& shape, int from, int to) {
  const int sum = from + to;
  const int product = from * to;
  return static_cast<std::uint64_t>((shape.in_place ? sum + product : sum + 5 * from) * 31 % 17 %
                                    5);
}

Layout unequal(const Shape& shape, int rank) {
  std::vector<std::uint64_t> given;
  std::vector<std::uint64_t> got;
  std::vector<std::uint64_t> turned;
  for (int other = 0; other < shape.ranks; ++other) {
    given.push_back(size(shape, rank, other));
    got.push_back(size(shape, other, rank));
    turned.push_back(size(shape, rank, (rank + other) % shape.ranks));
  }
  Layout layout;
  layout.spaces[static_cast<std::size_t>(Space::input)] = BlockSizes::packed(given);
  layout.spaces[static_cast<std::size_t>(Space::output)] = BlockSizes::packed(got);
  layout.spaces[static_cast<std::size_t>(Space::scratch)] = BlockSizes::packed(turned);
  return layout;
}

}  // namespace

// Requirement N2 (docs/coverage.md).
TEST_CASE("alltoall: every block comes to its rank, in the steps of the formulas") {
  for (const int ranks : up_to_130()) {
    each_shape(Operation::alltoall, ranks, [&](const Algorithm& algorithm, Shape shape) {
      if (ranks > 20 && shape.segments > 1) return;
      for (const bool in_place : {false, true}) {
        shape.in_place = in_place;
        INFO(text(algorithm, shape));
        count(algorithm, shape, prove(algorithm, shape));
      }
    });
  }
}

TEST_CASE("alltoall: pairs of ranks exchange with each other") {
  const Shape shape{.operation = Operation::alltoall, .ranks = 12};
  const Algorithm& pairwise = algorithm(Operation::alltoall, "pairwise");
  for (int rank = 0; rank < shape.ranks; ++rank) {
    int sends_to = -1;
    for (const Task& task : pairwise.build(shape, rank).tasks) {
      if (task.kind == Kind::send) sends_to = task.peer;
      if (task.kind == Kind::wait_received) CHECK(task.peer == sends_to);
    }
  }
}

TEST_CASE("alltoall: the v form is the same list, with blocks of any sizes, but for Bruck's") {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    each_shape(Operation::alltoall, ranks, [&](const Algorithm& algorithm, Shape shape) {
      if (algorithm.name == "bruck" || shape.segments > 1) return;
      for (const bool in_place : {false, true}) {
        shape.in_place = in_place;
        const std::vector<TaskList> lists = lists_of(algorithm, shape);
        std::vector<Layout> layouts;
        for (int rank = 0; rank < ranks; ++rank)
          layouts.push_back(unequal(shape, rank));
        const auto good = check(shape, lists, 1, layouts);
        if (!good) FAIL(text(algorithm, shape) << ": " << good.error().text());
        SUCCEED();
      }
    });
  }
}

}  // namespace alltoall_test
