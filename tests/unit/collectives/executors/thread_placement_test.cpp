#include "collectives/executors/thread_placement.h"

#include <catch2/catch.hpp>

namespace scela::collectives::thread_placement_test {
namespace {

// Returns a machine with two sockets. A socket has two L3 caches of two cores each, and a core has
// `threads` processors.
Topology machine(std::uint32_t threads) {
  std::vector<Processor> processors;
  for (std::uint32_t core = 0; core < 8; ++core)
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      Processor one;
      one.cpu = core + 8 * thread;
      one.core = core;
      one.l3 = core / 2;
      one.numa = core / 4;
      one.socket = core / 4;
      processors.push_back(one);
    }
  return Topology::from(processors);
}

std::vector<std::string> cpus_of(const std::vector<ThreadPlace>& places) {
  std::vector<std::string> out;
  for (const ThreadPlace& place : places)
    out.push_back(place.cpus.text() + (place.idle ? "" : " own"));
  return out;
}

using Texts = std::vector<std::string>;

TEST_CASE("placement: a thread runs on the idle core that shares most with its rank's") {
  const auto places =
      places_of_threads(machine(1), {CpuSet::single(0), CpuSet::single(2), CpuSet::single(6)});
  CHECK(cpus_of(places) == Texts{"1", "3", "7"});
  CHECK(places[0].why.find("the nearest idle core to processors 0") != std::string::npos);
}

TEST_CASE("placement: a nearer cache comes before a nearer socket, and that before the other") {
  CHECK(cpus_of(places_of_threads(machine(1), {CpuSet::run(0, 2)})) == Texts{"2"});
  CHECK(cpus_of(places_of_threads(machine(1), {CpuSet::run(0, 4)})) == Texts{"4"});
}

TEST_CASE("placement: threads of several ranks are not put on one core while others are idle") {
  const auto places =
      places_of_threads(machine(1), {CpuSet::single(0), CpuSet::single(1), CpuSet::single(2),
                                     CpuSet::single(3), CpuSet::single(4), CpuSet::single(5)});
  CHECK(cpus_of(places) == Texts{"6", "7", "6", "7", "6", "7"});
  CHECK(places[5].why.find("other ranks' threads") != std::string::npos);
}

TEST_CASE("placement: all threads of a core are idle, or it is not") {
  CHECK(cpus_of(places_of_threads(machine(2), {CpuSet::single(0)})) == Texts{"1,9"});
  std::vector<CpuSet> every;
  for (std::uint32_t core = 0; core < 8; ++core)
    every.push_back(CpuSet::single(core));
  CHECK(cpus_of(places_of_threads(machine(2), every)) ==
        Texts{"8", "9", "10", "11", "12", "13", "14", "15"});
}

TEST_CASE("placement: where no core is idle a thread stays where its rank is") {
  CHECK(cpus_of(places_of_threads(machine(1), {CpuSet::run(0, 8), CpuSet::run(0, 8)})) ==
        Texts{"0-7 own", "0-7 own"});
}

TEST_CASE("placement: a rank of processors that the machine has not gets no place") {
  const auto places = places_of_threads(machine(1), {CpuSet::single(77)});
  CHECK(places[0].cpus.empty());
}

}  // namespace
}  // namespace scela::collectives::thread_placement_test
