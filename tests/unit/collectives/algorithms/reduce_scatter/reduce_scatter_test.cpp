#include <algorithm>
#include <catch2/catch.hpp>

#include "collectives/algorithms/groups.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace reduce_scatter_test {

using namespace scela::collectives;

namespace {

void count(const Algorithm& algorithm, const Shape& shape, const Counts& counts) {
  const auto ranks = static_cast<std::uint32_t>(shape.ranks);
  if (algorithm.name == "recursive-halving") {
    const Groups groups(shape.ranks, 2);
    const auto parts = static_cast<std::uint32_t>(groups.count());
    const auto rounds = static_cast<std::uint32_t>(groups.rounds());
    CHECK(counts.messages == parts * rounds + 2 * (ranks - parts));
    CHECK(counts.rounds == rounds + (ranks > parts ? 2 : 0));
  } else if (algorithm.name == "reduce-scatter") {
    CHECK(counts.messages == (ranks - 1) * (shape.segments + 1));
  } else {
    CHECK(counts.messages == ranks * (ranks - 1));
    CHECK(counts.blocks == ranks * (ranks - 1) * shape.segments);
    CHECK(counts.rounds == ranks - 1);
    if (algorithm.name == "ring") CHECK(counts.peers == std::min(ranks - 1, 2u));
  }
}

}  // namespace

TEST_CASE("reduce_scatter: every rank gets the sum of its block, in order where promised") {
  for (const int ranks : up_to_130()) {
    each_shape(Operation::reduce_scatter, ranks, [&](const Algorithm& algorithm, Shape shape) {
      if (ranks > 40 && shape.segments > 1) return;
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

TEST_CASE("reduce_scatter: ranks may get blocks of different sizes") {
  for (int ranks = 1; ranks <= 30; ++ranks) {
    each_shape(
        Operation::reduce_scatter, ranks, [&](const Algorithm& algorithm, const Shape& shape) {
          std::vector<std::uint64_t> sizes;
          for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(ranks) * shape.segments; ++i)
            sizes.push_back(i * i * 31 % 17 % 5 * 100);
          // In place, the result replaces the first block, which must be as large as it.
          prove_sizes(algorithm, shape, sizes);
        });
  }
}

}  // namespace reduce_scatter_test
