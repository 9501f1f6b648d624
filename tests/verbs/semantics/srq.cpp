// Judges shared receive queues.
#include <cerrno>
#include <memory>
#include <string>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

constexpr uint32_t kDepth = 16;

// Two senders with receivers that share one queue. `receiver` has memory for both.
struct Shared {
  Shared() {
    need_srq();
    pd = make_pd();
    srq = make_srq(pd.get(), kDepth);
    Plan plan;
    plan.pd = pd.get();
    plan.srq = srq.get();
    first = std::make_unique<Pair>(Plan{}, plan);
    second = std::make_unique<Pair>(Plan{}, plan);
  }
  ibv_srq_attr query() {
    ibv_srq_attr attr{};
    expect_works("ibv_query_srq", ibv_query_srq(srq.get(), &attr));
    return attr;
  }
  int set_limit(uint32_t limit) {
    ibv_srq_attr attr{};
    attr.srq_limit = limit;
    return ibv_modify_srq(srq.get(), &attr, IBV_SRQ_LIMIT);
  }
  void message(Pair& pair, uint64_t id) {
    Request(IBV_WR_SEND, id).piece(pair.a.piece(0, 8)).post(pair.a);
    expect_completion("the send", pair.a.sent(), id, IBV_WC_SEND);
  }

  Pd pd;
  Srq srq;
  std::unique_ptr<Pair> first;
  std::unique_ptr<Pair> second;
};

void two_senders() {
  Shared shared;
  for (uint64_t id = 1; id <= 4; ++id)
    shared.first->b.post_receive(id, 64 * id);
  uint64_t next = 1;
  for (Pair* pair : {shared.first.get(), shared.second.get(), shared.first.get()}) {
    pair->a.fill(0, 8, static_cast<uint8_t>(next));
    shared.message(*pair, 100 + next);
    const ibv_wc wc = pair->b.received();
    expect_completion("a receive", wc, next, IBV_WC_RECV);
    expect_equal("qp_num", pair->b.qp->qp_num, wc.qp_num);
    shared.first->b.expect_bytes("data", 64 * next, 8, static_cast<uint8_t>(next));
    ++next;
  }
}

void query() {
  Shared shared;
  const ibv_srq_attr attr = shared.query();
  expect(attr.max_wr >= kDepth, "max_wr is less than asked for");
  expect(attr.max_sge >= 2, "max_sge is less than asked for");
  expect_equal("srq_limit", 0U, attr.srq_limit);
  expect_works("ibv_modify_srq", shared.set_limit(5));
  expect_equal("srq_limit", 5U, shared.query().srq_limit);
  expect_error("a limit beyond the queue", EINVAL, shared.set_limit(attr.max_wr + 1));
  expect_equal("srq_limit after it", 5U, shared.query().srq_limit);
}

void limit_event() {
  Shared shared;
  for (uint64_t id = 1; id <= 6; ++id)
    shared.first->b.post_receive(id);
  expect_works("ibv_modify_srq", shared.set_limit(4));
  for (uint64_t id = 1; id <= 3; ++id) {
    shared.message(*shared.first, id);
    shared.first->b.received();
  }
  ibv_async_event event = await_event(device().context.get(), IBV_EVENT_SRQ_LIMIT_REACHED);
  const bool own = event.element.srq == shared.srq.get();
  ibv_ack_async_event(&event);
  expect(own, "the event is of another SRQ");
  expect_equal("srq_limit after the event", 0U, shared.query().srq_limit);
}

// The caller must ask for each event anew.
void limit_again() {
  Shared shared;
  for (uint64_t id = 1; id <= 8; ++id)
    shared.first->b.post_receive(id);
  for (const uint32_t limit : {6U, 3U}) {
    expect_works("ibv_modify_srq", shared.set_limit(limit));
    for (uint64_t id = 1; id <= 3; ++id) {
      shared.message(*shared.second, id);
      shared.second->b.received();
    }
    ibv_async_event event = await_event(device().context.get(), IBV_EVENT_SRQ_LIMIT_REACHED);
    ibv_ack_async_event(&event);
  }
}

void full() {
  Shared shared;
  ibv_recv_wr wr{};
  ibv_recv_wr* bad = nullptr;
  const uint32_t places = shared.query().max_wr;
  if (places > 2048) skip("device has no small SRQs");
  for (uint32_t i = 0; i < places; ++i) {
    expect_works("a receive", ibv_post_srq_recv(shared.srq.get(), &wr, &bad));
  }
  expect_error("one receive too many", ENOMEM, ibv_post_srq_recv(shared.srq.get(), &wr, &bad));
  expect(bad == &wr, "bad_wr does not point at the refused receive");
}

void too_many_pieces() {
  Shared shared;
  std::vector<ibv_sge> sges(shared.query().max_sge + 1, shared.first->b.piece(0, 8));
  ibv_recv_wr wr{};
  wr.sg_list = sges.data();
  wr.num_sge = static_cast<int>(sges.size());
  ibv_recv_wr* bad = nullptr;
  expect_error("too many pieces", EINVAL, ibv_post_srq_recv(shared.srq.get(), &wr, &bad));
}

void empty_waits() {
  Shared shared;
  Request(IBV_WR_SEND, 1).piece(shared.first->a.piece(0, 8)).post(shared.first->a);
  shared.second->b.post_receive(9);
  expect_completion("the send", shared.first->a.sent(), 1, IBV_WC_SEND);
  expect_completion("the receive", shared.first->b.received(), 9, IBV_WC_RECV);
}

void write_immediate() {
  Shared shared;
  shared.first->b.post_receive(9);
  Pair& pair = *shared.first;
  Request(IBV_WR_RDMA_WRITE_WITH_IMM, 1)
      .immediate(8)
      .piece(pair.a.piece(0, 8))
      .remote(pair.b.address())
      .post(pair.a);
  expect_completion("the write", pair.a.sent(), 1, IBV_WC_RDMA_WRITE);
  expect_completion("the receive", pair.b.received(), 9, IBV_WC_RECV_RDMA_WITH_IMM);
}

// A queue pair in ERR takes no receives of the shared queue with it: the other one goes on.
void error_leaves_the_rest() {
  Shared shared;
  for (uint64_t id = 1; id <= 3; ++id)
    shared.first->b.post_receive(id);
  expect_works("to ERR", go_to(shared.first->b.qp.get(), IBV_QPS_ERR));
  shared.message(*shared.second, 1);
  expect_completion("the first receive", shared.second->b.received(), 1, IBV_WC_RECV);
  expect_empty("the queue pair in ERR", shared.first->b.recv_cq);
}

void last_receive_event() {
  Shared shared;
  expect_works("to ERR", go_to(shared.first->b.qp.get(), IBV_QPS_ERR));
  ibv_async_event event = await_event(device().context.get(), IBV_EVENT_QP_LAST_WQE_REACHED);
  const bool own = event.element.qp == shared.first->b.qp.get();
  ibv_ack_async_event(&event);
  expect(own, "the event is of another queue pair");
}

void resize() {
  Shared shared;
  if (!is_able(IBV_DEVICE_SRQ_RESIZE)) skip("device lacks resizing of SRQs");
  shared.first->b.post_receive(1);
  ibv_srq_attr attr{};
  attr.max_wr = 8 * kDepth;
  expect_works("ibv_modify_srq", ibv_modify_srq(shared.srq.get(), &attr, IBV_SRQ_MAX_WR));
  expect(shared.query().max_wr >= 8 * kDepth, "the queue did not grow");
  shared.message(*shared.first, 2);
  expect_completion("a receive from before", shared.first->b.received(), 1, IBV_WC_RECV);
}

void in_use() {
  Shared shared;
  expect_error("destroying an SRQ with queue pairs", EBUSY, ibv_destroy_srq(shared.srq.get()));
}

void too_large() {
  need_srq();
  const Pd pd = make_pd();
  ibv_srq_init_attr attr{};
  attr.attr.max_wr = static_cast<uint32_t>(device().attr.max_srq_wr) + 1;
  attr.attr.max_sge = 1;
  errno = 0;
  expect_refused("a deeper SRQ than the device has", Srq(ibv_create_srq(pd.get(), &attr)).get());
  expect_error("errno", EINVAL, errno);
}

constexpr Case kCases[] = {
    {"srq.two-senders", two_senders},
    {"srq.query", query},
    {"srq.limit-event", limit_event},
    {"srq.limit-again", limit_again},
    {"srq.full", full},
    {"srq.too-many-pieces", too_many_pieces},
    {"srq.empty-waits", empty_waits},
    {"srq.write-immediate", write_immediate},
    {"srq.error-leaves-the-rest", error_leaves_the_rest},
    {"srq.last-receive-event", last_receive_event},
    {"srq.resize", resize},
    {"srq.in-use", in_use},
    {"srq.too-large", too_large},
};

}  // namespace

std::span<const Case> srq_cases() {
  return kCases;
}

}  // namespace semantics
