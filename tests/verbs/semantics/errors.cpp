// Judges transport errors, retries, and the effect of an error on the rest of the queues.
#include <sched.h>

#include <string>
#include <vector>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

void receive_too_small() {
  Pair pair;
  pair.b.post_receive(1, 0, 16);
  pair.b.post_receive(2, 0, 64);
  Request(IBV_WR_SEND, 3).piece(pair.a.piece(0, 32)).post(pair.a);
  ibv_wc wc = pair.b.received();
  expect_status("the receive", IBV_WC_LOC_LEN_ERR, wc);
  expect_equal("wr_id of the receive", uint64_t{1}, wc.wr_id);
  wc = pair.a.sent();
  expect_status("the send", IBV_WC_REM_INV_REQ_ERR, wc);
  expect_equal("wr_id of the send", uint64_t{3}, wc.wr_id);
  wc = pair.b.received();
  expect_status("the receive behind it", IBV_WC_WR_FLUSH_ERR, wc);
  expect_equal("its wr_id", uint64_t{2}, wc.wr_id);
  await_state("ERR of the sender", pair.a.qp.get(), IBV_QPS_ERR);
  await_state("ERR of the receiver", pair.b.qp.get(), IBV_QPS_ERR);
}

void receive_too_small_long() {
  Pair pair;
  pair.b.post_receive(1, 0, 3000);
  Request(IBV_WR_SEND, 3).piece(pair.a.piece(0, 9000)).post(pair.a);
  expect_status("the receive", IBV_WC_LOC_LEN_ERR, pair.b.received());
  expect_status("the send", IBV_WC_REM_INV_REQ_ERR, pair.a.sent());
  expect_equal("the byte behind the receive", uint8_t{0}, *pair.b.bytes(3000));
}

void not_ready_given_up() {
  Plan plan;
  plan.rnr_retries = 0;
  Pair pair(plan);
  Request(IBV_WR_SEND, 1).piece(pair.a.piece(0, 8)).post(pair.a);
  expect_status("a send to nobody", IBV_WC_RNR_RETRY_EXC_ERR, pair.a.sent());
  await_state("ERR of the sender", pair.a.qp.get(), IBV_QPS_ERR);
  expect_equal("state of the receiver", static_cast<int>(IBV_QPS_RTS),
               static_cast<int>(state_of(pair.b.qp.get())));
}

void not_ready_counted() {
  Plan plan;
  plan.rnr_retries = 3;
  Pair pair(plan);
  Request(IBV_WR_SEND, 1).piece(pair.a.piece(0, 8)).post(pair.a);
  expect_status("a send to nobody", IBV_WC_RNR_RETRY_EXC_ERR, pair.a.sent());
}

// With 7 RNR retries a sender waits for the receiver without end.
void not_ready_waits() {
  Pair pair;
  pair.a.fill(0, 8, 5);
  Request(IBV_WR_SEND, 1).piece(pair.a.piece(0, 8)).post(pair.a);
  Request(IBV_WR_SEND, 2).piece(pair.a.piece(0, 8)).post(pair.a);
  // This waits for some attempts of the sender. If the wait is too short, the case is weaker, but
  // never wrong.
  for (int i = 0; i < 1000; ++i) {
    expect_empty("before there was a receive", pair.a.send_cq.get());
    sched_yield();
  }
  pair.b.post_receive(11, 0);
  pair.b.post_receive(12, 64);
  for (uint64_t id = 1; id <= 2; ++id) {
    expect_completion("a send", pair.a.sent(), id, IBV_WC_SEND);
    expect_completion("a receive", pair.b.received(), 10 + id, IBV_WC_RECV);
  }
  pair.b.expect_bytes("data", 64, 8, 5);
}

void write_immediate_waits() {
  Pair pair;
  Request(IBV_WR_RDMA_WRITE_WITH_IMM, 1)
      .immediate(3)
      .piece(pair.a.piece(0, 3000))
      .remote(pair.b.address())
      .post(pair.a);
  for (int i = 0; i < 1000; ++i) {
    expect_empty("before there was a receive", pair.a.send_cq.get());
    sched_yield();
  }
  pair.b.post_receive(11);
  expect_completion("the write", pair.a.sent(), 1, IBV_WC_RDMA_WRITE);
  expect_completion("the receive", pair.b.received(), 11, IBV_WC_RECV_RDMA_WITH_IMM);
}

void peer_destroyed() {
  Pair pair;
  pair.b.qp.reset();
  Request(IBV_WR_SEND, 1).piece(pair.a.piece(0, 8)).post(pair.a);
  Request(IBV_WR_SEND, 2).piece(pair.a.piece(0, 8)).post(pair.a);
  ibv_wc wc = pair.a.sent();
  expect_status("a send to a queue pair that is gone", IBV_WC_RETRY_EXC_ERR, wc);
  expect_equal("wr_id", uint64_t{1}, wc.wr_id);
  wc = pair.a.sent();
  expect_status("the send behind it", IBV_WC_WR_FLUSH_ERR, wc);
  expect_equal("its wr_id", uint64_t{2}, wc.wr_id);
  await_state("ERR of the sender", pair.a.qp.get(), IBV_QPS_ERR);
}

void peer_in_error() {
  Pair pair;
  expect_works("to ERR", go_to(pair.b.qp.get(), IBV_QPS_ERR));
  Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.piece(0, 8)).remote(pair.b.address()).post(pair.a);
  expect_status("a write to a queue pair in ERR", IBV_WC_RETRY_EXC_ERR, pair.a.sent());
}

void peer_not_connected() {
  End a;
  End b;
  a.connect(b.address());
  expect_works("to INIT", apply(b.qp.get(), init_step(IBV_QPT_RC)));
  b.post_receive(1);
  Request(IBV_WR_SEND, 1).piece(a.piece(0, 8)).post(a);
  expect_status("a send to a queue pair in INIT", IBV_WC_RETRY_EXC_ERR, a.sent());
  expect_empty("the receive", b.recv_cq);
}

// All requests that are queued when a queue pair enters ERR come back in order, signalled or not.
void flushed_in_order() {
  Pair pair;
  for (uint64_t id = 1; id <= 6; ++id) {
    const unsigned flags = id % 2 == 0 ? IBV_SEND_SIGNALED : 0;
    Request(IBV_WR_SEND, id, flags).piece(pair.a.piece(0, 8)).post(pair.a);
  }
  for (uint64_t id = 11; id <= 14; ++id)
    pair.a.post_receive(id);
  expect_works("to ERR", go_to(pair.a.qp.get(), IBV_QPS_ERR));
  uint64_t next = 1;
  for (const ibv_wc& wc : await(pair.a.send_cq.get(), 6, "six flushed sends")) {
    expect_status("send " + std::to_string(next), IBV_WC_WR_FLUSH_ERR, wc);
    expect_equal("wr_id of a send", next++, wc.wr_id);
  }
  next = 11;
  for (const ibv_wc& wc : await(pair.a.recv_cq, 4, "four flushed receives")) {
    expect_status("receive " + std::to_string(next), IBV_WC_WR_FLUSH_ERR, wc);
    expect_equal("wr_id of a receive", next++, wc.wr_id);
    expect_equal("qp_num", pair.a.qp->qp_num, wc.qp_num);
  }
}

// The first error names its request, and the requests behind it are flushed.
void first_error_then_flush() {
  Pair pair;
  for (uint64_t id = 1; id <= 4; ++id)
    pair.b.post_receive(id);
  Address bad = pair.b.address();
  bad.rkey ^= 0x5500;
  Request(IBV_WR_SEND, 1, 0).piece(pair.a.piece(0, 8)).post(pair.a);
  Request(IBV_WR_RDMA_WRITE, 2, 0).piece(pair.a.piece(0, 8)).remote(bad).post(pair.a);
  Request(IBV_WR_SEND, 3, 0).piece(pair.a.piece(0, 8)).post(pair.a);
  Request(IBV_WR_SEND, 4).piece(pair.a.piece(0, 8)).post(pair.a);
  ibv_wc wc = pair.a.sent();
  expect_status("the bad request, unsignalled", IBV_WC_REM_ACCESS_ERR, wc);
  expect_equal("its wr_id", uint64_t{2}, wc.wr_id);
  for (uint64_t id = 3; id <= 4; ++id) {
    wc = pair.a.sent();
    expect_status("a request behind it", IBV_WC_WR_FLUSH_ERR, wc);
    expect_equal("its wr_id", id, wc.wr_id);
  }
  expect_completion("the first receive", pair.b.received(), 1, IBV_WC_RECV);
  for (uint64_t id = 2; id <= 4; ++id) {
    wc = pair.b.received();
    expect_status("a receive after the bad request", IBV_WC_WR_FLUSH_ERR, wc);
    expect_equal("its wr_id", id, wc.wr_id);
  }
}

// A queue pair in ERR is as new after RESET.
void after_error_anew() {
  Pair pair;
  pair.b.post_receive(1);
  Address bad = pair.b.address();
  bad.rkey ^= 0x5500;
  Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.piece(0, 8)).remote(bad).post(pair.a);
  expect_status("the write", IBV_WC_REM_ACCESS_ERR, pair.a.sent());
  expect_status("the receive", IBV_WC_WR_FLUSH_ERR, pair.b.received());
  for (End* end : {&pair.a, &pair.b}) {
    await_state("ERR", end->qp.get(), IBV_QPS_ERR);
    expect_works("to RESET", go_to(end->qp.get(), IBV_QPS_RESET));
  }
  pair.a.connect(pair.b.address());
  pair.b.connect(pair.a.address());
  exchange(pair.a, pair.b, 9);
  exchange(pair.b, pair.a, 10);
}

// An event tells the target of a refused request of the error, as no receive of its own failed.
void access_event() {
  Pair pair;
  Address bad = pair.b.address();
  bad.rkey ^= 0x5500;
  Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.piece(0, 8)).remote(bad).post(pair.a);
  expect_status("the write", IBV_WC_REM_ACCESS_ERR, pair.a.sent());
  ibv_async_event event = await_event(device().context.get(), IBV_EVENT_QP_ACCESS_ERR);
  const bool own = event.element.qp == pair.b.qp.get();
  ibv_ack_async_event(&event);
  expect(own, "the event is of another queue pair");
}

void established_event() {
  End a;
  End b;
  expect_works("to INIT", apply(b.qp.get(), init_step(IBV_QPT_RC)));
  expect_works("to RTR", apply(b.qp.get(), rtr_step(IBV_QPT_RC, a.address())));
  a.connect(b.address());
  b.post_receive(1);
  Request(IBV_WR_SEND, 1).piece(a.piece(0, 8)).post(a);
  b.received();
  ibv_async_event event = await_event(device().context.get(), IBV_EVENT_COMM_EST);
  const bool own = event.element.qp == b.qp.get();
  ibv_ack_async_event(&event);
  expect(own, "the event is of another queue pair");
}

constexpr Case kCases[] = {
    {"errors.receive-too-small", receive_too_small},
    {"errors.receive-too-small-long", receive_too_small_long},
    {"errors.not-ready-given-up", not_ready_given_up},
    {"errors.not-ready-counted", not_ready_counted},
    {"errors.not-ready-waits", not_ready_waits},
    {"errors.write-immediate-waits", write_immediate_waits},
    {"errors.peer-destroyed", peer_destroyed},
    {"errors.peer-in-error", peer_in_error},
    {"errors.peer-not-connected", peer_not_connected},
    {"errors.flushed-in-order", flushed_in_order},
    {"errors.first-error-then-flush", first_error_then_flush},
    {"errors.after-error-anew", after_error_anew},
    {"errors.access-event", access_event},
    {"errors.established-event", established_event},
};

}  // namespace

std::span<const Case> error_cases() {
  return kCases;
}

}  // namespace semantics
