#include "common/core/topology.h"

#include <catch2/catch.hpp>

#include "common/core/text.h"

using namespace scela;

namespace {

// 2 sockets, 2 NUMA domains each, 2 cores each, 2 threads a core numbered as x86 does: 0-7, then
// 8-15.
Topology usual() {
  std::vector<Processor> all;
  for (std::uint32_t cpu = 0; cpu < 16; ++cpu) {
    const std::uint32_t core = cpu % 8;
    all.push_back({cpu, 0, core, core / 2, core / 2, core / 4});
  }
  return Topology::from(std::move(all));
}

}  // namespace

TEST_CASE("objects are numbered in the machine's order, whatever numbers the system gives them") {
  // Sockets 7 and 3, of which 3 has the lowest processor; cores with the same numbers on both.
  std::vector<Processor> all;
  for (const std::uint32_t cpu : {5u, 0u, 2u, 7u, 4u, 1u, 6u, 3u}) {
    const std::uint32_t socket = cpu % 2 == 0 ? 3 : 7;
    const std::uint32_t core = 100 + cpu % 4;
    all.push_back({cpu, 0, core, kNoObject, socket * 10, socket});
  }
  const Topology topology = Topology::from(std::move(all));
  std::string text;
  for (const Processor& one : topology.processors()) {
    text += cat(one.cpu, ":", one.socket, one.numa, one.core, one.thread, " ");
  }
  CHECK(text == "0:0000 4:0001 2:0010 6:0011 1:1120 5:1121 3:1130 7:1131 ");
  CHECK(topology.count(Level::socket) == 2);
  CHECK(topology.count(Level::core) == 4);
  CHECK(topology.count(Level::l3) == 0);
  CHECK_FALSE(topology.has(Level::l3));
  CHECK(topology.has(Level::numa));
}

TEST_CASE("what may not be used goes, the numbers of the rest stay") {
  CpuSet allowed = CpuSet::parse("5,13,6").value();
  const Topology some = usual().restricted(allowed, Restriction::cgroup);
  CHECK(some.cpus() == allowed);
  CHECK(some.online() == 16);
  CHECK(some.count(Level::core) == 2);
  CHECK(some.place_of(allowed) == "socket 1[core 5[hwt 0-1],core 6[hwt 0]]");
  CHECK(
      some.text() ==
      "2 cores (3 processors), cpus 5-6,13 of 16: the control group of the job (cpuset) allows no "
      "more");
  // Nothing was taken away: there is nothing to explain.
  CHECK(usual().restricted(usual().cpus(), Restriction::affinity).text() ==
        "8 cores (16 processors)");
}

TEST_CASE("processors are shared out without overlap, sizes differing by at most one") {
  const Topology whole = usual().restricted(CpuSet::parse("0-6").value(), Restriction::affinity);
  for (std::uint32_t count = 1; count <= 7; ++count) {
    CpuSet all;
    for (std::uint32_t i = 0; i < count; ++i) {
      const CpuSet share = whole.share(i, count).cpus();
      CHECK(share.size() >= 7 / count);
      CHECK(share.size() <= 7 / count + 1);
      CHECK_FALSE(all.intersects(share));
      all.add(share);
    }
    CHECK(all == whole.cpus());
  }
  // The threads of a core stay together, however they are numbered.
  CHECK(usual().share(0, 2).cpus().text() == "0-3,8-11");
}

TEST_CASE("more nodes than processors get one each in turn") {
  const Topology two = usual().restricted(CpuSet::parse("4,5").value(), Restriction::affinity);
  CHECK(two.share(0, 5).cpus().text() == "4");
  CHECK(two.share(3, 5).cpus().text() == "5");
  CHECK(two.share(3, 5).restriction() == Restriction::share);
  CHECK(Topology().share(3, 5).empty());
}

TEST_CASE("a place is told by socket, cores and threads, and as a mask") {
  const Topology topology = usual();
  CHECK(topology.place_of(CpuSet::parse("0-3,8-11").value()) == "socket 0[core 0-3[hwt 0-1]]");
  CHECK(topology.place_of(CpuSet::parse("0,8,9,7").value()) ==
        "socket 0[core 0[hwt 0-1],core 1[hwt 1]] socket 1[core 7[hwt 0]]");
  CHECK(topology.place_of({}).empty());
  CHECK(mask_text({}) == "0x0");
  CHECK(mask_text(CpuSet::parse("0,2").value()) == "0x5");
  CHECK(mask_text(CpuSet::parse("4-7,64").value()) == "0x100000000000000f0");
}
