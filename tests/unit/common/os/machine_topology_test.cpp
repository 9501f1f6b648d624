// Checks the reader of /sys against hwloc, on this machine and on files of invented machines.
#include "common/os/machine_topology.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "common/core/text.h"
#include "common/os/affinity.h"
#include "tests/support/hwloc_topology.h"
#include "tests/support/temporary_home.h"

namespace machine_topology_test {

using namespace scela;

namespace {

CpuSet with(const std::vector<Processor>& all, const Processor& like, Level level) {
  CpuSet out;
  for (const Processor& one : all) {
    if (one.at(level) == like.at(level)) out.add(one.cpu);
  }
  return out;
}

std::vector<int> cpus_of(const std::vector<Processor>& all) {
  std::vector<int> out;
  for (const Processor& one : all)
    out.push_back(static_cast<int>(one.cpu));
  return out;
}

struct Written {
  bool old_names = false;  // the names of kernels before 5.3
  bool caches = true;
};

// Writes the files that Linux shows of such a machine.
void write_machine(const test::TemporaryHome& root, const std::vector<Processor>& all,
                   Written how = {}) {
  CpuSet online;
  CpuSet nodes;
  const std::string system = "sys/devices/system/";
  for (const Processor& one : all) {
    online.add(one.cpu);
    nodes.add(one.numa);
    const std::string cpu = cat(system, "cpu/cpu", one.cpu, "/");
    const auto list = [&](Level level) { return with(all, one, level).text() + "\n"; };
    root.write(cpu + "topology/core_id", cat(one.core, "\n"));
    root.write(cpu + "topology/physical_package_id", cat(one.socket, "\n"));
    root.write(cpu + (how.old_names ? "topology/thread_siblings_list" : "topology/core_cpus_list"),
               list(Level::core));
    root.write(cpu + (how.old_names ? "topology/core_siblings_list" : "topology/package_cpus_list"),
               list(Level::socket));
    // hwloc reads masks, not lists.
    const auto mask = [&](Level level) {
      return mask_text(with(all, one, level)).substr(2) + "\n";
    };
    root.write(cpu + (how.old_names ? "topology/thread_siblings" : "topology/core_cpus"),
               mask(Level::core));
    root.write(cpu + (how.old_names ? "topology/core_siblings" : "topology/package_cpus"),
               mask(Level::socket));
    if (how.caches && one.l3 != kNoObject) {
      root.write(cpu + "cache/index0/level", "1\n");
      root.write(cpu + "cache/index0/type", "Data\n");
      root.write(cpu + "cache/index1/level", "3\n");
      root.write(cpu + "cache/index1/type", "Unified\n");
      root.write(cpu + "cache/index1/size", "1024K\n");
      root.write(cpu + "cache/index1/shared_cpu_list", list(Level::l3));
      root.write(cpu + "cache/index1/shared_cpu_map", mask(Level::l3));
    }
    root.write(cat(system, "node/node", one.numa, "/cpulist"), list(Level::numa));
    root.write(cat(system, "node/node", one.numa, "/cpumap"), mask(Level::numa));
  }
  root.write(system + "cpu/online", online.text() + "\n");
  root.write(system + "cpu/possible", online.text() + "\n");
  root.write(system + "cpu/present", online.text() + "\n");
  root.write(system + "node/online", nodes.text() + "\n");
}

// The threads are numbered as on x86: the second threads of all cores come after the first ones.
std::vector<Processor> x86() {
  std::vector<Processor> all;
  for (std::uint32_t cpu = 0; cpu < 24; ++cpu) {
    const std::uint32_t core = cpu % 12;
    all.push_back({cpu, 0, core, core / 3, core / 6, core / 6});
  }
  return all;
}

}  // namespace

TEST_CASE("this machine is read as hwloc reads it") {
  HwlocTopology judge;
  REQUIRE(judge.load());
  const Topology here = read_topology();
  const Topology whole = Topology::from(judge.processors());
  CHECK(here.online() == whole.online());
  CHECK(here.cpus() == whole.restricted(here.cpus(), Restriction::none).cpus());
  const CpuSet cpus = here.cpus();
  CHECK(here == whole.restricted(cpus, here.restriction()));
}

TEST_CASE(
    "NUMA domains are read with their processors, distances and the memory that may be used") {
  const test::TemporaryHome root;
  write_machine(root, x86());
  root.write("sys/devices/system/node/node0/distance", "10 21\n");
  root.write("sys/devices/system/node/node1/distance", "21 10\n");
  root.write("sys/devices/system/node/has_memory", "0-1\n");
  root.write("proc/self/status", "Name:\tx\nMems_allowed:\t2\nMems_allowed_list:\t1\nx:\t0\n");
  const auto domains = read_memory_domains(root.path());
  REQUIRE(domains.size() == 2);
  CHECK(domains[0].number == 0);
  CHECK_FALSE(domains[0].has_memory);
  CHECK(domains[0].cpus.text() == "0-5,12-17");
  CHECK(domains[1].number == 1);
  CHECK(domains[1].has_memory);
  CHECK(domains[1].distances == std::vector<std::uint32_t>{21, 10});
  CHECK(nearest_domains(domains, CpuSet::single(0)).value().text() == "1");
  CHECK(read_memory_domains(root.path() + "/nothing").empty());
}

TEST_CASE("machines are read from their files as hwloc reads them, by old and new names") {
  for (const bool old_names : {false, true}) {
    const test::TemporaryHome root;
    write_machine(root, x86(), {old_names, true});
    const Topology read = read_topology(cpus_of(x86()), root.path());
    CHECK(read == Topology::from(x86()));
    CHECK(read.restriction() == Restriction::none);
    CHECK(read.place_of(CpuSet::parse("0,12,6").value()) ==
          "socket 0[core 0[hwt 0-1]] socket 1[core 6[hwt 0]]");

    ::setenv("HWLOC_FSROOT", root.path().c_str(), 1);
    ::setenv("HWLOC_COMPONENTS", "linux,stop", 1);
    HwlocTopology judge;
    REQUIRE(judge.load());
    // The numbers are compared directly, because ours are meant to be the same.
    std::vector<Processor> theirs = judge.processors();
    std::ranges::sort(theirs, {}, &Processor::cpu);
    std::vector<Processor> ours = read.processors();
    std::ranges::sort(ours, {}, &Processor::cpu);
    CHECK(ours == theirs);
  }
}

TEST_CASE("a machine that tells little is one socket of cores") {
  const test::TemporaryHome root;
  const Topology blind = read_topology({0, 3}, root.path());
  CHECK(blind.cpus().text() == "0,3");
  CHECK(blind.count(Level::core) == 2);
  CHECK(blind.count(Level::socket) == 1);
  CHECK(blind.count(Level::numa) == 1);
  CHECK_FALSE(blind.has(Level::l3));
  CHECK(read_topology({}, root.path()).empty());
  write_machine(root, x86(), {false, false});
  CHECK_FALSE(read_topology({0, 3}, root.path()).has(Level::l3));
}

TEST_CASE("files with nonsense in them are as good as none") {
  const test::TemporaryHome root;
  for (const char* nonsense : {"x", "1-", "5-2", "4294967295", "0-99999999", ""}) {
    root.write("sys/devices/system/cpu/online", nonsense);
    root.write("sys/devices/system/cpu/cpu0/topology/core_cpus_list", nonsense);
    root.write("sys/devices/system/cpu/cpu0/cache/index0/level", "3");
    root.write("sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list", nonsense);
    root.write("sys/devices/system/node/online", nonsense);
    CAPTURE(nonsense);
    CHECK(read_topology({0, 1}, root.path()).cpus().text() == "0-1");
  }
}

TEST_CASE("the reasons why a process may not use all processors are told apart") {
  const test::TemporaryHome root;
  write_machine(root, x86());
  CHECK(read_topology({0, 1}, root.path()).restriction() == Restriction::affinity);
  root.write("proc/self/cgroup", "1:cpu:/\n0::/user/job\n");
  root.write("sys/fs/cgroup/user/job/cpuset.cpus.effective", "0-1\n");
  CHECK(read_topology({0, 1}, root.path()).restriction() == Restriction::cgroup);
  // The group allows more than the process may use.
  CHECK(read_topology({1}, root.path()).restriction() == Restriction::affinity);
  // A group above decides if the controller is not enabled in this one.
  root.write("proc/self/cgroup", "0::/user/job/step/task\n");
  CHECK(read_topology({0, 1}, root.path()).restriction() == Restriction::cgroup);
  root.write("proc/self/cgroup", "0::no/path\n");  // no kernel writes this
  CHECK(read_topology({0, 1}, root.path()).restriction() == Restriction::affinity);
  root.write("proc/self/cgroup", "9:cpuset:/jobs\n");
  CHECK(read_topology({2, 5}, root.path()).restriction() == Restriction::affinity);
  root.write("sys/fs/cgroup/cpuset/jobs/cpuset.effective_cpus", "2,5\n");
  CHECK(read_topology({2, 5}, root.path()).restriction() == Restriction::cgroup);
}

}  // namespace machine_topology_test
