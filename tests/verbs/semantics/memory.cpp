// Judges RDMA writes, reads and atomics that work.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

uint64_t& word(End& end, size_t offset) {
  return *reinterpret_cast<uint64_t*>(end.bytes(offset));
}

void write(ibv_qp_type type, uint32_t length, unsigned flags) {
  Plan plan;
  plan.type = type;
  Pair pair(plan);
  pair.a.fill(0, length, 3);
  Request(IBV_WR_RDMA_WRITE, 1, IBV_SEND_SIGNALED | flags)
      .piece(pair.a.piece(0, length))
      .remote(pair.b.address(), 512)
      .post(pair.a);
  expect_completion("the write", pair.a.sent(), 1, IBV_WC_RDMA_WRITE);
  expect_empty("a write is silent at its target", pair.b.recv_cq);
  exchange(pair.a, pair.b, 2);  // on UC the write has arrived only now
  pair.b.expect_bytes("written", 512, std::min(length, 32000U), 3);
  expect_equal("the byte before it", uint8_t{0}, *pair.b.bytes(511));
}

void rc_write() {
  write(IBV_QPT_RC, 100, 0);
}
void rc_write_long() {
  write(IBV_QPT_RC, 32000, 0);
}
void rc_write_inline() {
  write(IBV_QPT_RC, 64, IBV_SEND_INLINE);
}
void uc_write() {
  write(IBV_QPT_UC, 5000, 0);
}

void write_immediate(uint32_t length) {
  Pair pair;
  pair.a.fill(0, length, 3);
  pair.b.fill(1024, 64, 40);
  pair.b.post_receive(7, 1024, 64);
  Request(IBV_WR_RDMA_WRITE_WITH_IMM, 1)
      .immediate(0x12345678)
      .piece(pair.a.piece(0, length))
      .remote(pair.b.address(), 8192)
      .post(pair.a);
  expect_completion("the write", pair.a.sent(), 1, IBV_WC_RDMA_WRITE);
  const ibv_wc wc = pair.b.received();
  expect_completion("the receive that it took", wc, 7, IBV_WC_RECV_RDMA_WITH_IMM);
  expect((wc.wc_flags & IBV_WC_WITH_IMM) != 0, "IBV_WC_WITH_IMM is not set");
  expect_equal("immediate data", 0x12345678U, be32toh(wc.imm_data));
  expect_equal("byte_len", length, wc.byte_len);
  pair.b.expect_bytes("written", 8192, length, 3);
  pair.b.expect_bytes("the receive's own memory", 1024, 64, 40);
}

void write_with_immediate() {
  write_immediate(3000);
}
void write_with_immediate_empty() {
  write_immediate(0);
}

void read(uint32_t length) {
  Pair pair;
  pair.b.fill(0, length, 60);
  Request(IBV_WR_RDMA_READ, 1)
      .piece(pair.a.piece(128, length))
      .remote(pair.b.address())
      .post(pair.a);
  const ibv_wc wc = pair.a.sent();
  expect_completion("the read", wc, 1, IBV_WC_RDMA_READ);
  pair.a.expect_bytes("read", 128, length, 60);
  expect_equal("the byte behind it", uint8_t{0}, *pair.a.bytes(128 + length));
  expect_empty("a read is silent at its target", pair.b.recv_cq);
}

void read_short() {
  read(100);
}
void read_long() {
  read(50000);
}

void gather_and_scatter() {
  Pair pair;
  pair.a.fill(0, 64, 1);
  Request(IBV_WR_RDMA_WRITE, 1)
      .piece(pair.a.piece(0, 10))
      .piece(pair.a.piece(10, 54))
      .remote(pair.b.address(), 300)
      .post(pair.a);
  expect_completion("the write", pair.a.sent(), 1, IBV_WC_RDMA_WRITE);
  pair.b.expect_bytes("written", 300, 64, 1);
  Request(IBV_WR_RDMA_READ, 2)
      .piece(pair.a.piece(4096, 7))
      .piece(pair.a.piece(8192, 57))
      .remote(pair.b.address(), 300)
      .post(pair.a);
  expect_completion("the read", pair.a.sent(), 2, IBV_WC_RDMA_READ);
  pair.a.expect_bytes("the first piece", 4096, 7, 1);
  pair.a.expect_bytes("the second piece", 8192, 57, static_cast<uint8_t>(1 + 7 * 7));
}

// For transfers of zero bytes, neither key nor address counts.
void empty_transfers() {
  Pair pair;
  Address nowhere = pair.b.address();
  nowhere.memory = 0;
  nowhere.rkey = 0;
  Request(IBV_WR_RDMA_WRITE, 1).remote(nowhere).post(pair.a);
  expect_completion("an empty write", pair.a.sent(), 1, IBV_WC_RDMA_WRITE);
  Request(IBV_WR_RDMA_READ, 2).remote(nowhere).post(pair.a);
  expect_completion("an empty read", pair.a.sent(), 2, IBV_WC_RDMA_READ);
}

// The case posts more reads than the responder answers at once. The rest wait.
void many_reads() {
  Plan plan;
  plan.rd_atomic = 1;
  Pair pair(plan);
  pair.b.fill(0, 32000, 1);
  for (uint64_t id = 0; id < 16; ++id) {
    Request(IBV_WR_RDMA_READ, id)
        .piece(pair.a.piece(id * 2000, 2000))
        .remote(pair.b.address(), id * 2000)
        .post(pair.a);
  }
  for (uint64_t id = 0; id < 16; ++id) {
    expect_completion("a read", pair.a.sent(), id, IBV_WC_RDMA_READ);
  }
  pair.a.expect_bytes("read", 0, 32000, 1);
}

void fetch_add() {
  Pair pair;
  word(pair.b, 64) = 0x0102030405060708;
  Request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1)
      .piece(pair.a.piece(0, 8))
      .atomic(pair.b.address(), 64, 0x1000)
      .post(pair.a);
  expect_completion("the addition", pair.a.sent(), 1, IBV_WC_FETCH_ADD);
  expect_equal("the old value", uint64_t{0x0102030405060708}, word(pair.a, 0));
  expect_equal("the new value", uint64_t{0x0102030405061708}, word(pair.b, 64));
}

void fetch_add_wraps() {
  Pair pair;
  word(pair.b, 64) = UINT64_MAX;
  Request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1)
      .piece(pair.a.piece(0, 8))
      .atomic(pair.b.address(), 64, 2)
      .post(pair.a);
  expect_completion("the addition", pair.a.sent(), 1, IBV_WC_FETCH_ADD);
  expect_equal("the new value", uint64_t{1}, word(pair.b, 64));
}

void compare_swap() {
  Pair pair;
  word(pair.b, 64) = 5;
  const uint64_t compares[] = {5, 5};
  const uint64_t olds[] = {5, 9};
  for (uint64_t i = 0; i < 2; ++i) {
    Request(IBV_WR_ATOMIC_CMP_AND_SWP, i)
        .piece(pair.a.piece(0, 8))
        .atomic(pair.b.address(), 64, compares[i], 9 + i)
        .post(pair.a);
    expect_completion("the swap", pair.a.sent(), i, IBV_WC_COMP_SWAP);
    expect_equal("the old value", olds[i], word(pair.a, 0));
    expect_equal("the value behind it", uint64_t{9}, word(pair.b, 64));
  }
}

// No addition is lost, and no two additions fetch the same value.
void two_adders() {
  const Pd pd = make_pd();
  Plan target;
  target.pd = pd.get();
  Pair first(Plan{}, target);
  Pair second(Plan{}, target);
  const Address peer = first.b.address();
  std::vector<bool> fetched(40);
  for (uint64_t round = 0; round < 10; ++round) {
    for (Pair* pair : {&first, &second}) {
      for (const size_t place : {0, 8}) {
        Request(IBV_WR_ATOMIC_FETCH_AND_ADD, place)
            .piece(pair->a.piece(place, 8))
            .atomic(peer, 0, 1)
            .post(pair->a);
      }
    }
    for (Pair* pair : {&first, &second}) {
      for (const size_t place : {0, 8}) {
        expect_completion("an addition", pair->a.sent(), place, IBV_WC_FETCH_ADD);
        const uint64_t old = word(pair->a, place);
        expect(old < 40 && !fetched[old], "the value " + std::to_string(old) + " came twice");
        fetched[old] = true;
      }
    }
  }
  expect_equal("the sum", uint64_t{40}, word(first.b, 0));
}

// The region's addresses need not be those of the memory.
void other_addresses() {
  Pair pair;
  // The addresses must have the same place within a page.
  const uint64_t base = 0x10000 + (reinterpret_cast<uint64_t>(pair.b.bytes()) & 4095);
  const Mr mr(ibv_reg_mr_iova(pair.b.pd, pair.b.bytes(), 8192, base, kAllAccess));
  expect(mr != nullptr, "ibv_reg_mr_iova failed");
  Address peer = pair.b.address();
  peer.memory = base;
  peer.rkey = mr->rkey;
  pair.a.fill(0, 100, 12);
  Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.piece(0, 100)).remote(peer, 200).post(pair.a);
  expect_completion("a write to them", pair.a.sent(), 1, IBV_WC_RDMA_WRITE);
  pair.b.expect_bytes("written", 200, 100, 12);
  pair.a.post_receive(2, 4096);
  ibv_sge sge{base + 200, 100, mr->lkey};
  Request(IBV_WR_SEND, 2).piece(sge).post(pair.b);
  expect_completion("a send from them", pair.b.sent(), 2, IBV_WC_SEND);
  pair.a.received();
  pair.a.expect_bytes("sent", 4096, 100, 12);
}

// A fenced send waits for the read before it, and sends the data of that read.
void fence_after_read() {
  Pair pair;
  for (uint8_t round = 0; round < 8; ++round) {
    pair.b.fill(0, 16000, round);
    std::memset(pair.a.bytes(), 0xee, 16000);
    pair.b.post_receive(round, 20000, 16000);
    Request(IBV_WR_RDMA_READ, 1, 0)
        .piece(pair.a.piece(0, 16000))
        .remote(pair.b.address())
        .post(pair.a);
    Request(IBV_WR_SEND, 2, IBV_SEND_SIGNALED | IBV_SEND_FENCE)
        .piece(pair.a.piece(0, 16000))
        .post(pair.a);
    expect_completion("the fenced send", pair.a.sent(), 2, IBV_WC_SEND);
    pair.b.received();
    pair.b.expect_bytes("what was read, sent back", 20000, 16000, round);
  }
}

void fence_after_atomic() {
  Pair pair;
  word(pair.b, 0) = 70;
  for (uint64_t round = 0; round < 8; ++round) {
    Request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0)
        .piece(pair.a.piece(0, 8))
        .atomic(pair.b.address(), 0, 1)
        .post(pair.a);
    Request(IBV_WR_RDMA_WRITE, 2, IBV_SEND_SIGNALED | IBV_SEND_FENCE)
        .piece(pair.a.piece(0, 8))
        .remote(pair.b.address(), 256)
        .post(pair.a);
    expect_completion("the fenced write", pair.a.sent(), 2, IBV_WC_RDMA_WRITE);
    expect_equal("what was fetched, written back", 70 + round, word(pair.b, 256));
  }
}

// If a send has arrived, the write before it has arrived too.
void write_then_send() {
  Pair pair;
  for (uint8_t round = 0; round < 8; ++round) {
    pair.a.fill(0, 16000, round);
    pair.b.post_receive(round, 20000);
    Request(IBV_WR_RDMA_WRITE, 1, 0)
        .piece(pair.a.piece(0, 16000))
        .remote(pair.b.address())
        .post(pair.a);
    Request(IBV_WR_SEND, 2).piece(pair.a.piece(0, 8)).post(pair.a);
    pair.b.received();
    pair.b.expect_bytes("written", 0, 16000, round);
    expect_completion("the send", pair.a.sent(), 2, IBV_WC_SEND);
  }
}

constexpr Case kCases[] = {
    {"memory.rc-write", rc_write},
    {"memory.rc-write-long", rc_write_long},
    {"memory.rc-write-inline", rc_write_inline},
    {"memory.uc-write", uc_write},
    {"memory.write-with-immediate", write_with_immediate},
    {"memory.write-with-immediate-empty", write_with_immediate_empty},
    {"memory.read", read_short},
    {"memory.read-long", read_long},
    {"memory.gather-and-scatter", gather_and_scatter},
    {"memory.empty-transfers", empty_transfers},
    {"memory.many-reads", many_reads},
    {"memory.fetch-add", fetch_add},
    {"memory.fetch-add-wraps", fetch_add_wraps},
    {"memory.compare-swap", compare_swap},
    {"memory.two-adders", two_adders},
    {"memory.other-addresses", other_addresses},
    {"memory.fence-after-read", fence_after_read},
    {"memory.fence-after-atomic", fence_after_atomic},
    {"memory.write-then-send", write_then_send},
};

}  // namespace

std::span<const Case> memory_cases() {
  return kCases;
}

}  // namespace semantics
