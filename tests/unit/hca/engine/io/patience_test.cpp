#include "hca/engine/io/patience.h"

#include <catch2/catch.hpp>

namespace patience_test {

using namespace scela::hca;

TEST_CASE("the engine spins only after short sleeps, and no longer than it pays") {
  Patience patience(4);
  CHECK_FALSE(patience.spins(1));
  patience.slept(1'000'000);
  CHECK_FALSE(patience.spins(1));
  patience.slept(3'000);
  CHECK(patience.spins(1));
  patience.spun(true);
  patience.spun(false);
  CHECK(patience.spins(1));
  patience.spun(false);
  CHECK_FALSE(patience.spins(1));
}

TEST_CASE("the engine does not spin on a processor that a process could use") {
  Patience patience(2);
  patience.slept(0);
  CHECK(patience.spins(1));
  CHECK_FALSE(patience.spins(2));
  CHECK_FALSE(patience.spins(64));
}

TEST_CASE("an engine where no process may run spins for longer, whatever number there is") {
  Patience patience(1);
  patience.slept(Patience::kSpinNs);
  CHECK_FALSE(patience.spins(4));
  patience.be_alone(true, 7);
  CHECK(patience.spin_ns() == Patience::kSpinAloneNs);
  CHECK_FALSE(patience.spins(4));
  patience.slept(Patience::kSpinNs);
  CHECK(patience.spins(4));
  // If other processes use the processors too, it does not spin.
  patience.switched(7 + Patience::kMaxSwitches);
  CHECK(patience.spins(4));
  patience.switched(8 + Patience::kMaxSwitches);
  CHECK_FALSE(patience.spins(4));
  patience.be_alone(true, 8 + Patience::kMaxSwitches);
  CHECK(patience.spins(4));
  patience.be_alone(false, 0);
  CHECK(patience.spin_ns() == Patience::kSpinNs);
  CHECK_FALSE(patience.spins(4));
}

TEST_CASE("however long spinning has paid, it ends soon after it does not any more") {
  Patience patience(2);
  for (int i = 0; i < 1'000'000; ++i)
    patience.spun(true);
  int wasted = 0;
  for (; patience.spins(1); ++wasted)
    patience.spun(false);
  CHECK(wasted <= 16);
}

}  // namespace patience_test
