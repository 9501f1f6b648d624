// Judges sends and receives on connected queue pairs, reliable and unreliable ones.
#include <cstring>
#include <string>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

Plan of(ibv_qp_type type) {
  Plan plan;
  plan.type = type;
  return plan;
}

// Sends one message of `length` bytes and checks all that its two completions say.
void message(ibv_qp_type type, uint32_t length, unsigned flags) {
  Pair pair(of(type));
  pair.a.fill(0, length, 5);
  std::memset(pair.b.bytes(), 0, kBufferSize);
  pair.b.post_receive(11, 256, length + 64);
  Request(IBV_WR_SEND, 12, IBV_SEND_SIGNALED | flags).piece(pair.a.piece(0, length)).post(pair.a);
  if ((flags & IBV_SEND_INLINE) != 0) pair.a.fill(0, length, 77);  // posting took it
  expect_completion("the send", pair.a.sent(), 12, IBV_WC_SEND);
  const ibv_wc wc = pair.b.received();
  expect_completion("the receive", wc, 11, IBV_WC_RECV);
  expect_equal("byte_len", length, wc.byte_len);
  expect_equal("qp_num", pair.b.qp->qp_num, wc.qp_num);
  expect_equal("immediate flag", 0U, wc.wc_flags & IBV_WC_WITH_IMM);
  pair.b.expect_bytes("data", 256, length, 5);
  expect_equal("the byte before it", uint8_t{0}, *pair.b.bytes(255));
  expect_equal("the byte behind it", uint8_t{0}, *pair.b.bytes(256 + length));
}

void rc_send() {
  message(IBV_QPT_RC, 100, 0);
}
void rc_long() {
  message(IBV_QPT_RC, 50001, 0);
}
void rc_inline() {
  message(IBV_QPT_RC, 64, IBV_SEND_INLINE);
}
void uc_send() {
  message(IBV_QPT_UC, 100, 0);
}
void uc_long() {
  message(IBV_QPT_UC, 20001, 0);
}
void uc_inline() {
  message(IBV_QPT_UC, 64, IBV_SEND_INLINE);
}

// Inline data may be in memory that no region covers.
void inline_unregistered() {
  Pair pair;
  char text[] = "not registered";
  ibv_sge sge{reinterpret_cast<uint64_t>(text), sizeof text, 0};
  pair.b.post_receive(1);
  Request(IBV_WR_SEND, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE).piece(sge).post(pair.a);
  expect_completion("the send", pair.a.sent(), 1, IBV_WC_SEND);
  pair.b.received();
  expect(std::memcmp(pair.b.bytes(), text, sizeof text) == 0, "the data differ");
}

void pieces(unsigned flags) {
  Pair pair;
  pair.a.fill(0, 60, 1);
  ibv_sge targets[2] = {pair.b.piece(0, 25), pair.b.piece(100, 100)};
  ibv_recv_wr receive{};
  receive.wr_id = 1;
  receive.sg_list = targets;
  receive.num_sge = 2;
  ibv_recv_wr* bad = nullptr;
  expect_works("ibv_post_recv", ibv_post_recv(pair.b.qp.get(), &receive, &bad));
  Request(IBV_WR_SEND, 2, IBV_SEND_SIGNALED | flags)
      .piece(pair.a.piece(0, 10))
      .piece(pair.a.piece(10, 0))
      .piece(pair.a.piece(10, 20))
      .piece(pair.a.piece(30, 30))
      .post(pair.a);
  expect_completion("the send", pair.a.sent(), 2, IBV_WC_SEND);
  expect_equal("byte_len", 60U, pair.b.received().byte_len);
  pair.b.expect_bytes("the first piece", 0, 25, 1);
  pair.b.expect_bytes("the second piece", 100, 35, static_cast<uint8_t>(1 + 25 * 7));
}

void several_pieces() {
  pieces(0);
}
void several_pieces_inline() {
  pieces(IBV_SEND_INLINE);
}

void empty_message(ibv_qp_type type) {
  Pair pair(of(type));
  pair.b.post_receive(1);
  Request(IBV_WR_SEND, 2).post(pair.a);
  expect_completion("a send of no pieces", pair.a.sent(), 2, IBV_WC_SEND);
  const ibv_wc wc = pair.b.received();
  expect_completion("its receive", wc, 1, IBV_WC_RECV);
  expect_equal("byte_len", 0U, wc.byte_len);
}

void rc_empty() {
  empty_message(IBV_QPT_RC);
}
void uc_empty() {
  empty_message(IBV_QPT_UC);
}

void empty_receive() {
  Pair pair;
  ibv_recv_wr receive{};
  receive.wr_id = 1;
  ibv_recv_wr* bad = nullptr;
  expect_works("ibv_post_recv", ibv_post_recv(pair.b.qp.get(), &receive, &bad));
  Request(IBV_WR_SEND_WITH_IMM, 2).immediate(9).post(pair.a);
  const ibv_wc wc = pair.b.received();
  expect_completion("a receive without memory", wc, 1, IBV_WC_RECV);
  expect_equal("immediate data", 9U, be32toh(wc.imm_data));
}

void immediate(ibv_qp_type type) {
  Pair pair(of(type));
  pair.b.post_receive(1);
  pair.a.fill(0, 16, 2);
  Request(IBV_WR_SEND_WITH_IMM, 2).immediate(0xdeadbeef).piece(pair.a.piece(0, 16)).post(pair.a);
  expect_completion("the send", pair.a.sent(), 2, IBV_WC_SEND);
  const ibv_wc wc = pair.b.received();
  expect_completion("the receive", wc, 1, IBV_WC_RECV);
  expect((wc.wc_flags & IBV_WC_WITH_IMM) != 0, "IBV_WC_WITH_IMM is not set");
  expect_equal("immediate data", 0xdeadbeefU, be32toh(wc.imm_data));
  expect_equal("byte_len", 16U, wc.byte_len);
  pair.b.expect_bytes("data", 0, 16, 2);
}

void rc_immediate() {
  immediate(IBV_QPT_RC);
}
void uc_immediate() {
  immediate(IBV_QPT_UC);
}

void many_in_order(ibv_qp_type type) {
  Pair pair(of(type));
  for (uint64_t id = 0; id < 32; ++id)
    pair.b.post_receive(id, 2048 * id, 2048);
  for (uint64_t id = 0; id < 32; ++id) {
    const auto length = static_cast<uint32_t>(id * 61);
    pair.a.fill(2048 * id, length, static_cast<uint8_t>(id));
    Request(IBV_WR_SEND, id).piece(pair.a.piece(2048 * id, length)).post(pair.a);
  }
  uint64_t next = 0;
  for (const ibv_wc& wc : await(pair.b.recv_cq, 32, "32 receives")) {
    expect_completion("receive " + std::to_string(next), wc, next, IBV_WC_RECV);
    expect_equal("its byte_len", next * 61, wc.byte_len);
    pair.b.expect_bytes("its data", 2048 * next, wc.byte_len, static_cast<uint8_t>(next));
    ++next;
  }
}

void rc_many() {
  many_in_order(IBV_QPT_RC);
}
void uc_many() {
  many_in_order(IBV_QPT_UC);
}

// Messages of all sizes go several times round every queue, with a few under way at a time.
void long_run() {
  Pair pair;
  constexpr uint64_t kMessages = 600;
  constexpr uint64_t kWindow = 8;
  const auto length_of = [](uint64_t id) { return static_cast<uint32_t>(id * 617 % 7000); };
  const auto place_of = [](uint64_t id) { return id % kWindow * 7168; };
  uint64_t posted = 0;
  for (; posted < kWindow; ++posted)
    pair.b.post_receive(posted, place_of(posted), 7168);
  for (uint64_t id = 0; id < kWindow; ++id) {
    pair.a.fill(place_of(id), length_of(id), static_cast<uint8_t>(id));
    Request(IBV_WR_SEND, id).piece(pair.a.piece(place_of(id), length_of(id))).post(pair.a);
  }
  for (uint64_t id = 0; id < kMessages; ++id) {
    const ibv_wc wc = pair.b.received();
    expect_completion("a receive", wc, id, IBV_WC_RECV);
    expect_equal("its byte_len", length_of(id), wc.byte_len);
    pair.b.expect_bytes("its data", place_of(id), wc.byte_len, static_cast<uint8_t>(id));
    expect_completion("a send", pair.a.sent(), id, IBV_WC_SEND);
    const uint64_t next = id + kWindow;
    if (next >= kMessages) continue;
    pair.b.post_receive(next, place_of(next), 7168);
    pair.a.fill(place_of(next), length_of(next), static_cast<uint8_t>(next));
    Request(IBV_WR_SEND, next).piece(pair.a.piece(place_of(next), length_of(next))).post(pair.a);
  }
}

void both_directions() {
  Pair pair;
  for (uint64_t id = 1; id <= 8; ++id) {
    pair.a.post_receive(id);
    pair.b.post_receive(id);
  }
  for (uint64_t id = 1; id <= 8; ++id) {
    Request(IBV_WR_SEND, id).piece(pair.a.piece(4096, 8)).post(pair.a);
    Request(IBV_WR_SEND, id).piece(pair.b.piece(4096, 8)).post(pair.b);
  }
  for (End* end : {&pair.a, &pair.b}) {
    for (uint64_t id = 1; id <= 8; ++id) {
      expect_completion("a send", end->sent(), id, IBV_WC_SEND);
      expect_completion("a receive", end->received(), id, IBV_WC_RECV);
    }
  }
}

void to_itself() {
  End end;
  end.connect(end.address());
  end.fill(0, 32, 8);
  end.post_receive(1, 512);
  Request(IBV_WR_SEND, 2).piece(end.piece(0, 32)).post(end);
  expect_completion("the send", end.sent(), 2, IBV_WC_SEND);
  expect_completion("the receive", end.received(), 1, IBV_WC_RECV);
  end.expect_bytes("data", 512, 32, 8);
}

// The receives of both pairs share one completion queue. Each completion names its queue pair.
void shared_cq() {
  const Cq cq = make_cq(64);
  Plan plan;
  plan.recv_cq = cq.get();
  Pair first(plan);
  Pair second(plan);
  first.b.post_receive(1);
  second.b.post_receive(2);
  Request(IBV_WR_SEND, 3).piece(second.a.piece(0, 8)).post(second.a);
  ibv_wc wc = await_one(cq.get(), "the receive of the second pair");
  expect_equal("qp_num", second.b.qp->qp_num, wc.qp_num);
  expect_completion("it", wc, 2, IBV_WC_RECV);
  Request(IBV_WR_SEND, 4).piece(first.a.piece(0, 8)).post(first.a);
  wc = await_one(cq.get(), "the receive of the first pair");
  expect_equal("qp_num", first.b.qp->qp_num, wc.qp_num);
  expect_completion("it", wc, 1, IBV_WC_RECV);
}

void two_contexts() {
  // Unrelated programs may open both ends of a device: they share nothing but the fabric.
  const Device other = open_device();
  const Pd pd(ibv_alloc_pd(other.context.get()));
  expect(pd != nullptr, "ibv_alloc_pd failed");
  const Cq cq(ibv_create_cq(other.context.get(), 16, nullptr, nullptr, 0));
  expect(cq != nullptr, "ibv_create_cq failed");
  std::vector<uint8_t> memory(4096);
  const Mr mr(ibv_reg_mr(pd.get(), memory.data(), memory.size(), kAllAccess));
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq.get();
  init.cap = {4, 4, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  const Qp qp(ibv_create_qp(pd.get(), &init));
  expect(qp != nullptr, "ibv_create_qp failed");
  End end;
  Address peer = end.address();
  peer.qp_num = qp->qp_num;
  end.connect(peer);
  expect_works("to INIT", apply(qp.get(), init_step(IBV_QPT_RC)));
  expect_works("to RTR", apply(qp.get(), rtr_step(IBV_QPT_RC, end.address())));
  expect_works("to RTS", apply(qp.get(), rts_step(IBV_QPT_RC)));
  end.post_receive(1);
  memory[0] = 42;
  ibv_sge sge{reinterpret_cast<uint64_t>(memory.data()), 1, mr->lkey};
  expect_works("posting a send", Request(IBV_WR_SEND, 2).piece(sge).try_post(qp.get()));
  expect_completion("the send", await_one(cq.get(), "the send"), 2, IBV_WC_SEND);
  expect_completion("the receive", end.received(), 1, IBV_WC_RECV);
  expect_equal("data", uint8_t{42}, *end.bytes());
}

// An unreliable sender never learns that no receive took its message.
void uc_no_receive() {
  Pair pair(of(IBV_QPT_UC));
  Request(IBV_WR_SEND, 1).piece(pair.a.piece(0, 8)).post(pair.a);
  expect_completion("a send to nobody", pair.a.sent(), 1, IBV_WC_SEND);
  pair.a.fill(0, 8, 6);
  exchange(pair.a, pair.b, 2);
}

constexpr Case kCases[] = {
    {"transfers.rc-send", rc_send},
    {"transfers.rc-long", rc_long},
    {"transfers.rc-inline", rc_inline},
    {"transfers.rc-empty", rc_empty},
    {"transfers.rc-immediate", rc_immediate},
    {"transfers.rc-many", rc_many},
    {"transfers.uc-send", uc_send},
    {"transfers.uc-long", uc_long},
    {"transfers.uc-inline", uc_inline},
    {"transfers.uc-empty", uc_empty},
    {"transfers.uc-immediate", uc_immediate},
    {"transfers.uc-many", uc_many},
    {"transfers.uc-no-receive", uc_no_receive},
    {"transfers.inline-unregistered", inline_unregistered},
    {"transfers.several-pieces", several_pieces},
    {"transfers.several-pieces-inline", several_pieces_inline},
    {"transfers.empty-receive", empty_receive},
    {"transfers.both-directions", both_directions},
    {"transfers.long-run", long_run},
    {"transfers.to-itself", to_itself},
    {"transfers.shared-cq", shared_cq},
    {"transfers.two-contexts", two_contexts},
};

}  // namespace

std::span<const Case> transfer_cases() {
  return kCases;
}

}  // namespace semantics
