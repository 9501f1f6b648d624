#include <algorithm>
#include <catch2/catch.hpp>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/algorithms/scratch.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace registry_test {

using namespace scela::collectives;

TEST_CASE("algorithms are found by operation and name, in the order of the table") {
  const auto before = [](const Algorithm& a, const Algorithm& b) {
    return a.operation != b.operation ? a.operation < b.operation : a.name < b.name;
  };
  CHECK(std::ranges::is_sorted(algorithms(), before));
  for (const Algorithm& each : algorithms()) {
    CHECK(find(each.operation, each.name) == &each);
    CHECK(each.build != nullptr);
  }
  CHECK(find(Operation::bcast, "dissemination") == nullptr);
  CHECK(find(Operation::bcast, "") == nullptr);
  CHECK(find(Operation::barrier, "dissemination") != find(Operation::bcast, "chain"));
}

TEST_CASE("an operation is known by its name") {
  for (int i = 0; i <= static_cast<int>(Operation::exscan); ++i) {
    const auto operation = static_cast<Operation>(i);
    CHECK(operation_of(name_of(operation)) == operation);
  }
  CHECK(name_of(Operation::reduce_scatter) == "reduce_scatter");
  CHECK(operation_of("reduce-scatter") == std::nullopt);
  CHECK(operation_of("") == std::nullopt);
}

TEST_CASE("an algorithm that has a radix does not fit one below 2") {
  for (const Algorithm& each : algorithms()) {
    if (!each.has_radix) continue;
    REQUIRE(each.fits != nullptr);
    CHECK_FALSE(each.fits({.operation = each.operation, .ranks = 5, .radix = 1}));
    CHECK(each.fits({.operation = each.operation, .ranks = 5, .radix = 2}));
  }
}

TEST_CASE("algorithms without segments, radix, split or nodes do not depend on them") {
  for (const Algorithm& each : algorithms()) {
    Shape shape{.operation = each.operation, .ranks = 13, .root = 5};
    INFO(text(each, shape));
    {
      const auto lists = lists_of(each, shape);
      Shape other = shape;
      other.split = 2;
      CHECK((lists_of(each, other) == lists) != each.has_split);
      other.split = 0;
      for (const Placed& placed : placements(13, 4)) {
        other.nodes = placed.nodes;
        // If one of two tree levels has no ranks, both together are one tree.
        if (placed.how == "a node each" && each.has_nodes) continue;
        const bool differs = each.has_nodes && placed.how != "one node";
        INFO(placed.how);
        CHECK((lists_of(each, other) == lists) != differs);
      }
    }
    shape.nodes = placements(13, 3)[3].nodes;
    const auto tasks = lists_of(each, shape).front().tasks.size();
    shape.segments = 4;
    CHECK((lists_of(each, shape).front().tasks.size() == tasks || each.has_segments));
    shape.segments = 1;
    const auto lists = lists_of(each, shape);
    shape.radix = 5;
    CHECK((lists_of(each, shape) == lists) != each.has_radix);
  }
}

TEST_CASE("scratch is as large as what stands there") {
  const Shape gather{.operation = Operation::gather, .ranks = 4};
  CHECK(like(gather, 3, 2, 0) == 6);
  CHECK(like(gather, 3, 2, 3) == 1);
  const Shape reduce{.operation = Operation::reduce, .ranks = 4};
  CHECK(like(reduce, 3, 2, 0) == 0);
  CHECK(like(reduce, 3, 2, 3) == 1);
}

}  // namespace registry_test
