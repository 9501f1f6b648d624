#include "common/core/random.h"

#include <catch2/catch.hpp>
#include <set>
#include <vector>

namespace random_test {

using namespace scela;

TEST_CASE("a seed gives the published sequence of xoshiro256** on every machine") {
  Random zero(0);
  CHECK(zero.next() == 0x99ec5f36cb75f2b4u);
  CHECK(zero.next() == 0xbf6e1f784956452au);
  CHECK(zero.next() == 0x1a5f849d4933e6e0u);
  Random other(42);
  CHECK(other.next() == 0x15780b2e0c2ec716u);
}

TEST_CASE("equal seeds give equal runs and other seeds others") {
  Random a(5);
  Random b(5);
  Random c(6);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = a.next();
    CHECK(value == b.next());
    differs |= value != c.next();
  }
  CHECK(differs);
}

TEST_CASE("distributions reach every value of their range and none outside") {
  Random random(1);
  std::set<std::uint64_t> below;
  std::set<std::uint64_t> between;
  int heads = 0;
  for (int i = 0; i < 3000; ++i) {
    below.insert(random.below(7));
    between.insert(random.between(10, 13));
    heads += random.chance(1, 4) ? 1 : 0;
  }
  CHECK(below == std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK(between == std::set<std::uint64_t>{10, 11, 12, 13});
  CHECK(heads > 600);
  CHECK(heads < 900);
}

TEST_CASE("ranges of no width are answered without a draw from nothing") {
  Random random(1);
  CHECK(random.below(0) == 0);
  CHECK(random.below(1) == 0);
  CHECK(random.between(9, 9) == 9);
  CHECK_FALSE(random.chance(0, 5));
  CHECK(random.chance(5, 5));
}

}  // namespace random_test
