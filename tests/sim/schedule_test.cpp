#include <catch2/catch.hpp>

#include "tests/sim/generator/generate.h"
#include "tests/sim/generator/shrink.h"
#include "tests/sim/sim_schedule.h"

namespace scela::sim::schedule_test {
namespace {

TEST_CASE("A schedule is the same after it was printed and read back") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Schedule schedule = make_schedule(seed, Limits{});
    const auto read = parse_schedule(to_text(schedule));
    REQUIRE(read);
    INFO("seed " << seed << "\n" << to_text(schedule));
    REQUIRE(*read == schedule);
  }
}

TEST_CASE("A seed always gives the same schedule, and another seed another one") {
  REQUIRE(make_schedule(7, Limits{}) == make_schedule(7, Limits{}));
  REQUIRE_FALSE(make_schedule(7, Limits{}) == make_schedule(8, Limits{}));
}

TEST_CASE("A schedule's text is refused with the line and the reason") {
  const auto refused = [](std::string_view text) {
    const auto result = parse_schedule(text);
    REQUIRE_FALSE(result);
    return result.error().text();
  };
  CHECK(refused("# fine\nnonsense a=1\n").find("line 2") != std::string::npos);
  CHECK(refused("job hosts=many\n").find("'many'") != std::string::npos);
  CHECK(refused("job color=red\n").find("'color'") != std::string::npos);
  CHECK(refused("op kind=dance\n").find("'dance'") != std::string::npos);
  CHECK(refused("op loose\n").find("'loose'") != std::string::npos);
  CHECK(refused("op set=9-1\n").find("9-1") != std::string::npos);
}

TEST_CASE("Seeds draw every kind of step, fault and stimulus") {
  std::vector<int> ops(kOpKinds), faults(6), starts(7), leftovers(3);
  int peaceful = 0;
  int stops = 0;
  int large = 0;
  int resized = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const Schedule s = make_schedule(seed, Limits{});
    for (const Op& op : s.ops)
      ++ops[static_cast<std::size_t>(op.kind)];
    for (const Fault& fault : s.faults)
      ++faults[static_cast<std::size_t>(fault.kind)];
    for (const HostStart& start : s.starts)
      ++starts[static_cast<std::size_t>(start.how)];
    for (const Leftover& leftover : s.leftovers)
      ++leftovers[static_cast<std::size_t>(leftover.kind)];
    for (const Stimulus& stimulus : s.stimuli)
      stops += stimulus.stop ? 1 : 0;
    peaceful += s.peaceful() ? 1 : 0;
    large += s.hosts > 100 ? 1 : 0;
    resized += s.windows.size() > 1 ? 1 : 0;
    REQUIRE(s.hosts <= 200);
    REQUIRE(s.map().size() > 0);
  }
  for (const auto& counts : {ops, faults, starts, leftovers}) {
    for (const int count : counts)
      CHECK(count > 20);
  }
  CHECK(peaceful > 400);
  CHECK(stops > 100);
  CHECK(large > 50);
  CHECK(resized > 300);
}

TEST_CASE("Shrinking keeps what makes a schedule fail and drops the rest") {
  std::uint64_t seed = 1;
  Schedule schedule;
  const auto fails = [](const Schedule& s) {
    bool crash = false;
    bool put = false;
    for (const Fault& fault : s.faults)
      crash = crash || fault.kind == FaultKind::crash;
    for (const Op& op : s.ops)
      put = put || op.kind == OpKind::put;
    return crash && put;
  };
  do {
    schedule = make_schedule(seed++, Limits{});
  } while (!fails(schedule) || schedule.hosts < 10);

  const Schedule small = shrink(schedule, fails);
  CHECK(fails(small));
  CHECK(small.faults.size() == 1);
  CHECK(small.ops.size() == 1);
  CHECK(small.place.size() == 1);
  CHECK(small.hosts <= 3);
  CHECK(small.map().size() <= 2);
  CHECK(small.starts.empty());
  CHECK(small.stimuli.empty());
}

}  // namespace
}  // namespace scela::sim::schedule_test
