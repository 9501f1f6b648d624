// Judges the extended interfaces: building requests by calls (ibv_wr_*), and reading completions by
// calls.
#include <cerrno>
#include <cstring>
#include <string>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

constexpr uint64_t kAllOps = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                             IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                             IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                             IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
constexpr uint64_t kDatagramOps = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;

// A pair with a sending end that was made by ibv_create_qp_ex.
struct Extended {
  explicit Extended(ibv_qp_type type = IBV_QPT_RC, uint32_t depth = 16) : b(plan_of(type)) {
    Plan plan = plan_of(type);
    a = std::make_unique<End>(plan);
    ibv_qp_init_attr_ex init{};
    init.send_cq = a->send_cq.get();
    init.recv_cq = a->recv_cq;
    init.cap = {depth, 16, 4, 4, 64};
    init.qp_type = type;
    init.pd = a->pd;
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.send_ops_flags = type == IBV_QPT_UD ? kDatagramOps : kAllOps;
    errno = 0;
    a->qp.reset(ibv_create_qp_ex(device().context.get(), &init));
    if (a->qp == nullptr && (errno == EOPNOTSUPP || errno == ENOSYS)) {
      skip("device lacks the extended post interface");
    }
    expect(a->qp != nullptr, std::string("ibv_create_qp_ex failed: ") + std::strerror(errno));
    a->plan.send_depth = init.cap.max_send_wr;
    ex = ibv_qp_to_qp_ex(a->qp.get());
    expect(ex != nullptr, "ibv_qp_to_qp_ex gave nothing");
    a->connect(b.address());
    b.connect(a->address());
    std::memset(b.bytes(), 0, kBufferSize);
  }
  static Plan plan_of(ibv_qp_type type) {
    Plan plan;
    plan.type = type;
    return plan;
  }
  void start(uint64_t id, unsigned flags = IBV_SEND_SIGNALED) {
    ibv_wr_start(ex);
    next(id, flags);
  }
  void next(uint64_t id, unsigned flags = IBV_SEND_SIGNALED) {
    ex->wr_id = id;
    ex->wr_flags = flags;
  }
  void piece(size_t offset, uint32_t length) {
    const ibv_sge sge = a->piece(offset, length);
    ibv_wr_set_sge(ex, sge.lkey, sge.addr, sge.length);
  }
  void complete() { expect_works("ibv_wr_complete", ibv_wr_complete(ex)); }

  std::unique_ptr<End> a;
  End b;
  ibv_qp_ex* ex = nullptr;
};

void send() {
  Extended ends;
  ends.a->fill(0, 100, 7);
  ends.b.post_receive(1);
  ends.start(2);
  ibv_wr_send(ends.ex);
  ends.piece(0, 100);
  ends.complete();
  expect_completion("the send", ends.a->sent(), 2, IBV_WC_SEND);
  expect_equal("byte_len", 100U, ends.b.received().byte_len);
  ends.b.expect_bytes("data", 0, 100, 7);
}

void send_immediate() {
  Extended ends;
  ends.b.post_receive(1);
  ends.start(2);
  ibv_wr_send_imm(ends.ex, htobe32(0x11223344));
  ends.piece(0, 8);
  ends.complete();
  const ibv_wc wc = ends.b.received();
  expect((wc.wc_flags & IBV_WC_WITH_IMM) != 0, "IBV_WC_WITH_IMM is not set");
  expect_equal("immediate data", 0x11223344U, be32toh(wc.imm_data));
}

void pieces() {
  Extended ends;
  ends.a->fill(0, 60, 7);
  ends.b.post_receive(1);
  const ibv_sge sges[3] = {ends.a->piece(0, 10), ends.a->piece(10, 20), ends.a->piece(30, 30)};
  ends.start(2);
  ibv_wr_send(ends.ex);
  ibv_wr_set_sge_list(ends.ex, 3, sges);
  ends.complete();
  ends.b.received();
  ends.b.expect_bytes("data", 0, 60, 7);
}

void inlined() {
  Extended ends;
  ends.b.post_receive(1);
  char text[] = "inline";
  ends.start(1);
  ibv_wr_send(ends.ex);
  ibv_wr_set_inline_data(ends.ex, text, 6);
  std::memset(text, 'x', 6);
  ends.complete();
  expect_equal("byte_len", 6U, ends.b.received().byte_len);
  expect(std::memcmp(ends.b.bytes(), "inline", 6) == 0, "the data differ");
}

void inlined_pieces() {
  Extended ends;
  ends.b.post_receive(1);
  char first[] = "first ";
  char second[] = "second";
  const ibv_data_buf buffers[2] = {{first, 6}, {second, 6}};
  ends.start(1);
  ibv_wr_send(ends.ex);
  ibv_wr_set_inline_data_list(ends.ex, 2, buffers);
  std::memset(second, 'x', 6);
  ends.complete();
  expect_equal("byte_len", 12U, ends.b.received().byte_len);
  expect(std::memcmp(ends.b.bytes(), "first second", 12) == 0, "the data differ");
}

void remote_operations() {
  Extended ends;
  const Address peer = ends.b.address();
  ends.a->fill(0, 64, 7);
  ends.b.post_receive(1);
  *reinterpret_cast<uint64_t*>(ends.b.bytes(4096)) = 40;
  ends.start(1);
  ibv_wr_rdma_write(ends.ex, peer.rkey, peer.memory + 256);
  ends.piece(0, 64);
  ends.next(2);
  ibv_wr_rdma_write_imm(ends.ex, peer.rkey, peer.memory + 1024, htobe32(5));
  ends.piece(0, 64);
  ends.next(3);
  ibv_wr_rdma_read(ends.ex, peer.rkey, peer.memory + 256);
  ends.piece(512, 64);
  ends.next(4);
  ibv_wr_atomic_fetch_add(ends.ex, peer.rkey, peer.memory + 4096, 2);
  ends.piece(2048, 8);
  ends.next(5);
  ibv_wr_atomic_cmp_swp(ends.ex, peer.rkey, peer.memory + 4096, 42, 77);
  ends.piece(2056, 8);
  ends.complete();
  const ibv_wc_opcode opcodes[] = {IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
                                   IBV_WC_FETCH_ADD, IBV_WC_COMP_SWAP};
  for (uint64_t id = 1; id <= 5; ++id) {
    expect_completion("request " + std::to_string(id), ends.a->sent(), id, opcodes[id - 1]);
  }
  expect_completion("the receive", ends.b.received(), 1, IBV_WC_RECV_RDMA_WITH_IMM);
  ends.b.expect_bytes("written", 256, 64, 7);
  ends.b.expect_bytes("written with immediate data", 1024, 64, 7);
  ends.a->expect_bytes("read", 512, 64, 7);
  expect_equal("fetched", uint64_t{40}, *reinterpret_cast<uint64_t*>(ends.a->bytes(2048)));
  expect_equal("compared", uint64_t{42}, *reinterpret_cast<uint64_t*>(ends.a->bytes(2056)));
  expect_equal("swapped", uint64_t{77}, *reinterpret_cast<uint64_t*>(ends.b.bytes(4096)));
}

// No request of an aborted list is posted, and its places are free.
void aborted() {
  Extended ends;
  ends.b.post_receive(1);
  ends.start(1);
  ibv_wr_send(ends.ex);
  ends.piece(0, 8);
  ibv_wr_abort(ends.ex);
  ends.start(2);
  ibv_wr_send_imm(ends.ex, htobe32(6));
  ends.piece(0, 8);
  ends.complete();
  expect_completion("the send after it", ends.a->sent(), 2, IBV_WC_SEND);
  expect_equal("immediate data", 6U, be32toh(ends.b.received().imm_data));
  expect_empty("the aborted send", ends.a->send_cq.get());
}

// A list that does not fit is refused as a whole.
void too_many() {
  Extended ends(IBV_QPT_RC, 4);
  if (ends.a->plan.send_depth > 2048) skip("device has no shallow send queues");
  ibv_wr_start(ends.ex);
  for (uint32_t i = 0; i <= ends.a->plan.send_depth; ++i) {
    ends.next(i);
    ibv_wr_send(ends.ex);
    ends.piece(0, 8);
  }
  expect_error("ibv_wr_complete", ENOMEM, ibv_wr_complete(ends.ex));
  ends.b.post_receive(1);
  ends.start(99);
  ibv_wr_send(ends.ex);
  ends.piece(0, 8);
  ends.complete();
  expect_completion("the send after it", ends.a->sent(), 99, IBV_WC_SEND);
}

void datagram() {
  Extended ends(IBV_QPT_UD);
  ibv_ah_attr attr = route_to(ends.b.address());
  const Ah ah(ibv_create_ah(ends.a->pd, &attr));
  expect(ah != nullptr, "ibv_create_ah failed");
  ends.a->fill(0, 32, 7);
  ends.b.post_receive(1);
  ends.start(2);
  ibv_wr_send(ends.ex);
  ibv_wr_set_ud_addr(ends.ex, ah.get(), ends.b.qp->qp_num, kQkey);
  ends.piece(0, 32);
  ends.complete();
  expect_completion("the send", ends.a->sent(), 2, IBV_WC_SEND);
  expect_equal("src_qp", ends.a->qp->qp_num, ends.b.received().src_qp);
  ends.b.expect_bytes("data", 40, 32, 7);
}

// The old interface works on the same queue pair.
void both_interfaces() {
  Extended ends;
  ends.b.post_receive(1);
  ends.b.post_receive(2);
  Request(IBV_WR_SEND, 1).piece(ends.a->piece(0, 8)).post(*ends.a);
  ends.start(2);
  ibv_wr_send(ends.ex);
  ends.piece(0, 8);
  ends.complete();
  for (uint64_t id = 1; id <= 2; ++id) {
    expect_completion("a send", ends.a->sent(), id, IBV_WC_SEND);
    expect_completion("a receive", ends.b.received(), id, IBV_WC_RECV);
  }
}

ibv_cq_ex* make_extended_cq(int depth) {
  ibv_cq_init_attr_ex init{};
  init.cqe = static_cast<uint32_t>(depth);
  init.wc_flags = IBV_WC_STANDARD_FLAGS;
  errno = 0;
  ibv_cq_ex* cq = ibv_create_cq_ex(device().context.get(), &init);
  if (cq == nullptr && (errno == EOPNOTSUPP || errno == ENOSYS)) {
    skip("device lacks extended completion queues");
  }
  expect(cq != nullptr, std::string("ibv_create_cq_ex failed: ") + std::strerror(errno));
  return cq;
}

int start_poll(ibv_cq_ex* cq) {
  ibv_poll_cq_attr attr{};
  return ibv_start_poll(cq, &attr);
}

void poll_extended() {
  ibv_cq_ex* cq = make_extended_cq(16);
  const Cq owner(ibv_cq_ex_to_cq(cq));
  Plan plan;
  plan.recv_cq = owner.get();
  Pair pair(Plan{}, plan);
  expect_error("polling an empty CQ", ENOENT, start_poll(cq));
  for (uint32_t id = 1; id <= 3; ++id) {
    pair.b.post_receive(id);
    Request(IBV_WR_SEND_WITH_IMM, id)
        .immediate(50 + id)
        .piece(pair.a.piece(0, 10 * id))
        .post(pair.a);
    expect_completion("a send", pair.a.sent(), id, IBV_WC_SEND);
  }
  waiting_for("a completion by ibv_start_poll");
  // If a send has completed, the completion of its receive may still be missing.
  const auto start = [&] {
    int error = start_poll(cq);
    while (error == ENOENT)
      error = start_poll(cq);
    expect_works("ibv_start_poll", error);
  };
  start();
  for (uint32_t id = 1; id <= 3; ++id) {
    expect_equal("wr_id", uint64_t{id}, cq->wr_id);
    expect_equal("status", static_cast<int>(IBV_WC_SUCCESS), static_cast<int>(cq->status));
    expect_equal("opcode", static_cast<int>(IBV_WC_RECV), static_cast<int>(ibv_wc_read_opcode(cq)));
    expect_equal("byte_len", 10 * id, ibv_wc_read_byte_len(cq));
    expect_equal("imm_data", 50 + id, be32toh(ibv_wc_read_imm_data(cq)));
    expect_equal("qp_num", pair.b.qp->qp_num, ibv_wc_read_qp_num(cq));
    expect((ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM) != 0, "IBV_WC_WITH_IMM is not set");
    const int next = ibv_next_poll(cq);
    if (id == 3 || next != ENOENT) {
      expect_error("ibv_next_poll", id == 3 ? ENOENT : 0, next);
      continue;
    }
    ibv_end_poll(cq);
    start();
  }
  ibv_end_poll(cq);
  expect_error("polling the emptied CQ", ENOENT, start_poll(cq));
}

void extended_cq_by_old_poll() {
  const Cq owner(ibv_cq_ex_to_cq(make_extended_cq(16)));
  Plan plan;
  plan.recv_cq = owner.get();
  Pair pair(Plan{}, plan);
  exchange(pair.a, pair.b, 5);
}

constexpr Case kCases[] = {
    {"extended.send", send},
    {"extended.send-immediate", send_immediate},
    {"extended.pieces", pieces},
    {"extended.inline", inlined},
    {"extended.inline-pieces", inlined_pieces},
    {"extended.remote-operations", remote_operations},
    {"extended.aborted", aborted},
    {"extended.too-many", too_many},
    {"extended.datagram", datagram},
    {"extended.both-interfaces", both_interfaces},
    {"extended.poll", poll_extended},
    {"extended.cq-by-old-poll", extended_cq_by_old_poll},
};

}  // namespace

std::span<const Case> extended_cases() {
  return kCases;
}

}  // namespace semantics
