// Judges how completions are counted: from a base, which the last of several waits moves on.
#include "tests/verbs/tasks/tasks_world.h"

namespace semantics {
namespace {

// Sends messages when the case says so, to a completion queue for which tasks wait.
struct Arrivals {
  explicit Arrivals(uint64_t receives = 32) {
    arrivals = world.cq();
    sent = world.cq();
    done = world.cq();
    from = world.rc(sent, sent);
    to = world.rc(sent, arrivals);
    world.connect(from, to);
    for (uint64_t i = 0; i < receives; ++i)
      post_receive(to, i);
  }
  void arrive(int count = 1) {
    for (int i = 0; i < count; ++i) {
      post_send(from, 1, {}, IBV_SEND_SIGNALED);
      expect_next("a message's send", sent, 1);
      waiting_for("an arrival");
    }
  }
  World world;
  ibv_cq *arrivals = nullptr, *sent = nullptr, *done = nullptr;
  ibv_qp *from = nullptr, *to = nullptr;
};

void one_after_the_other() {
  Arrivals a;
  ibv_qp* const first = a.world.mq(a.done);
  ibv_qp* const second = a.world.mq(a.done);
  // The message comes before the wait, and is not lost.
  a.arrive();
  post(first, wait(a.arrivals, 1, false, 1, IBV_SEND_SIGNALED));
  expect_task("a wait for what has come", a.done, 1, SCELA_TASK_WAIT);
  // Another queue waits for the same completion, and moves the base.
  post(second, wait(a.arrivals, 1, true, 2, IBV_SEND_SIGNALED));
  expect_task("another for the same", a.done, 2, SCELA_TASK_WAIT);
  // From here on the first completion does not count any more.
  post(first, wait(a.arrivals, 2, true, 3, IBV_SEND_SIGNALED));
  post(second, wait(a.arrivals, 1, true, 4, IBV_SEND_SIGNALED));
  a.arrive();
  expect_empty("one of two has come", a.done);
  a.arrive();
  expect_task("the second of two", a.done, 3, SCELA_TASK_WAIT);
  a.arrive();
  expect_task("the third", a.done, 4, SCELA_TASK_WAIT);
}

// The count does not depend on what the program polls, and when.
void polled_or_not() {
  Arrivals a;
  ibv_qp* const manager = a.world.mq(a.done);
  a.arrive(2);
  expect_next("polled before anybody waits", a.arrivals, 0);
  post(manager, wait(a.arrivals, 2, true, 1, IBV_SEND_SIGNALED));
  expect_task("a wait for both", a.done, 1, SCELA_TASK_WAIT);
  expect_next("still there for the program", a.arrivals, 1);
  post(manager, wait(a.arrivals, 1, true, 2, IBV_SEND_SIGNALED));
  a.arrive();
  expect_task("a third", a.done, 2, SCELA_TASK_WAIT);
  expect_next("still there for the program", a.arrivals, 2);
  expect_empty("nothing twice", a.arrivals);
}

void largest_moves_the_base() {
  Arrivals a;
  ibv_qp* const manager = a.world.mq(a.done);
  ibv_qp* const other = a.world.mq(a.done);
  // The waits are for 3, 1 and 2. The last one has the mark, and then the base moves by 3.
  post(manager, wait(a.arrivals, 3, false));
  post(other, wait(a.arrivals, 1, false));
  post(other, wait(a.arrivals, 2, true));
  post(manager, wait(a.arrivals, 1, true, 9, IBV_SEND_SIGNALED));
  a.arrive(3);
  expect_empty("the fourth has not come", a.done);
  a.arrive();
  expect_task("the fourth", a.done, 9, SCELA_TASK_WAIT);
}

void nothing_to_wait_for() {
  Arrivals a;
  ibv_qp* const manager = a.world.mq(a.done);
  post(manager, wait(a.arrivals, 0, true, 1, IBV_SEND_SIGNALED));
  expect_task("a wait for none", a.done, 1, SCELA_TASK_WAIT);
}

// Sends count when they complete with a completion that the program sees.
void signalled_sends_count() {
  Arrivals a;
  ibv_qp* const manager = a.world.mq(a.done);
  post(manager, wait(a.sent, 1, true, 1, IBV_SEND_SIGNALED));
  for (int i = 0; i < 5; ++i)
    post_send(a.from, 2);
  for (int i = 0; i < 5; ++i)
    expect_next("messages that nobody hears of leaving", a.arrivals, static_cast<uint64_t>(i));
  expect_empty("unsignalled sends do not count", a.done);
  post_send(a.from, 3, {}, IBV_SEND_SIGNALED);
  expect_task("a signalled send does", a.done, 1, SCELA_TASK_WAIT);
  expect_next("and it is told", a.sent, 3);
  expect_empty("alone", a.sent);
}

// Completions of tasks are completions.
void tasks_count() {
  Arrivals a;
  ibv_cq* const steps = a.world.cq();
  ibv_qp* const first = a.world.mq(steps);
  ibv_qp* const second = a.world.mq(a.done);
  post(second, wait(steps, 2, true, 7, IBV_SEND_SIGNALED));
  post(first, wait(a.arrivals, 1, true, 1, IBV_SEND_SIGNALED));
  post(first, wait(a.arrivals, 1, true, 2));
  post(first, wait(a.arrivals, 1, true, 3, IBV_SEND_SIGNALED));
  a.arrive(2);
  expect_task("the first step", steps, 1, SCELA_TASK_WAIT);
  expect_empty("one of two steps was told", a.done);
  a.arrive();
  expect_task("who waits for two steps", a.done, 7, SCELA_TASK_WAIT);
  expect_task("the last step", steps, 3, SCELA_TASK_WAIT);
}

// The case posts more unsignalled sends than any queue holds at once.
void many_unsignalled() {
  Arrivals a(0);
  constexpr uint64_t kMessages = 2000;
  uint64_t received = 0;
  for (uint64_t i = 0; i < kMessages; ++i) {
    post_receive(a.to, i);
    post_send(a.from, i, {}, i % 16 == 15 ? unsigned{IBV_SEND_SIGNALED} : 0U);
    if (i % 16 != 15) continue;
    expect_next("the signalled one of sixteen", a.sent, i);
    for (; received <= i; ++received)
      expect_next("the receives", a.arrivals, received);
  }
  expect_empty("no other send is told", a.sent);
}

constexpr Case kCases[] = {
    {"tasks.waits-claim-in-turn", one_after_the_other},
    {"tasks.polled-or-not", polled_or_not},
    {"tasks.largest-moves-base", largest_moves_the_base},
    {"tasks.wait-for-none", nothing_to_wait_for},
    {"tasks.signalled-sends-count", signalled_sends_count},
    {"tasks.tasks-count", tasks_count},
    {"tasks.many-unsignalled", many_unsignalled},
};

}  // namespace

std::span<const Case> counting_cases() {
  return kCases;
}

}  // namespace semantics
