#include <bit>
#include <catch2/catch.hpp>

#include "tests/unit/collectives/algorithms/proof.h"

namespace scan_test {

using namespace scela::collectives;

namespace {

void count(const Algorithm& algorithm, const Shape& shape, const Counts& counts) {
  const auto ranks = static_cast<std::uint32_t>(shape.ranks);
  if (algorithm.name == "chain") {
    CHECK(counts.messages == (ranks - 1) * shape.segments);
    CHECK(counts.rounds == (ranks > 1 ? ranks - 1 + (shape.segments - 1) / 2 : 0));
    return;
  }
  std::uint64_t messages = 0;
  for (std::uint32_t distance = 1; distance < ranks; distance *= 2)
    messages += ranks - distance;
  CHECK(counts.messages == messages);
  // The longest path goes from rank 0 over ranks 1, 3, 7 and so on. Other messages of the last
  // round have waited for less.
  CHECK(counts.rounds == static_cast<std::uint32_t>(std::bit_width(ranks) - 1));
}

void prove_scans(Operation operation) {
  for (const int ranks : rank_counts()) {
    each_shape(operation, ranks, [](const Algorithm& algorithm, Shape shape) {
      shape.commutes = false;  // a commuting one gets the same lists
      for (const bool in_place : {false, true}) {
        shape.in_place = in_place;
        INFO(text(algorithm, shape));
        count(algorithm, shape, prove(algorithm, shape));
      }
      std::vector<std::uint64_t> sizes;
      for (std::uint32_t block = 0; block < shape.segments; ++block)
        sizes.push_back(block * 7 % 4);
      prove_sizes(algorithm, shape, sizes);
    });
  }
}

}  // namespace

TEST_CASE("scan: a rank gets the sum up to its own, in order") {
  prove_scans(Operation::scan);
}

TEST_CASE("exscan: a rank gets the sum of all before it, in order") {
  prove_scans(Operation::exscan);
}

TEST_CASE("scans: memory and posted receives stay few") {
  for (const Operation operation : {Operation::scan, Operation::exscan}) {
    each_shape(operation, 130, [](const Algorithm& algorithm, Shape shape) {
      for (const bool in_place : {false, true}) {
        shape.in_place = in_place;
        for (int rank = 0; rank < shape.ranks; ++rank) {
          const TaskList list = algorithm.build(shape, rank);
          INFO(text(algorithm, shape) << ", rank " << rank);
          CHECK(list.blocks[static_cast<std::size_t>(Space::scratch)] <= 4 * shape.segments);
          CHECK(max_posted(list) <= 2);
        }
      }
    });
  }
}

}  // namespace scan_test
