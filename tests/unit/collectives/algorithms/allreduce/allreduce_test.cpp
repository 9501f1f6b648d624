#include <algorithm>
#include <catch2/catch.hpp>

#include "collectives/algorithms/groups.h"
#include "collectives/algorithms/registry/registry.h"
#include "collectives/algorithms/tree.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace allreduce_test {

using namespace scela::collectives;

namespace {

// The other rank of a group of two sends a message to the first rank, and gets one back.
void count_groups(const Algorithm& algorithm, const Shape& shape, const Counts& counts) {
  const Groups groups(shape.ranks, 2);
  const auto rounds = static_cast<std::uint32_t>(groups.rounds());
  const auto parts = static_cast<std::uint32_t>(groups.count());
  const auto wards = static_cast<std::uint32_t>(shape.ranks) - parts;
  const std::uint32_t around = wards > 0 ? 2 : 0;
  if (algorithm.name == "recursive-doubling") {
    CHECK(counts.messages == parts * rounds + 2 * wards);
    CHECK(counts.blocks == counts.messages * shape.segments);
    CHECK(counts.rounds == rounds + around);
    return;
  }
  REQUIRE(algorithm.name == "rabenseifner");
  CHECK(counts.messages == 2 * parts * rounds + 2 * wards);
  CHECK(counts.blocks == (2 * parts * (parts - 1) + 2 * wards * parts) * shape.segments);
  CHECK(counts.rounds == 2 * rounds + around);
}

void count(const Algorithm& algorithm, const Shape& shape, const Counts& counts) {
  const auto others = static_cast<std::uint32_t>(shape.ranks - 1);
  if (algorithm.name == "reduce-bcast") {
    CHECK(counts.messages == 2 * others * shape.segments);
    CHECK(counts.blocks == counts.messages);
    if (shape.segments > 1) return;
    CHECK(counts.rounds >=
          2 * static_cast<std::uint32_t>(depth({Tree::Form::nomial, shape.ranks})));
  } else if (algorithm.name == "ring") {
    const std::uint32_t items = others * shape.segments;
    const std::uint32_t width = std::min(shape.segments, 2u);
    CHECK(counts.messages == 2 * items * (others + 1));
    CHECK(counts.blocks == counts.messages);
    CHECK(counts.rounds == 2 * ((items + width - 1) / width));
    CHECK(counts.peers == std::min(others, 2u));
  } else {
    count_groups(algorithm, shape, counts);
  }
}

}  // namespace

TEST_CASE("allreduce: every rank gets the sum of all, in order where that is promised") {
  for (const int ranks : rank_counts()) {
    each_shape(Operation::allreduce, ranks, [&](const Algorithm& algorithm, Shape shape) {
      for (const int variant : {0, 1, 2, 3}) {
        shape.in_place = variant % 2 == 1;
        shape.commutes = variant < 2;
        if (!shape.commutes && !algorithm.any_order) continue;
        INFO(text(algorithm, shape));
        count(algorithm, shape, prove(algorithm, shape));
      }
    });
  }
}

TEST_CASE("allreduce: blocks may be of any sizes") {
  for (int ranks = 1; ranks <= 20; ++ranks) {
    each_shape(Operation::allreduce, ranks, [&](const Algorithm& algorithm, Shape shape) {
      const std::uint32_t parts = algorithm.parts == nullptr ? 1 : algorithm.parts(shape);
      std::vector<std::uint64_t> sizes;
      for (std::uint32_t block = 0; block < shape.segments * parts; ++block)
        sizes.push_back(block * 7 % 4);
      for (const bool in_place : {false, true}) {
        shape.in_place = in_place;
        prove_sizes(algorithm, shape, sizes);
      }
    });
  }
}

// A ring begins each part at another rank: with 3 ranks, part 0 is x1 op x2 op x0.
TEST_CASE("allreduce: a ring is not for reductions that do not commute") {
  CHECK_FALSE(algorithm(Operation::allreduce, "ring").any_order);
  CHECK(algorithm(Operation::allreduce, "rabenseifner").any_order);
}

TEST_CASE("allreduce: two ranks exchange what they were given, and copy nothing") {
  Shape shape;
  shape.operation = Operation::allreduce;
  shape.ranks = 2;
  for (const int rank : {0, 1}) {
    const TaskList list = find(Operation::allreduce, "recursive-doubling")->build(shape, rank);
    const auto of_kind = [&](Kind kind) {
      return std::ranges::count_if(list.tasks, [&](const Task& task) { return task.kind == kind; });
    };
    CHECK(of_kind(Kind::copy) == 0);
    CHECK(of_kind(Kind::reduce) == 1);
    CHECK(of_kind(Kind::send) == 1);
  }
}

}  // namespace allreduce_test
