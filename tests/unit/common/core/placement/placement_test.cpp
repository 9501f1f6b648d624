#include "common/core/placement/placement.h"

#include <catch2/catch.hpp>
#include <set>

#include "common/core/random.h"
#include "common/core/text.h"
#include "tests/support/hwloc_topology.h"

namespace placement_test {

using namespace scela;

namespace {

// The large machine has 2 sockets with 64 cores each in 4 NUMA domains. A domain has 2 L3 caches,
// and a core has 2 threads: cpu = 2 core + thread.
constexpr char kLarge[] = "pack:2 numa:4 l3:2 core:8 pu:2";
constexpr char kSmall[] = "pack:2 numa:2 core:2 pu:2";

Topology topology_of(const std::string& synthetic) {
  Topology out = HwlocTopology::synthetic(synthetic);
  REQUIRE_FALSE(out.empty());
  return out;
}

Topology only(const Topology& topology, const char* cpus) {
  return topology.restricted(CpuSet::parse(cpus).value(), Restriction::affinity);
}

PlacementPolicy policy(MapBy map_by, BindTo bind_to, std::uint32_t cpus = 1) {
  PlacementPolicy out;
  out.map_by = map_by;
  out.bind_to = bind_to;
  out.cpus_per_rank = cpus;
  return out;
}

// Returns the processors of each rank, for example "0-1 2-3", or the error.
std::string places(const Topology& topology, const PlacementPolicy& placement,
                   std::uint64_t ranks) {
  auto placer = Placer::create(topology, placement);
  if (!placer) return placer.error().text();
  auto made = placer->next(ranks);
  if (!made) return made.error().text();
  std::string text;
  for (const CpuSet& cpus : *made)
    text += cat(text.empty() ? "" : " ", cpus.text());
  return text;
}

}  // namespace

TEST_CASE("ranks bound to cores take them in order, with all of their threads") {
  const Topology small = topology_of(kSmall);
  CHECK(places(small, policy(MapBy::slot, BindTo::core), 3) == "0-1 2-3 4-5");
  CHECK(places(small, policy(MapBy::core, BindTo::core), 3) == "0-1 2-3 4-5");
  CHECK(places(small, policy(MapBy::slot, BindTo::hwthread), 3) == "0 1 2");
  // If ranks are mapped by core, each has a core before the second threads are used.
  CHECK(places(small, policy(MapBy::core, BindTo::hwthread), 9) == "0 2 4 6 8 10 12 14 1");
}

TEST_CASE("objects are taken in turn, and within each the first cores that are free") {
  const Topology large = topology_of(kLarge);
  CHECK(places(large, policy(MapBy::numa, BindTo::core), 9) ==
        "0-1 32-33 64-65 96-97 128-129 160-161 192-193 224-225 2-3");
  CHECK(places(large, policy(MapBy::socket, BindTo::core), 3) == "0-1 128-129 2-3");
  CHECK(places(large, policy(MapBy::l3, BindTo::core), 3) == "0-1 16-17 32-33");
  CHECK(ranks_that_fit(large, policy(MapBy::numa, BindTo::numa)).value() == 128);
}

TEST_CASE("a rank is bound to the whole object that its cores lie in") {
  const Topology large = topology_of(kLarge);
  CHECK(places(large, policy(MapBy::numa, BindTo::numa), 3) == "0-31 32-63 64-95");
  CHECK(places(large, policy(MapBy::slot, BindTo::l3), 9) ==
        "0-15 0-15 0-15 0-15 0-15 0-15 0-15 0-15 16-31");
  CHECK(places(large, policy(MapBy::core, BindTo::socket), 1) == "0-127");
  // The cores of a rank may lie in two L3 caches.
  CHECK(places(large, policy(MapBy::slot, BindTo::l3, 12), 2) == "0-31 16-47");
}

TEST_CASE(
    "ranks that need several cores have them for themselves, within the object they are mapped "
    "by") {
  const Topology large = topology_of(kLarge);
  CHECK(places(large, policy(MapBy::slot, BindTo::core, 3), 2) == "0-5 6-11");
  CHECK(places(large, policy(MapBy::numa, BindTo::core, 12), 3) == "0-23 32-55 64-87");
  CHECK(ranks_that_fit(large, policy(MapBy::numa, BindTo::core, 12)).value() == 8);
  CHECK(ranks_that_fit(large, policy(MapBy::slot, BindTo::core, 12)).value() == 10);
  CHECK(places(topology_of(kSmall), policy(MapBy::slot, BindTo::hwthread, 3), 2) == "0-2 3-5");
}

TEST_CASE("an odd machine is filled to its last core") {
  // The NUMA domains are unequal, threads are missing, and the processors have arbitrary numbers.
  const Topology odd = only(topology_of(kSmall), "0,3,5-7,12");
  CHECK(places(odd, policy(MapBy::slot, BindTo::core), 5) == "0 3 5 6-7 12");
  CHECK(places(odd, policy(MapBy::numa, BindTo::core), 5) == "0 5 12 3 6-7");
  CHECK(places(odd, policy(MapBy::numa, BindTo::numa), 5) == "0,3 5-7 12 0,3 5-7");
  const Topology crossed = topology_of("pack:2 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)");
  CHECK(places(crossed, policy(MapBy::slot, BindTo::core), 4) == "0,4 2,6 1,5 3,7");
  CHECK(places(topology_of("pu:3"), policy(MapBy::socket, BindTo::core), 3) == "0 1 2");
}

TEST_CASE("the numbers of a node's ranks go over its places as asked") {
  const Topology small = topology_of(kSmall);
  PlacementPolicy by_numa = policy(MapBy::numa, BindTo::core);
  CHECK(places(small, by_numa, 8) == "0-1 4-5 8-9 12-13 2-3 6-7 10-11 14-15");
  by_numa.order = PlaceOrder::fill;
  CHECK(places(small, by_numa, 6) == "0-1 2-3 4-5 6-7 8-9 12-13");
  by_numa.order = PlaceOrder::socket;
  CHECK(places(small, by_numa, 6) == "0-1 8-9 2-3 12-13 4-5 6-7");
  PlacementPolicy by_slot = policy(MapBy::slot, BindTo::core);
  by_slot.order = PlaceOrder::numa;
  CHECK(places(small, by_slot, 4) == "0-1 4-5 2-3 6-7");
}

TEST_CASE("more ranks than cores are refused, or start again from the beginning") {
  const Topology two = only(topology_of(kSmall), "2,8-9");
  PlacementPolicy by_core = policy(MapBy::slot, BindTo::core);
  CHECK(
      places(two, by_core, 3) ==
      "bind 3 ranks to cores of their own: the node has room for 2: it has 2 cores (3 processors), "
      "cpus 2,8-9 of 16: the affinity that scela-run or its agent was started with allows no more "
      "(let them share with --oversubscribe, start fewer here, or give --bind-to none)");
  by_core.overload = true;
  CHECK(places(two, by_core, 5) == "2 8-9 2 8-9 2");
  CHECK(places(two, policy(MapBy::slot, BindTo::hwthread), 3) == "2 8 9");
}

TEST_CASE("objects that a node does not have are named") {
  const Topology small = topology_of(kSmall);
  CHECK(places(small, policy(MapBy::slot, BindTo::l3), 1) ==
        "place ranks by their L3 cache (--bind-to): the node tells of no L3 caches (name numa, "
        "socket or core instead)");
  CHECK(places(small, policy(MapBy::l3, BindTo::core), 1).find("(--map-by)") != std::string::npos);
  CHECK(places(Topology(), policy(MapBy::slot, BindTo::core), 1).find("does not tell which") !=
        std::string::npos);
  PlacementPolicy large = policy(MapBy::numa, BindTo::core, 3);
  large.overload = true;  // domains stay as small
  CHECK(
      places(small, large, 1) ==
      "bind ranks to 3 cores each: the largest NUMA domain of the node has 2, the node 8 cores (16 "
      "processors) (give less with --cpus-per-rank, or --bind-to none)");
  CHECK(largest_object_units(small, large).value() == 2);
  CHECK(places(small, policy(MapBy::slot, BindTo::core, 9), 1) ==
        "bind ranks to 9 cores each: the node has 8 cores (16 processors) (give less with "
        "--cpus-per-rank, or --bind-to none)");
  CHECK(ranks_that_fit(small, large).value() == 0);
  CHECK_FALSE(ranks_that_fit(small, policy(MapBy::l3, BindTo::core)));
}

TEST_CASE("ranks that come later take what is left, and then share") {
  auto placer = Placer::create(topology_of(kSmall), policy(MapBy::slot, BindTo::core)).value();
  REQUIRE(placer.next(7));
  CHECK(placer.next(1).value() == std::vector<CpuSet>{CpuSet::parse("14-15").value()});
  CHECK_FALSE(placer.next(1));
  CHECK(placer.next(1, true).value() == std::vector<CpuSet>{CpuSet::parse("0-1").value()});
}

TEST_CASE(
    "on any machine, by any policy: own cores, of what is allowed, as many ranks as there is room "
    "for") {
  const char* machines[] = {kSmall,
                            kLarge,
                            "pack:1 core:2 pu:1",
                            "pu:7",
                            "numa:3 l3:2 core:5 pu:4",
                            "pack:4 l3:1 core:3 pu:1",
                            "pack:2 numa:4 core:64 pu:1"};
  Random random(0x9e3);
  for (int round = 0; round < 300; ++round) {
    const Topology whole = topology_of(machines[random.below(std::size(machines))]);
    CpuSet allowed;
    for (const Processor& one : whole.processors()) {
      if (random.below(4) > 0) allowed.add(one.cpu);
    }
    const Topology topology = whole.restricted(allowed, Restriction::cgroup);
    PlacementPolicy placement =
        policy(static_cast<MapBy>(random.below(6)), static_cast<BindTo>(1 + random.below(5)),
               static_cast<std::uint32_t>(1 + random.below(5)));
    placement.order = static_cast<PlaceOrder>(random.below(6));
    auto placer = Placer::create(topology, placement);
    const auto room = ranks_that_fit(topology, placement);
    REQUIRE(placer.has_value() == room.has_value());
    if (!placer) continue;
    CAPTURE(round, topology.text(), *room);
    const auto made = placer->next(*room);
    REQUIRE(made);
    CHECK_FALSE(Placer::create(topology, placement)->next(*room + 1));
    CpuSet taken;
    for (const CpuSet& cpus : *made) {
      CHECK(allowed.contains_all(cpus));
      const Topology own = whole.restricted(cpus, Restriction::none);
      const bool by_thread = placement.bind_to == BindTo::hwthread;
      CHECK((by_thread ? cpus.size() : own.count(Level::core)) >= placement.cpus_per_rank);
      if (placement.bind_to > BindTo::core) continue;
      CHECK((by_thread ? cpus.size() : own.count(Level::core)) == placement.cpus_per_rank);
      CHECK_FALSE(taken.intersects(cpus));
      taken.add(cpus);
    }
    // The order of numbers changes which rank has a place, but not the places.
    placement.order = PlaceOrder::made;
    auto plain = Placer::create(topology, placement)->next(*room).value();
    CHECK(std::multiset<CpuSet>(made->begin(), made->end()) ==
          std::multiset<CpuSet>(plain.begin(), plain.end()));
  }
}

TEST_CASE("cores of a rank are given to no other, unless ranks may share") {
  PlacementPolicy placement;
  placement.bind_to = BindTo::core;
  auto placer = Placer::create(topology_of(kSmall), placement);
  REQUIRE(placer);
  placer->reserve(CpuSet::parse("0,3,8-13").value());
  const auto made = placer->next(3);
  REQUIRE(made);
  CHECK((*made)[0].text() == "4-5");
  CHECK((*made)[1].text() == "6-7");
  CHECK((*made)[2].text() == "14-15");
  CHECK_FALSE(placer->next(1));
  CHECK((*placer->next(1, true))[0].text() == "0-1");
}

TEST_CASE("a refusal counts the cores that are left beside those that the rankfile names") {
  const auto refusal = [](const char* named, PlacementPolicy placement, std::uint64_t ranks) {
    auto placer = Placer::create(topology_of(kSmall), placement);
    placer->reserve(CpuSet::parse(named).value());
    auto made = placer->next(ranks);
    REQUIRE_FALSE(made);
    return made.error().text();
  };
  CHECK(refusal("0,3,8-13", policy(MapBy::slot, BindTo::core), 4) ==
        "bind 4 ranks to cores of their own: the node has room for 3 beside the 5 cores that the "
        "rankfile names: it has 8 cores (16 processors) (let them share with --oversubscribe, "
        "start fewer here, or give --bind-to none)");
  CHECK(refusal("0,4,8,12", policy(MapBy::numa, BindTo::core, 2), 1)
            .find("the node has room for none of them beside the 4 cores that the rankfile") !=
        std::string::npos);
}

TEST_CASE("the place of a rank is one line") {
  const Topology small = topology_of(kSmall);
  CHECK(binding_text(3, small, CpuSet::parse("2-3").value()) ==
        "rank 3 is bound to socket 0[core 1[hwt 0-1]], cpus 2-3, mask 0xc");
  CHECK(unbound_text(3, small) == "rank 3 is not bound: it may use cpus 0-15");
}

TEST_CASE("chosen cores are those of the node or of a socket, as far as they may be used") {
  const Topology small = topology_of(kSmall);
  const auto chosen = [](const Topology& topology, std::uint32_t socket, const char* cores) {
    const auto cpus = cpus_of(topology, {socket, RankSet::parse(cores).value()});
    return cpus ? cpus->text() : cpus.error().text();
  };
  CHECK(chosen(small, kNoObject, "0,5") == "0-1,10-11");
  CHECK(chosen(small, 1, "0-1") == "8-11");
  CHECK(chosen(small, 1, "") == "8-15");
  CHECK(chosen(only(small, "1,9-10"), 1, "0") == "9");
  CHECK(chosen(only(small, "1,9-10"), 1, "1-2") ==
        "bind to core 1-2 of socket 1: the node has core 0-1 of socket 1; in all 3 cores, cpus "
        "1,9-10 "
        "of 16: the affinity that scela-run or its agent was started with allows no more (name "
        "others in the rankfile)");
  CHECK(chosen(small, 2, "").find("none that may be used of socket 2") != std::string::npos);
  CHECK(chosen(small, kNoObject, "8").find("the node has core 0-7; in all") != std::string::npos);
}

}  // namespace placement_test
