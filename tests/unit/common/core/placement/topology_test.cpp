#include "common/core/placement/topology.h"

#include <catch2/catch.hpp>

#include "common/core/random.h"
#include "common/core/text.h"
#include "tests/support/hwloc_topology.h"

namespace topology_test {

using namespace scela;

namespace {

// Returns a machine of 2 sockets, with 2 NUMA domains each and 2 cores a domain. A core has 2
// threads, numbered as on x86: 0-7, then 8-15.
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
  // The machine has sockets 7 and 3, and socket 3 has the lowest processor. Both sockets use the
  // same core numbers.
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

TEST_CASE("processors that may not be used are removed, and the others keep their numbers") {
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
  // No processor was taken away, so the text explains nothing.
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
  // The threads of a core stay together, whatever their numbers are.
  CHECK(usual().share(0, 2).cpus().text() == "0-3,8-11");
}

TEST_CASE("more nodes than processors get one each in turn") {
  const Topology two = usual().restricted(CpuSet::parse("4,5").value(), Restriction::affinity);
  CHECK(two.share(0, 5).cpus().text() == "4");
  CHECK(two.share(3, 5).cpus().text() == "5");
  CHECK(two.share(3, 5).restriction() == Restriction::share);
  CHECK(Topology().share(3, 5).empty());
}

TEST_CASE("a place is shown by socket, cores and threads, and as a mask") {
  const Topology topology = usual();
  CHECK(topology.place_of(CpuSet::parse("0-3,8-11").value()) == "socket 0[core 0-3[hwt 0-1]]");
  CHECK(topology.place_of(CpuSet::parse("0,8,9,7").value()) ==
        "socket 0[core 0[hwt 0-1],core 1[hwt 1]] socket 1[core 7[hwt 0]]");
  CHECK(topology.place_of({}).empty());
  CHECK(mask_text({}) == "0x0");
  CHECK(mask_text(CpuSet::parse("0,2").value()) == "0x5");
  CHECK(mask_text(CpuSet::parse("4-7,64").value()) == "0x100000000000000f0");
}

TEST_CASE("a topology travels as a few bytes and arrives as it was") {
  const std::pair<const char*, std::size_t> machines[] = {
      {"pack:2 numa:2 l3:2 core:8 pu:1", 64},  // 64 cores
      {"pack:2 core:32 pu:2", 64},
      {"pack:1 core:2 pu:1", 32},
      {"pack:2 numa:4 l3:2 core:8 pu:2", 208},
      {"numa:3 l3:2 core:5 pu:4", 176},
      {"pu:7", 32}};
  Random random(0x7090);
  for (const auto& [synthetic, most] : machines) {
    const Topology machine = HwlocTopology::synthetic(synthetic);
    CAPTURE(synthetic, machine.bytes().size());
    CHECK(machine.bytes().size() <= most);
    CHECK(Topology::parse(machine.bytes()).value() == machine);
    for (int round = 0; round < 50; ++round) {
      CpuSet allowed;
      for (const Processor& one : machine.processors()) {
        if (random.below(4) > 0) allowed.add(one.cpu);
      }
      const Topology some = machine.restricted(allowed, Restriction::cgroup).share(3, 5);
      CHECK(Topology::parse(some.bytes()).value() == some);
    }
  }
  // The odd machine has interleaved sockets with the same core numbers, and no L3 caches. The last
  // topology is empty.
  std::vector<Processor> odd;
  for (std::uint32_t cpu = 0; cpu < 24; ++cpu)
    odd.push_back({cpu, 0, cpu % 5 * 2 + cpu % 2, kNoObject, cpu % 3, cpu % 2});
  CHECK(Topology::parse(Topology::from(odd).bytes()).value() == Topology::from(odd));
  CHECK(Topology::parse(Topology().bytes()).value() == Topology());
}

TEST_CASE("bytes that are no topology are refused") {
  const std::string good = usual().bytes();
  Random random(0xbad);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes =
        good.substr(0, random.below(4) == 0 ? random.below(good.size()) : good.size());
    for (std::uint64_t i = random.below(4); i > 0 && !bytes.empty(); --i)
      bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
    const auto parsed = Topology::parse(bytes);
    if (!parsed) continue;
    CHECK(parsed->bytes() == bytes);
    CHECK(parsed->online() >= parsed->processors().size());
    for (const Processor& one : parsed->processors())
      CHECK(one.cpu < kMaxCpus);
  }
  CHECK_FALSE(Topology::parse(""));
  CHECK_FALSE(Topology::parse(good + '\0'));
}

}  // namespace topology_test
