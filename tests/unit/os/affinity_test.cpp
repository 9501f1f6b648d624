#include "common/os/affinity.h"

#include <catch2/catch.hpp>

using namespace scela;
using Cpus = std::vector<int>;

TEST_CASE("processors are shared out without overlap, sizes differing by at most one") {
  const Cpus cpus = {0, 1, 2, 3, 8, 9, 10};
  for (std::uint32_t count = 1; count <= 7; ++count) {
    Cpus all;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Cpus share = share_of(cpus, i, count);
      CHECK(share.size() >= 7 / count);
      CHECK(share.size() <= 7 / count + 1);
      all.insert(all.end(), share.begin(), share.end());
    }
    CHECK(all == cpus);
  }
}

TEST_CASE("more users than processors get one each in turn") {
  const Cpus cpus = {4, 5};
  CHECK(share_of(cpus, 0, 5) == Cpus{4});
  CHECK(share_of(cpus, 3, 5) == Cpus{5});
  CHECK(share_of({}, 3, 5).empty());
}

TEST_CASE("ranks take the processors of their share in turn") {
  const Cpus share = {2, 3, 7};
  CHECK(cpu_for(share, 0) == 2);
  CHECK(cpu_for(share, 2) == 7);
  CHECK(cpu_for(share, 3) == 2);
}

TEST_CASE("a mask of allowed processors is accepted by the system") {
  const Cpus cpus = allowed_cpus();
  REQUIRE_FALSE(cpus.empty());
  const CpuMask mask(cpus);
  CHECK(::sched_setaffinity(0, mask.bytes(), mask.data()) == 0);
  CHECK(allowed_cpus() == cpus);
}
