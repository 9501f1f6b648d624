#include "collectives/executors/run/plan_cursor.h"

#include <catch2/catch.hpp>
#include <memory>

namespace scela::collectives::plan_cursor_test {
namespace {

std::shared_ptr<const Plan> exchange() {
  const auto list = parse(
      "blocks in 1 out 2 scratch 0\nsend 1 <- in[0]\nreceive 1 -> out[0]\nreceive 1 -> out[1]\n"
      "wait received 1 2\nwait sent 1 1\nsignal\n");
  REQUIRE(list);
  const auto plan = Plan::of(*list);
  REQUIRE(plan);
  return *plan;
}

TEST_CASE("plan cursor: messages are under way from their step to their wait") {
  const auto plan = exchange();
  PlanCursor cursor;
  cursor.restart(*plan);
  CHECK(cursor.is_at_begin());
  CHECK(cursor.messages_under_way() == std::vector<bool>{false, false, false});
  cursor.pass_step();
  CHECK(cursor.messages_under_way() == std::vector<bool>{true, false, false});
  cursor.pass_step();
  cursor.pass_step();
  CHECK(cursor.messages_under_way() == std::vector<bool>{true, true, true});
  CHECK(cursor.message() == 1);
  cursor.pass_message();
  CHECK(cursor.message() == 2);
  CHECK_FALSE(cursor.is_wait_over());
  CHECK(cursor.messages_under_way() == std::vector<bool>{true, false, true});
  cursor.pass_message();
  CHECK(cursor.is_wait_over());
  cursor.pass_step();
  CHECK(cursor.message() == 0);
  CHECK(cursor.messages_under_way() == std::vector<bool>{true, false, false});
  CHECK(cursor.steps_left().size() == 2);
}

TEST_CASE("plan cursor: at the end of the list there is no task, and no message under way") {
  const auto plan = exchange();
  PlanCursor cursor;
  cursor.restart(*plan);
  while (!cursor.is_at_end()) {
    CHECK(cursor.task() == cursor.step().task);
    cursor.pass_step();
  }
  CHECK(cursor.task() == kNoTask);
  CHECK(cursor.steps_left().empty());
  CHECK(cursor.messages_under_way() == std::vector<bool>{false, false, false});
}

TEST_CASE("plan cursor: it moves to the middle of a wait, and back to the first step") {
  const auto plan = exchange();
  PlanCursor cursor;
  cursor.restart(*plan);
  cursor.move_to(3, 1);
  CHECK(cursor.message() == 2);
  CHECK(cursor.messages_under_way() == std::vector<bool>{true, false, true});
  cursor.restart(*plan);
  CHECK(cursor.is_at_begin());
  CHECK(cursor.task() == 0);
}

}  // namespace
}  // namespace scela::collectives::plan_cursor_test
