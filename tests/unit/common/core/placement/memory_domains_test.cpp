#include "common/core/placement/memory_domains.h"

#include <catch2/catch.hpp>

namespace memory_domains_test {

using namespace scela;

namespace {

// Two sockets with two domains each, as AMD's NPS2.
const std::vector<MemoryDomain> kFour = {
    {0, CpuSet::run(0, 4), true, {10, 12, 32, 32}},
    {1, CpuSet::run(4, 4), true, {12, 10, 32, 32}},
    {2, CpuSet::run(8, 4), true, {32, 32, 10, 12}},
    {3, CpuSet::run(12, 4), true, {32, 32, 12, 10}},
};

std::string domains(const std::vector<MemoryDomain>& machine, const CpuSet& cpus) {
  const auto found = nearest_domains(machine, cpus);
  return found ? found->text() : found.error().why;
}

}  // namespace

TEST_CASE("memory comes from the domains of a rank's processors") {
  CHECK(domains(kFour, CpuSet::single(5)) == "1");
  CHECK(domains(kFour, CpuSet::run(2, 4)) == "0-1");
  CHECK(domains(kFour, CpuSet::run(0, 16)) == "0-3");
}

TEST_CASE("numbers of domains may have gaps") {
  const std::vector<MemoryDomain> machine = {{0, CpuSet::run(0, 8), true, {10, 40}},
                                             {8, CpuSet::run(8, 8), true, {40, 10}}};
  CHECK(domains(machine, CpuSet::single(9)) == "8");
}

TEST_CASE("a domain without memory is replaced by the nearest ones that have some") {
  auto machine = kFour;
  machine[1].has_memory = false;
  CHECK(domains(machine, CpuSet::single(5)) == "0");
  machine[0].has_memory = false;
  CHECK(domains(machine, CpuSet::single(5)) == "2-3");
  CHECK(domains(machine, CpuSet::run(5, 5)) == "2-3");
  machine[1].distances = {};
  machine[0].has_memory = true;
  CHECK(domains(machine, CpuSet::single(5)) == "0,2-3");
}

TEST_CASE("a domain with memory only is taken if it is the nearest") {
  const std::vector<MemoryDomain> machine = {{0, CpuSet::run(0, 8), false, {10, 20, 14}},
                                             {1, CpuSet::run(8, 8), true, {20, 10, 28}},
                                             {2, {}, true, {14, 28, 10}}};
  CHECK(domains(machine, CpuSet::single(0)) == "2");
  CHECK(domains(machine, CpuSet::single(8)) == "1");
}

TEST_CASE("a machine that tells of no domain or no memory is refused with the reason") {
  CHECK(domains({}, CpuSet::single(0)) == "the node tells of no NUMA domains");
  CHECK(domains({{0, CpuSet::run(0, 2), false, {10}}}, CpuSet::single(0)) ==
        "the node tells of no memory that this job may use");
  CHECK(domains(kFour, CpuSet::single(99)) == "the node tells of no NUMA domain of the cpus 99");
  CHECK(nearest_domains({}, CpuSet()).error().hint == "give --mem-bind none");
}

}  // namespace memory_domains_test
