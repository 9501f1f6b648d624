#include <catch2/catch.hpp>

#include "tests/unit/collectives/algorithms/proof.h"
#include "tests/unit/collectives/algorithms/rooted_proof.h"

namespace scatter_test {

using namespace scela::collectives;

TEST_CASE("scatter: every block comes to its rank, as few messages as the formulas say") {
  prove_rooted(Operation::scatter, 1);
}

TEST_CASE("scatter: the v form is the same list, with blocks of any sizes") {
  prove_rooted_sizes(Operation::scatter);
}

TEST_CASE("scatter: a sequential root sends to one rank at a time") {
  const Algorithm& each = algorithm(Operation::scatter, "sequential");
  const Shape shape{.operation = Operation::scatter, .ranks = 9, .root = 4};
  std::uint32_t sending = 0;
  for (const Task& task : each.build(shape, shape.root).tasks) {
    if (task.kind == Kind::send) CHECK(++sending == 1);
    if (task.kind == Kind::wait_sent) sending -= task.count;
  }
  CHECK(sending == 0);
}

}  // namespace scatter_test
