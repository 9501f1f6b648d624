// Judges what posting refuses at once, and how it reports that.
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

// Returns a value outside the enumeration's range, for which a conversion would be undefined.
ibv_wr_opcode no_opcode() {
  const int number = 200;
  ibv_wr_opcode opcode;
  static_assert(sizeof opcode == sizeof number);
  std::memcpy(&opcode, &number, sizeof opcode);
  return opcode;
}

int try_receive(ibv_qp* qp, ibv_sge* sges, int count) {
  ibv_recv_wr wr{};
  wr.sg_list = sges;
  wr.num_sge = count;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, &wr, &bad);
}

void send_too_early() {
  End end;
  const ibv_sge sge = end.piece(0, 8);
  expect_error("a send in RESET", EINVAL,
               Request(IBV_WR_SEND, 1).piece(sge).try_post(end.qp.get()));
  expect_works("to INIT", apply(end.qp.get(), init_step(IBV_QPT_RC)));
  expect_error("a send in INIT", EINVAL, Request(IBV_WR_SEND, 1).piece(sge).try_post(end.qp.get()));
  expect_works("to RTR", apply(end.qp.get(), rtr_step(IBV_QPT_RC, end.address())));
  expect_error("a send in RTR", EINVAL, Request(IBV_WR_SEND, 1).piece(sge).try_post(end.qp.get()));
}

void receive_in_reset() {
  End end;
  ibv_sge sge = end.piece(0, 8);
  expect_error("a receive in RESET", EINVAL, try_receive(end.qp.get(), &sge, 1));
}

void receive_before_rts() {
  End a;
  End b;
  a.connect(b.address());
  expect_works("to INIT", apply(b.qp.get(), init_step(IBV_QPT_RC)));
  b.post_receive(1);
  expect_works("to RTR", apply(b.qp.get(), rtr_step(IBV_QPT_RC, a.address())));
  b.post_receive(2);
  for (uint64_t id = 1; id <= 2; ++id) {
    Request(IBV_WR_SEND, id).piece(a.piece(0, 8)).post(a);
    expect_completion("a receive in RTR", b.received(), id, IBV_WC_RECV);
    expect_completion("its send", a.sent(), id, IBV_WC_SEND);
  }
}

void too_many_pieces() {
  Pair pair;
  Request request(IBV_WR_SEND, 1);
  for (uint32_t i = 0; i <= pair.a.plan.sges; ++i)
    request.piece(pair.a.piece(i * 8, 8));
  expect_error("a send of too many pieces", EINVAL, request.try_post(pair.a.qp.get()));
  std::vector<ibv_sge> sges(pair.a.plan.sges + 100, pair.a.piece(0, 8));
  expect_error("a receive of too many pieces", EINVAL,
               try_receive(pair.b.qp.get(), sges.data(), static_cast<int>(sges.size())));
  exchange(pair.a, pair.b, 2);
}

void inline_too_long() {
  Pair pair;
  expect(pair.a.plan.inline_bytes >= 64, "the device gave less inline data than asked for");
  Request request(IBV_WR_SEND, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
  request.piece(pair.a.piece(0, pair.a.plan.inline_bytes + 1));
  expect_error("too much inline data", EINVAL, request.try_post(pair.a.qp.get()));
  exchange(pair.a, pair.b, 2);
}

// The request is refused when it is posted, or else by an error of the queue pair. Devices differ
// in that.
void refused_somewhere(const std::string& what, End& end, Request& request) {
  const int error = request.try_post(end.qp.get());
  if (error != 0) {
    expect_error(what, EINVAL, error);
    return;
  }
  expect_status(what, IBV_WC_LOC_QP_OP_ERR, end.sent());
  await_state("ERR", end.qp.get(), IBV_QPS_ERR);
}

void unknown_opcode() {
  Pair pair;
  Request request(no_opcode(), 1);
  refused_somewhere("opcode 200", pair.a, request.piece(pair.a.piece(0, 8)));
}

void read_on_uc() {
  Plan plan;
  plan.type = IBV_QPT_UC;
  Pair pair(plan);
  Request read(IBV_WR_RDMA_READ, 1);
  read.piece(pair.a.piece(0, 8)).remote(pair.b.address());
  refused_somewhere("an RDMA read on UC", pair.a, read);
}

void write_on_ud() {
  Plan plan;
  plan.type = IBV_QPT_UD;
  End end(plan);
  end.connect(end.address());
  Request write(IBV_WR_RDMA_WRITE, 1);
  write.piece(end.piece(0, 8)).remote(end.address());
  refused_somewhere("an RDMA write on UD", end, write);
}

// The requests of a list before the bad one are posted, those from it on are not.
void bad_in_list() {
  Pair pair;
  for (uint64_t id = 1; id <= 3; ++id)
    pair.b.post_receive(id);
  ibv_sge sge = pair.a.piece(0, 8);
  ibv_send_wr list[3]{};
  for (int i = 0; i < 3; ++i) {
    list[i].wr_id = static_cast<uint64_t>(i + 1);
    list[i].next = i < 2 ? &list[i + 1] : nullptr;
    list[i].sg_list = &sge;
    list[i].num_sge = 1;
    list[i].opcode = IBV_WR_SEND;
    list[i].send_flags = IBV_SEND_SIGNALED;
  }
  std::vector<ibv_sge> too_many(pair.a.plan.sges + 1, sge);
  list[1].sg_list = too_many.data();
  list[1].num_sge = static_cast<int>(too_many.size());
  ibv_send_wr* bad = nullptr;
  expect_error("a list with too many pieces", EINVAL, ibv_post_send(pair.a.qp.get(), list, &bad));
  expect(bad == &list[1], "bad_wr does not point at the bad request");
  expect_completion("the request before it", pair.a.sent(), 1, IBV_WC_SEND);
  expect_completion("its receive", pair.b.received(), 1, IBV_WC_RECV);
  list[2].wr_id = 4;
  expect_works("posting the rest", ibv_post_send(pair.a.qp.get(), &list[2], &bad));
  expect_completion("the rest", pair.a.sent(), 4, IBV_WC_SEND);
}

void receive_list() {
  Pair pair;
  ibv_sge sges[3] = {pair.b.piece(0, 8), pair.b.piece(8, 8), pair.b.piece(16, 8)};
  ibv_recv_wr list[3]{};
  for (int i = 0; i < 3; ++i) {
    list[i].wr_id = static_cast<uint64_t>(i + 1);
    list[i].next = i < 2 ? &list[i + 1] : nullptr;
    list[i].sg_list = &sges[i];
    list[i].num_sge = 1;
  }
  ibv_recv_wr* bad = nullptr;
  expect_works("posting three receives", ibv_post_recv(pair.b.qp.get(), list, &bad));
  for (uint64_t id = 1; id <= 3; ++id) {
    Request(IBV_WR_SEND, id).piece(pair.a.piece(0, 8)).post(pair.a);
    expect_completion("a receive", pair.b.received(), id, IBV_WC_RECV);
  }
}

// In ERR posting works, and the request is flushed.
void send_in_error() {
  End end;
  end.connect(end.address());
  expect_works("to ERR", go_to(end.qp.get(), IBV_QPS_ERR));
  Request(IBV_WR_SEND, 1).piece(end.piece(0, 8)).post(end);
  const ibv_wc send = end.sent();
  expect_status("a send in ERR", IBV_WC_WR_FLUSH_ERR, send);
  expect_equal("wr_id of the send", uint64_t{1}, send.wr_id);
}

void receive_in_error() {
  End end;
  end.connect(end.address());
  expect_works("to ERR", go_to(end.qp.get(), IBV_QPS_ERR));
  end.post_receive(2);
  const ibv_wc receive = end.received();
  expect_status("a receive in ERR", IBV_WC_WR_FLUSH_ERR, receive);
  expect_equal("wr_id of the receive", uint64_t{2}, receive.wr_id);
}

void receive_beside_srq() {
  need_srq();
  const Pd pd = make_pd();
  const Srq srq = make_srq(pd.get(), 8);
  Plan plan;
  plan.pd = pd.get();
  plan.srq = srq.get();
  End end(plan);
  end.connect(end.address());
  ibv_sge sge = end.piece(0, 8);
  expect_any_error("a receive on a queue pair with an SRQ", try_receive(end.qp.get(), &sge, 1));
}

constexpr Case kCases[] = {
    {"posting.send-too-early", send_too_early},
    {"posting.receive-in-reset", receive_in_reset},
    {"posting.receive-before-rts", receive_before_rts},
    {"posting.too-many-pieces", too_many_pieces},
    {"posting.inline-too-long", inline_too_long},
    {"posting.unknown-opcode", unknown_opcode},
    {"posting.read-on-uc", read_on_uc},
    {"posting.write-on-ud", write_on_ud},
    {"posting.bad-in-list", bad_in_list},
    {"posting.receive-list", receive_list},
    {"posting.send-in-error", send_in_error},
    {"posting.receive-in-error", receive_in_error},
    {"posting.receive-beside-srq", receive_beside_srq},
};

}  // namespace

std::span<const Case> posting_cases() {
  return kCases;
}

}  // namespace semantics
