// Judges errors: what becomes of held requests and of waits if a queue pair fails, is reset or is
// destroyed.
#include <cerrno>

#include "tests/verbs/tasks/tasks_world.h"

namespace semantics {
namespace {

struct Failing {
  explicit Failing(uint32_t flags = SCELA_QP_MANAGED_SEND) {
    from = world.rc(sent, received, flags);
    to = world.rc(world.cq(), arrived);
    world.connect(from, to);
  }
  World world;
  ibv_cq* sent = world.cq();
  ibv_cq* received = world.cq();
  ibv_cq* arrived = world.cq();
  ibv_cq* done = world.cq();
  ibv_cq* never = world.cq();
  ibv_qp* manager = world.mq(done);
  ibv_qp *from = nullptr, *to = nullptr;
};

void error_flushes_what_is_held() {
  Failing f(SCELA_QP_MANAGED_SEND | SCELA_QP_MANAGED_RECV);
  for (uint64_t i = 0; i < 3; ++i) {
    post_receive(f.from, 10 + i);
    post_send(f.from, i);
  }
  post(f.from, wait(f.never, 1, true, 3));
  expect_works("to ERR", change_state(f.from, IBV_QPS_ERR));
  for (uint64_t i = 0; i < 4; ++i)
    expect_next("what was held, in its order", f.sent, i, IBV_WC_WR_FLUSH_ERR);
  for (uint64_t i = 0; i < 3; ++i)
    expect_next("held receives", f.received, 10 + i, IBV_WC_WR_FLUSH_ERR);
  // Requests that are posted from now on are flushed, too.
  post_send(f.from, 4);
  expect_next("a send to a queue in error", f.sent, 4, IBV_WC_WR_FLUSH_ERR);
  post(f.from, enable(f.from, 1, 5));
  expect_next("a task to a queue in error", f.sent, 5, IBV_WC_WR_FLUSH_ERR);
}

void error_flushes_who_waits() {
  Failing f(0);
  post(f.from, wait(f.never, 1, true, 1));
  post_send(f.from, 2);
  post(f.manager, wait(f.sent, 2, true, 9, IBV_SEND_SIGNALED));
  expect_works("to ERR", change_state(f.from, IBV_QPS_ERR));
  expect_task("flushed completions count as others do", f.done, 9, SCELA_TASK_WAIT);
  expect_next("who waited", f.sent, 1, IBV_WC_WR_FLUSH_ERR);
  expect_next("who stood behind", f.sent, 2, IBV_WC_WR_FLUSH_ERR);
}

// A WAIT compares how many completions have come, as CORE-Direct's does: its request holds a
// completion queue's producer index. Their status is for the program that polls.
void failed_completions_count() {
  Failing f(0);
  ibv_cq* const told = f.world.cq();
  ibv_qp* const held = f.world.rc(f.world.cq(), f.world.cq(), SCELA_QP_MANAGED_SEND);
  ibv_qp* const other = f.world.rc(f.world.cq(), told);
  f.world.connect(held, other);
  post_receive(other, 7);
  post_send(held, 8);
  post(f.manager, wait(f.sent, 1, true, 3, IBV_SEND_SIGNALED));
  post(f.manager, wait(f.sent, 1, true, 4, IBV_SEND_SIGNALED));
  post(f.manager, enable(held, 1));
  expect_empty("nothing has completed", f.done);
  Request wrong(IBV_WR_RDMA_WRITE, 1, 0);
  Address nowhere = f.world.address();
  nowhere.rkey ^= 0x5555;
  expect_works("posting", wrong.piece(f.world.piece(0, 8)).remote(nowhere).try_post(f.from));
  expect_task("a wait for one that failed", f.done, 3, SCELA_TASK_WAIT);
  post_send(f.from, 2);
  expect_task("a wait for one that was flushed", f.done, 4, SCELA_TASK_WAIT);
  expect_next("what stands behind them is done", told, 7);
  expect_next("who polls is told", f.sent, 1, IBV_WC_REM_ACCESS_ERR);
  expect_next("of both", f.sent, 2, IBV_WC_WR_FLUSH_ERR);
}

void failing_request_flushes_the_rest() {
  Failing f;
  Request wrong(IBV_WR_RDMA_WRITE, 1, 0);
  Address nowhere = f.world.address();
  nowhere.rkey ^= 0x5555;
  expect_works("posting", wrong.piece(f.world.piece(0, 8)).remote(nowhere).try_post(f.from));
  post_send(f.from, 2);
  post(f.from, wait(f.never, 1, true, 3));
  post(f.manager, enable(f.from, 1));
  expect_next("a key that names nothing", f.sent, 1, IBV_WC_REM_ACCESS_ERR);
  expect_next("held behind it", f.sent, 2, IBV_WC_WR_FLUSH_ERR);
  expect_next("a task behind it", f.sent, 3, IBV_WC_WR_FLUSH_ERR);
}

void failing_task_ends_the_connection() {
  Failing f(0);
  post_receive(f.from, 8);
  // The queue pair holds nothing, so there is nothing to release.
  post(f.from, enable(f.to, 1, 1));
  post_send(f.from, 2);
  expect_next("a release of what is not held", f.sent, 1, IBV_WC_LOC_QP_OP_ERR);
  expect_next("behind it", f.sent, 2, IBV_WC_WR_FLUSH_ERR);
  expect_next("its receives", f.received, 8, IBV_WC_WR_FLUSH_ERR);
  await_state("the queue pair is in error", f.from, IBV_QPS_ERR);
}

void gone_queue_pair() {
  Failing f;
  ibv_qp* const gone = make_rc(f.world.pd.get(), f.sent, f.sent, SCELA_QP_MANAGED_SEND, 8);
  expect(gone != nullptr, "scela_create_qp failed");
  ibv_cq* const steps = f.world.cq();
  ibv_qp* const in = f.world.rc(f.world.cq(), steps);
  ibv_qp* const out = f.world.rc(f.world.cq(), f.world.cq());
  f.world.connect(in, out);
  post_receive(in, 1);
  post(f.manager, wait(steps, 1));
  post(f.manager, enable(gone, 1, 2));
  post(f.manager, wait(f.never, 1, true, 3));
  expect_works("destroying it", scela_destroy_qp(gone));
  post_send(out, 1);
  expect_next("a release of who has gone", f.done, 2, IBV_WC_LOC_QP_OP_ERR);
  expect_next("behind it", f.done, 3, IBV_WC_WR_FLUSH_ERR);
}

void reset_forgets() {
  Failing f;
  post_send(f.from, 1, {}, IBV_SEND_SIGNALED);
  post_send(f.from, 2, {}, IBV_SEND_SIGNALED);
  expect_works("to RESET", change_state(f.from, IBV_QPS_RESET));
  expect_works("to RESET", change_state(f.to, IBV_QPS_RESET));
  f.world.connect(f.from, f.to);
  post_receive(f.to, 5);
  post_receive(f.to, 6);
  post_send(f.from, 3, {}, IBV_SEND_SIGNALED);
  post(f.manager, enable(f.from, 1));
  expect_next("the first that was posted since", f.arrived, 5);
  expect_next("its completion", f.sent, 3);
  expect_empty("nothing of before", f.sent);
  post_send(f.from, 4, {}, IBV_SEND_SIGNALED);
  post(f.manager, enable(f.from, 1));
  expect_next("the second", f.sent, 4);
}

void wrong_state() {
  World world;
  ibv_cq* const cq = world.cq();
  ibv_qp* const qp = world.rc(cq, cq, SCELA_QP_MANAGED_SEND);
  Request send(IBV_WR_SEND, 1);
  expect_error("a send in RESET", EINVAL, send.try_post(qp));
  expect_error("a task in RESET", EINVAL, try_post(qp, enable(qp, 1)));
}

// Queues are destroyed while they wait, hold requests, and are released.
void destroyed_while_waiting() {
  for (int round = 0; round < 6; ++round) {
    Failing f;
    for (uint64_t i = 0; i < 8; ++i) {
      post_receive(f.to, i);
      post_send(f.from, i, {}, IBV_SEND_SIGNALED);
    }
    post(f.manager, enable(f.from, 4));
    post(f.manager, wait(f.sent, 2, true));
    post(f.manager, enable(f.from, 1));
    post(f.manager, wait(f.never, 1, true));
  }
  Failing f;
  ibv_cq* const used = scela_create_cq(device().context.get(), 8, nullptr, nullptr, 0);
  expect(used != nullptr, "scela_create_cq failed");
  ibv_qp* const manager = scela_create_mq(f.world.pd.get(), used, 8);
  expect(manager != nullptr, "scela_create_mq failed");
  expect_error("a completion queue in use", EBUSY, scela_destroy_cq(used));
  post(manager, wait(f.sent, 0, true, 7, IBV_SEND_SIGNALED));
  expect_task("it works on", used, 7, SCELA_TASK_WAIT);
  expect_works("scela_destroy_qp", scela_destroy_qp(manager));
  expect_works("scela_destroy_cq", scela_destroy_cq(used));
}

constexpr Case kCases[] = {
    {"tasks.error-flushes-held", error_flushes_what_is_held},
    {"tasks.error-flushes-waiting", error_flushes_who_waits},
    {"tasks.failed-completions-count", failed_completions_count},
    {"tasks.failing-request", failing_request_flushes_the_rest},
    {"tasks.failing-task", failing_task_ends_the_connection},
    {"tasks.gone-queue-pair", gone_queue_pair},
    {"tasks.reset-forgets", reset_forgets},
    {"tasks.wrong-state", wrong_state},
    {"tasks.destroyed-while-waiting", destroyed_while_waiting},
};

}  // namespace

std::span<const Case> failure_cases() {
  return kCases;
}

}  // namespace semantics
