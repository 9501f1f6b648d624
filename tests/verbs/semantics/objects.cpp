// Judges making, resizing and destroying objects, with their limits, and with objects that are
// still in use.
#include <cerrno>
#include <set>
#include <string>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

ibv_qp_init_attr small(ibv_cq* cq) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {4, 4, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  return init;
}

void domain_in_use() {
  End end;
  expect_error("a domain with a queue pair and a region", EBUSY, ibv_dealloc_pd(end.pd));
  end.qp.reset();
  expect_error("a domain with a region", EBUSY, ibv_dealloc_pd(end.pd));
  end.mr.reset();
  expect_works("a domain without", ibv_dealloc_pd(end.own_pd.release()));
}

void domain_with_address() {
  Pd pd = make_pd();
  End end;
  ibv_ah_attr attr = route_to(end.address());
  Ah ah(ibv_create_ah(pd.get(), &attr));
  expect(ah != nullptr, "ibv_create_ah failed");
  expect_error("a domain with an address handle", EBUSY, ibv_dealloc_pd(pd.get()));
  expect_works("ibv_destroy_ah", ibv_destroy_ah(ah.release()));
  expect_works("a domain without", ibv_dealloc_pd(pd.release()));
}

void cq_in_use() {
  End end;
  expect_error("a CQ with a queue pair", EBUSY, ibv_destroy_cq(end.send_cq.get()));
  expect_error("the other CQ", EBUSY, ibv_destroy_cq(end.recv_cq));
  expect_works("ibv_destroy_qp", ibv_destroy_qp(end.qp.release()));
  expect_works("a CQ without", ibv_destroy_cq(end.send_cq.release()));
}

void queue_pair_with_work() {
  Pair pair;
  pair.a.post_receive(1);
  Request(IBV_WR_SEND, 1).piece(pair.a.piece(0, 8)).post(pair.a);
  expect_works("a queue pair with work in it", ibv_destroy_qp(pair.a.qp.release()));
}

void queue_pair_limits() {
  const Pd pd = make_pd();
  const Cq cq = make_cq(16);
  ibv_qp_init_attr init = small(cq.get());
  init.cap.max_send_wr = static_cast<uint32_t>(device().attr.max_qp_wr) + 1;
  errno = 0;
  expect_refused("more sends than the device has", Qp(ibv_create_qp(pd.get(), &init)).get());
  expect_error("errno", EINVAL, errno);
  init = small(cq.get());
  init.cap.max_recv_wr = static_cast<uint32_t>(device().attr.max_qp_wr) + 1;
  expect_refused("more receives than the device has", Qp(ibv_create_qp(pd.get(), &init)).get());
  init = small(cq.get());
  init.cap.max_send_sge = static_cast<uint32_t>(device().attr.max_sge) + 1;
  errno = 0;
  expect_refused("more pieces than the device has", Qp(ibv_create_qp(pd.get(), &init)).get());
  expect_error("errno", EINVAL, errno);
  init = small(cq.get());
  init.cap.max_inline_data = 1 << 20;
  expect_refused("a megabyte of inline data", Qp(ibv_create_qp(pd.get(), &init)).get());
}

void queue_pair_capacities() {
  const Pd pd = make_pd();
  const Cq cq = make_cq(16);
  ibv_qp_init_attr init = small(cq.get());
  init.cap = {5, 6, 2, 3, 20};
  const Qp qp(ibv_create_qp(pd.get(), &init));
  expect(qp != nullptr, "ibv_create_qp failed");
  expect(init.cap.max_send_wr >= 5 && init.cap.max_recv_wr >= 6, "fewer requests than asked for");
  expect(init.cap.max_send_sge >= 2 && init.cap.max_recv_sge >= 3, "fewer pieces");
  expect(init.cap.max_inline_data >= 20, "less inline data");
  expect(qp->qp_type == IBV_QPT_RC && qp->state == IBV_QPS_RESET, "type and state");
  expect(qp->send_cq == cq.get() && qp->recv_cq == cq.get() && qp->pd == pd.get(), "its objects");
}

void queue_pair_unknown_type() {
  const Pd pd = make_pd();
  const Cq cq = make_cq(16);
  ibv_qp_init_attr init = small(cq.get());
  init.qp_type = static_cast<ibv_qp_type>(99);
  expect_refused("a queue pair of type 99", Qp(ibv_create_qp(pd.get(), &init)).get());
}

void numbers_differ() {
  std::set<uint32_t> numbers;
  const Pd pd = make_pd();
  const Cq cq = make_cq(16);
  std::vector<Qp> qps;
  for (int i = 0; i < 40; ++i) {
    ibv_qp_init_attr init = small(cq.get());
    qps.emplace_back(ibv_create_qp(pd.get(), &init));
    expect(qps.back() != nullptr, "ibv_create_qp failed");
    numbers.insert(qps.back()->qp_num);
    expect(qps.back()->qp_num > 1 && qps.back()->qp_num < 1U << 24, "a number out of range");
  }
  expect_equal("different numbers", size_t{40}, numbers.size());
}

void cq_limits() {
  errno = 0;
  expect_refused("a CQ of no places",
                 Cq(ibv_create_cq(device().context.get(), 0, nullptr, nullptr, 0)).get());
  expect_error("errno", EINVAL, errno);
  if (device().attr.max_cqe == INT32_MAX) return;
  expect_refused(
      "a CQ of more places than the device has",
      Cq(ibv_create_cq(device().context.get(), device().attr.max_cqe + 1, nullptr, nullptr, 0))
          .get());
}

void cq_vector() {
  const int vectors = device().context->num_comp_vectors;
  expect(vectors >= 1, "no completion vectors");
  errno = 0;
  expect_refused("a completion vector that is not there",
                 Cq(ibv_create_cq(device().context.get(), 8, nullptr, nullptr, vectors)).get());
  expect_error("errno", EINVAL, errno);
}

void cq_resize() {
  const Cq cq = make_cq(4);
  Plan plan;
  plan.recv_cq = cq.get();
  Pair pair(Plan{}, plan);
  for (uint64_t id = 1; id <= 3; ++id) {
    pair.b.post_receive(id);
    Request(IBV_WR_SEND, id).piece(pair.a.piece(0, 8)).post(pair.a);
    expect_completion("a send", pair.a.sent(), id, IBV_WC_SEND);
  }
  const int error = ibv_resize_cq(cq.get(), 64);
  if (error == ENOSYS || error == EOPNOTSUPP) skip("device lacks resizing of CQs");
  expect_works("ibv_resize_cq", error);
  expect(cq->cqe >= 64, "the CQ did not grow");
  for (uint64_t id = 4; id <= 30; ++id) {
    pair.b.post_receive(id);
    Request(IBV_WR_SEND, id).piece(pair.a.piece(0, 8)).post(pair.a);
    expect_completion("a send", pair.a.sent(), id, IBV_WC_SEND);
  }
  expect_any_error("shrinking below what is in it", ibv_resize_cq(cq.get(), 4));
  for (uint64_t id = 1; id <= 30; ++id) {
    expect_completion("a receive", pair.b.received(), id, IBV_WC_RECV);
  }
  expect_works("shrinking an empty CQ", ibv_resize_cq(cq.get(), 4));
}

void address_handle_bad_port() {
  End end;
  ibv_ah_attr attr = route_to(end.address());
  attr.port_num = static_cast<uint8_t>(device().attr.phys_port_cnt + 1);
  errno = 0;
  expect_refused("an address handle of another port", Ah(ibv_create_ah(end.pd, &attr)).get());
  expect_error("errno", EINVAL, errno);
}

void many_of_each() {
  for (int round = 0; round < 20; ++round) {
    Pair pair;
    exchange(pair.a, pair.b, 1);
  }
}

void memory_windows() {
  if (device().attr.max_mw == 0) skip("device lacks memory windows");
  const Pd pd = make_pd();
  ibv_mw* window = ibv_alloc_mw(pd.get(), IBV_MW_TYPE_2);
  if (window == nullptr) skip("device lacks memory windows of type 2");
  expect_works("ibv_dealloc_mw", ibv_dealloc_mw(window));
}

constexpr Case kCases[] = {
    {"objects.domain-in-use", domain_in_use},
    {"objects.domain-with-address", domain_with_address},
    {"objects.cq-in-use", cq_in_use},
    {"objects.queue-pair-with-work", queue_pair_with_work},
    {"objects.queue-pair-limits", queue_pair_limits},
    {"objects.queue-pair-capacities", queue_pair_capacities},
    {"objects.queue-pair-unknown-type", queue_pair_unknown_type},
    {"objects.numbers-differ", numbers_differ},
    {"objects.cq-limits", cq_limits},
    {"objects.cq-vector", cq_vector},
    {"objects.cq-resize", cq_resize},
    {"objects.address-handle-bad-port", address_handle_bad_port},
    {"objects.many-of-each", many_of_each},
    {"objects.memory-windows", memory_windows},
};

}  // namespace

std::span<const Case> object_cases() {
  return kCases;
}

}  // namespace semantics
