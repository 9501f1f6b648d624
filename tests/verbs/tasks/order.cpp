// Judges held requests, and the order of requests and tasks within a queue.
#include <cerrno>
#include <cstring>

#include "tests/verbs/tasks/tasks_world.h"

namespace semantics {
namespace {

// A queue pair that may hold its requests, the other end of it, and a management queue.
struct Held {
  explicit Held(uint32_t flags, uint32_t other_flags = 0) {
    sent = world.cq();
    arrived = world.cq();
    done = world.cq();
    from = world.rc(sent, sent, flags);
    to = world.rc(world.cq(), arrived, other_flags);
    world.connect(from, to);
    manager = world.mq(done);
  }
  World world;
  ibv_cq *sent = nullptr, *arrived = nullptr, *done = nullptr;
  ibv_qp *from = nullptr, *to = nullptr, *manager = nullptr;
};

// When this returns, all messages that were executed before it have arrived.
void settle() {
  Pair pair;
  for (uint64_t i = 0; i < 3; ++i)
    exchange(pair.a, pair.b, i);
}

void held_until_enabled() {
  Held held(SCELA_QP_MANAGED_SEND);
  for (uint64_t i = 0; i < 4; ++i) {
    post_receive(held.to, i, held.world.piece(1024 + 64 * i, 64));
    post_send(held.from, i, held.world.piece(64 * i, 8), IBV_SEND_SIGNALED);
  }
  settle();
  expect_empty("nothing is enabled", held.arrived);
  // The send takes the bytes that stand there when it is released.
  for (size_t i = 0; i < 256; ++i)
    held.world.memory()[i] = static_cast<uint8_t>(i);
  post(held.manager, enable(held.from, 1, 9, IBV_SEND_SIGNALED));
  expect_task("the release", held.done, 9, SCELA_TASK_SEND_ENABLE);
  expect_next("the first of four", held.arrived, 0);
  settle();
  expect_empty("one is enabled", held.arrived);
  post(held.manager, enable(held.from, 3));
  for (uint64_t i = 1; i < 4; ++i)
    expect_next("those after it, in their order", held.arrived, i);
  for (uint64_t i = 0; i < 4; ++i) {
    expect_next("a send", held.sent, i);
    expect(std::memcmp(held.world.memory(64 * i), held.world.memory(1024 + 64 * i), 8) == 0,
           "other bytes came");
  }
}

void enabled_before_it_is_posted() {
  Held held(SCELA_QP_MANAGED_SEND);
  post(held.manager, enable(held.from, 2, 1, IBV_SEND_SIGNALED));
  expect_task("the release", held.done, 1, SCELA_TASK_SEND_ENABLE);
  for (uint64_t i = 0; i < 3; ++i) {
    post_receive(held.to, i);
    post_send(held.from, i);
  }
  expect_next("the first", held.arrived, 0);
  expect_next("the second", held.arrived, 1);
  settle();
  expect_empty("two are enabled", held.arrived);
}

void receives_held() {
  Held held(0, SCELA_QP_MANAGED_RECV);
  post_receive(held.to, 5, held.world.piece(1024, 64));
  post_receive(held.to, 6, held.world.piece(2048, 64));
  held.world.memory()[0] = 77;
  // The sender finds that the receiver is not ready, and tries again.
  post_send(held.from, 1, held.world.piece(0, 8), IBV_SEND_SIGNALED);
  post_send(held.from, 2, held.world.piece(0, 8), IBV_SEND_SIGNALED);
  settle();
  expect_empty("no receive is enabled", held.arrived);
  expect_empty("nothing is received, so nothing is sent", held.sent);
  post(held.manager, enable(held.to, 1, 3, IBV_SEND_SIGNALED, SCELA_TASK_RECV_ENABLE));
  expect_task("the release", held.done, 3, SCELA_TASK_RECV_ENABLE);
  expect_next("the first receive", held.arrived, 5);
  expect_equal("what came", 77, held.world.memory()[1024]);
  expect_next("the first send", held.sent, 1);
  post(held.manager, enable(held.to, 1, 0, 0, SCELA_TASK_RECV_ENABLE));
  expect_next("the second receive", held.arrived, 6);
  expect_next("the second send", held.sent, 2);
}

// Tasks stand among the requests of a queue that holds none back.
void waits_among_sends() {
  Held held(0);
  ibv_cq* const signals = held.world.cq();
  ibv_qp* const in = held.world.rc(held.world.cq(), signals);
  ibv_qp* const out = held.world.rc(held.world.cq(), held.world.cq());
  held.world.connect(in, out);
  for (uint64_t i = 0; i < 3; ++i)
    post_receive(held.to, i);
  post_receive(in, 0);
  post_receive(in, 1);
  post_send(held.from, 10, {}, IBV_SEND_SIGNALED);
  post(held.from, wait(signals, 1, true, 11, IBV_SEND_SIGNALED));
  post_send(held.from, 12, {}, IBV_SEND_SIGNALED);
  post(held.from, wait(signals, 1, true, 13));
  post_send(held.from, 14, {}, IBV_SEND_SIGNALED);
  expect_next("before the wait", held.arrived, 0);
  expect_next("before the wait", held.sent, 10);
  settle();
  expect_empty("behind the wait", held.arrived);
  post_send(out, 0);
  expect_next("behind the first wait", held.arrived, 1);
  expect_task("the wait", held.sent, 11, SCELA_TASK_WAIT);
  expect_next("behind the first wait", held.sent, 12);
  settle();
  expect_empty("behind the second wait", held.arrived);
  post_send(out, 0);
  expect_next("behind the second wait", held.arrived, 2);
  expect_next("the unsignalled wait says nothing", held.sent, 14);
}

void held_tasks() {
  Held held(SCELA_QP_MANAGED_SEND);
  ibv_qp* const other = held.world.rc(held.world.cq(), held.world.cq(), SCELA_QP_MANAGED_SEND);
  ibv_cq* const arrived = held.world.cq();
  ibv_qp* const end = held.world.rc(held.world.cq(), arrived);
  held.world.connect(other, end);
  post_receive(end, 1);
  post_receive(held.to, 2);
  post_send(other, 0);
  // The held queue holds a task as well.
  post(held.from, enable(other, 1, 20, IBV_SEND_SIGNALED));
  post_send(held.from, 21);
  settle();
  expect_empty("the held task is not executed", arrived);
  post(held.manager, enable(held.from, 1));
  expect_next("the held task is", arrived, 1);
  expect_task("it completes", held.sent, 20, SCELA_TASK_SEND_ENABLE);
  expect_empty("the request behind it is held", held.arrived);
  post(held.manager, enable(held.from, 1));
  expect_next("and released", held.arrived, 2);
}

void inline_held() {
  Held held(SCELA_QP_MANAGED_SEND);
  post_receive(held.to, 1, held.world.piece(1024, 64));
  uint8_t bytes[16];
  std::memset(bytes, 9, sizeof bytes);
  post_send(held.from, 0, {reinterpret_cast<uint64_t>(bytes), sizeof bytes, 0}, IBV_SEND_INLINE);
  std::memset(bytes, 1, sizeof bytes);
  post(held.manager, enable(held.from, 1));
  expect_next("an inline message", held.arrived, 1);
  expect_equal("what it held when it was posted", 9, held.world.memory()[1024 + 15]);
}

void queue_full() {
  World world;
  ibv_cq* const done = world.cq();
  ibv_cq* const never = world.cq();
  ibv_qp* const manager = world.mq(done, 8);
  post(manager, wait(never, 1, false, 1, IBV_SEND_SIGNALED));
  int error = 0, posted = 1;
  while (error == 0 && posted < 10000) {
    error = try_post(manager, wait(never, 1, false));
    posted += error == 0 ? 1 : 0;
  }
  expect_error("one task too many", ENOMEM, error);
  expect(posted >= 8, "fewer tasks than were asked for: " + std::to_string(posted));
}

void list_until_the_bad_one() {
  Held held(SCELA_QP_MANAGED_SEND);
  scela_task tasks[3] = {enable(held.from, 1, 1, IBV_SEND_SIGNALED),
                         enable(held.from, 1, 2, IBV_SEND_INLINE),
                         enable(held.from, 1, 3, IBV_SEND_SIGNALED)};
  tasks[0].next = &tasks[1];
  tasks[1].next = &tasks[2];
  scela_task* bad = nullptr;
  expect_error("a flag that tasks do not have", EINVAL, scela_post_task(held.manager, tasks, &bad));
  expect(bad == &tasks[1], "the wrong task is named");
  expect_task("the task before it", held.done, 1, SCELA_TASK_SEND_ENABLE);
  settle();
  expect_empty("the tasks from there on", held.done);
  expect_error("no queue", EINVAL, try_post(held.manager, enable(nullptr, 1)));
  expect_error("no completion queue", EINVAL, try_post(held.manager, wait(nullptr, 1)));
}

// Queue pairs that have nothing to do with tasks go on beside them.
void plain_beside() {
  Held held(SCELA_QP_MANAGED_SEND);
  Pair pair;
  exchange(pair.a, pair.b, 1);
  post_receive(held.to, 1);
  post_send(held.from, 2);
  exchange(pair.b, pair.a, 2);
  post(held.manager, enable(held.from, 1));
  expect_next("a released send", held.arrived, 1);
  exchange(pair.a, pair.b, 3);
}

constexpr Case kCases[] = {
    {"tasks.held-until-enabled", held_until_enabled},
    {"tasks.enabled-early", enabled_before_it_is_posted},
    {"tasks.receives-held", receives_held},
    {"tasks.waits-among-sends", waits_among_sends},
    {"tasks.held-tasks", held_tasks},
    {"tasks.inline-held", inline_held},
    {"tasks.queue-full", queue_full},
    {"tasks.list-until-bad", list_until_the_bad_one},
    {"tasks.plain-beside", plain_beside},
};

}  // namespace

std::span<const Case> order_cases() {
  return kCases;
}

}  // namespace semantics
