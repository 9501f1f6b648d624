#include <catch2/catch.hpp>

#include "tests/sim/world/fault_counts.h"

namespace scela::sim::fault_counts_test {
namespace {

Schedule read(std::string_view text) {
  auto schedule = parse_schedule(text);
  REQUIRE(schedule);
  return *schedule;
}

TEST_CASE("Faults are counted by kind, and by the schedules that have them") {
  FaultCounts counts;
  counts.add(read("job hosts=2\n"));
  Schedule schedule = read("job hosts=2\n");
  schedule.faults = {{FaultKind::cut, 0, 1, false},
                     {FaultKind::cut, 1, 1, false},
                     {FaultKind::crash, kRootHost, 1, false}};
  schedule.starts = {{0, StartFault::stillborn, 0}};
  Op death;
  death.kind = OpKind::die;
  schedule.ops = {death};
  schedule.stubborn.add(1);
  schedule.leftovers = {{0, LeftoverKind::outside}};
  counts.add(schedule);
  schedule.starts.clear();
  counts.add(schedule);
  CHECK(counts.text() ==
        "2 of 3 schedules had a fault\n"
        "| launcher: crash | 2 | 2 |\n"
        "| node: cut | 2 | 4 |\n"
        "| process left by a rank: outside | 2 | 2 |\n"
        "| rank: die | 2 | 2 |\n"
        "| rank: ignores SIGTERM | 2 | 2 |\n"
        "| start of an agent: stillborn | 1 | 1 |\n");
}

TEST_CASE("Steps without a fault do not count a schedule as faulty") {
  FaultCounts counts;
  Schedule schedule = read("job hosts=2\n");
  schedule.starts = {{0, StartFault::waits, 5}};
  counts.add(schedule);
  CHECK(counts.faulty() == 0);
}

}  // namespace
}  // namespace scela::sim::fault_counts_test
