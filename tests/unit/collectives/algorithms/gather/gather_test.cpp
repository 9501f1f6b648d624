#include <catch2/catch.hpp>

#include "tests/unit/collectives/algorithms/proof.h"
#include "tests/unit/collectives/algorithms/rooted_proof.h"

namespace gather_test {

using namespace scela::collectives;

TEST_CASE("gather: every block comes to its place, as few messages as the formulas say") {
  prove_rooted(Operation::gather, 2);
}

TEST_CASE("gather: the v form is the same list, with blocks of any sizes") {
  prove_rooted_sizes(Operation::gather);
}

// The root is never flooded (N1).
TEST_CASE("gather: a sequential root hears one rank at a time, each when it was told to send") {
  const Algorithm& each = algorithm(Operation::gather, "sequential");
  const Shape shape{.operation = Operation::gather, .ranks = 9, .root = 4, .segments = 2};
  int told = 0;
  int heard = 0;
  for (const Task& task : each.build(shape, shape.root).tasks) {
    if (task.kind == Kind::send) ++told;
    if (task.kind == Kind::receive) CHECK(told == heard);
    if (task.kind == Kind::wait_received) ++heard;
    CHECK(told - heard <= 1);
  }
  CHECK(heard == 8);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    if (rank == shape.root) continue;
    bool was_told = false;
    for (const Task& task : each.build(shape, rank).tasks) {
      was_told = was_told || task.kind == Kind::wait_received;
      if (task.kind == Kind::send) CHECK(was_told);
    }
  }
}

}  // namespace gather_test
