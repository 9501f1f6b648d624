#include "collectives/executors/run/run_plan.h"

#include <catch2/catch.hpp>

namespace scela::collectives::run_plan_test {
namespace {

std::string refusal(const std::string& lines) {
  auto list = parse("blocks in 1 out 2 scratch 0\n" + lines);
  REQUIRE(list);
  const auto plan = Plan::of(*list);
  return plan ? "" : plan.error().where + ": " + plan.error().why;
}

TEST_CASE("plan: waits know their messages, by peer and direction") {
  const auto list = parse(
      "blocks in 1 out 2 scratch 0\nsend 1 <- in[0]\nreceive 1 -> out[0]\nsend 2 <- in[0]\n"
      "send 1 <- in[0]\nwait sent 1 1\nwait received 1 1\nwait sent 1 1\nwait sent 2 1\nsignal\n");
  REQUIRE(list);
  const auto plan = Plan::of(*list);
  REQUIRE(plan);
  CHECK((*plan)->messages() == 4);
  CHECK((*plan)->receives() == 1);
  CHECK((*plan)->ranks() == 3);
  CHECK((*plan)->waited() == std::vector<std::uint32_t>{0, 1, 3, 2});
  CHECK_FALSE((*plan)->reduces());
}

TEST_CASE("plan: held sends stand where they are enabled, in their order") {
  const auto list = parse(
      "blocks in 1 out 2 scratch 0\nsend 1 <- in[0] held\nsend 1 <- out[1] held\nsignal\n"
      "enable 1 1\nsend 1 <- out[0]\nenable 1 1\nwait sent 1 3\nsignal\n");
  REQUIRE(list);
  const auto plan = Plan::of(*list);
  REQUIRE(plan);
  std::vector<std::uint32_t> tasks;
  for (const Plan::Step& step : (*plan)->steps())
    tasks.push_back(step.task);
  CHECK(tasks == std::vector<std::uint32_t>{2, 0, 4, 1, 6, 7});
}

TEST_CASE("plan: a list that a run could not survive is refused, with its task") {
  CHECK(refusal("send 1 <- in[0]\nsignal\n") == "task 0 'send 1 <- in[0]': nothing waits for it");
  CHECK(refusal("send 1 <- in[0] held\nsignal\n") ==
        "task 0 'send 1 <- in[0] held': is held for ever");
  CHECK(refusal("enable 1 1\n") == "task 0 'enable 1 1': only 0 are held");
  CHECK(refusal("receive 1 -> out[0]\nwait received 1 2\n") ==
        "task 1 'wait received 1 2': only 1 have begun");
  CHECK(refusal("wait sent 1 1\n") == "task 0 'wait sent 1 1': only 0 have begun");
  CHECK(refusal("copy in[0] -> out[2]\n") ==
        "task 0 'copy in[0] -> out[2]': the output has 2 blocks");
  CHECK(refusal("copy out[0+0] -> out[7+0]\nsignal\n").empty());
}

}  // namespace
}  // namespace scela::collectives::run_plan_test
