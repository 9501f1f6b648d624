#include "common/os/affinity.h"

#include <catch2/catch.hpp>

namespace affinity_test {

using namespace scela;
using Cpus = std::vector<int>;

TEST_CASE("a mask of allowed processors is accepted by the system") {
  const Cpus cpus = allowed_cpus();
  REQUIRE_FALSE(cpus.empty());
  const CpuMask mask(cpus);
  CHECK(::sched_setaffinity(0, mask.bytes(), mask.data()) == 0);
  CHECK(allowed_cpus() == cpus);
}

}  // namespace affinity_test
