// Judges keys, ranges, access rights and protection domains: what must not be reached, and which
// end is told.
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

// The request must fail at its own end with this status, and the queue pair must enter ERR.
void fails_here(Pair& pair, Request& request, ibv_wc_status status) {
  request.post(pair.a);
  const ibv_wc wc = pair.a.sent();
  expect_status("the request", status, wc);
  expect_equal("wr_id", request.wr.wr_id, wc.wr_id);
  expect_equal("qp_num", pair.a.qp->qp_num, wc.qp_num);
  await_state("ERR of the sender", pair.a.qp.get(), IBV_QPS_ERR);
}

// The target must refuse the request. The sender is told, and both queue pairs enter ERR.
void refused_there(Pair& pair, Request& request) {
  pair.b.post_receive(77);
  fails_here(pair, request, IBV_WC_REM_ACCESS_ERR);
  await_state("ERR of the target", pair.b.qp.get(), IBV_QPS_ERR);
  const ibv_wc flushed = pair.b.received("the target's receive, flushed");
  expect_status("the target's receive", IBV_WC_WR_FLUSH_ERR, flushed);
  expect_equal("wr_id of the receive", uint64_t{77}, flushed.wr_id);
}

void bad_lkey() {
  Pair pair;
  pair.b.post_receive(1);
  ibv_sge sge = pair.a.piece(0, 8);
  sge.lkey ^= 0x5500;
  fails_here(pair, Request(IBV_WR_SEND, 1).piece(sge), IBV_WC_LOC_PROT_ERR);
}

void beyond_own_region() {
  Pair pair;
  pair.b.post_receive(1);
  fails_here(pair, Request(IBV_WR_SEND, 1).piece(pair.a.piece(kBufferSize - 4, 8)),
             IBV_WC_LOC_PROT_ERR);
}

void before_own_region() {
  Pair pair;
  pair.b.post_receive(1);
  ibv_sge sge = pair.a.piece(0, 8);
  sge.addr -= 4;
  fails_here(pair, Request(IBV_WR_SEND, 1).piece(sge), IBV_WC_LOC_PROT_ERR);
}

void own_region_gone() {
  Pair pair;
  pair.b.post_receive(1);
  const ibv_sge sge = pair.a.piece(0, 8);
  pair.a.mr.reset();
  fails_here(pair, Request(IBV_WR_SEND, 1).piece(sge), IBV_WC_LOC_PROT_ERR);
}

void lkey_of_other_domain() {
  Pair pair;
  const End stranger;
  pair.b.post_receive(1);
  fails_here(pair, Request(IBV_WR_SEND, 1).piece(stranger.piece(0, 8)), IBV_WC_LOC_PROT_ERR);
}

// A read writes into its own memory: the region must allow it.
void read_into_readonly() {
  Pair pair;
  const Mr readonly(ibv_reg_mr(pair.a.pd, pair.a.bytes(), 4096, 0));
  expect(readonly != nullptr, "ibv_reg_mr failed");
  ibv_sge sge = pair.a.piece(0, 8);
  sge.lkey = readonly->lkey;
  Request read(IBV_WR_RDMA_READ, 1);
  read.piece(sge).remote(pair.b.address());
  fails_here(pair, read, IBV_WC_LOC_PROT_ERR);
}

void send_from_readonly() {
  Pair pair;
  const Mr readonly(ibv_reg_mr(pair.a.pd, pair.a.bytes(), 4096, 0));
  expect(readonly != nullptr, "ibv_reg_mr failed");
  ibv_sge sge = pair.a.piece(0, 8);
  sge.lkey = readonly->lkey;
  pair.b.post_receive(1);
  Request(IBV_WR_SEND, 1).piece(sge).post(pair.a);
  expect_completion("a send needs no rights", pair.a.sent(), 1, IBV_WC_SEND);
}

// The receiver is at fault: its receive fails, and the sender learns that the fault is the other
// end's.
void receive_fails(const std::function<ibv_sge(Pair&)>& target) {
  Pair pair;
  ibv_sge sge = target(pair);
  ibv_recv_wr receive{};
  receive.wr_id = 5;
  receive.sg_list = &sge;
  receive.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  expect_works("ibv_post_recv", ibv_post_recv(pair.b.qp.get(), &receive, &bad));
  Request(IBV_WR_SEND, 1).piece(pair.a.piece(0, 8)).post(pair.a);
  const ibv_wc wc = pair.b.received();
  expect_status("the receive", IBV_WC_LOC_PROT_ERR, wc);
  expect_equal("wr_id of the receive", uint64_t{5}, wc.wr_id);
  expect_status("the send", IBV_WC_REM_OP_ERR, pair.a.sent());
  await_state("ERR of the sender", pair.a.qp.get(), IBV_QPS_ERR);
  await_state("ERR of the receiver", pair.b.qp.get(), IBV_QPS_ERR);
}

void receive_bad_lkey() {
  receive_fails([](Pair& pair) {
    ibv_sge sge = pair.b.piece(0, 64);
    sge.lkey ^= 0x5500;
    return sge;
  });
}

void receive_into_readonly() {
  Mr readonly;
  receive_fails([&](Pair& pair) {
    readonly.reset(ibv_reg_mr(pair.b.pd, pair.b.bytes(), 4096, IBV_ACCESS_REMOTE_READ));
    expect(readonly != nullptr, "ibv_reg_mr failed");
    ibv_sge sge = pair.b.piece(0, 64);
    sge.lkey = readonly->lkey;
    return sge;
  });
}

void bad_rkey() {
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    Pair pair;
    Address peer = pair.b.address();
    peer.rkey ^= 0x5500;
    refused_there(pair, Request(opcode, 1).piece(pair.a.piece(0, 8)).remote(peer));
  }
}

void beyond_target() {
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    Pair pair;
    std::memset(pair.b.bytes(kBufferSize - 16), 9, 16);
    const Address peer = pair.b.address();
    refused_there(pair,
                  Request(opcode, 1).piece(pair.a.piece(0, 32)).remote(peer, kBufferSize - 16));
    expect_equal("a byte within the region", uint8_t{9}, *pair.b.bytes(kBufferSize - 16));
  }
}

void wraps_round() {
  Pair pair;
  Address peer = pair.b.address();
  peer.memory = UINT64_MAX - 3;
  refused_there(pair, Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.piece(0, 64)).remote(peer));
}

void target_gone() {
  Pair pair;
  const Address peer = pair.b.address();
  Mr other(ibv_reg_mr(pair.b.pd, pair.b.bytes(), kBufferSize, kAllAccess));
  expect(other != nullptr, "ibv_reg_mr failed");
  Address gone = peer;
  gone.rkey = other->rkey;
  ibv_mr* released = other.release();
  expect_works("ibv_dereg_mr", ibv_dereg_mr(released));
  refused_there(pair, Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.piece(0, 8)).remote(gone));
}

void rkey_of_other_domain() {
  Pair pair;
  End stranger;
  refused_there(pair,
                Request(IBV_WR_RDMA_WRITE, 1).piece(pair.a.piece(0, 8)).remote(stranger.address()));
  expect_equal("the stranger's memory", uint8_t{0}, *stranger.bytes());
}

// The region does not grant the right.
void region_denies(ibv_wr_opcode opcode, int given) {
  Pair pair;
  const Mr narrow(ibv_reg_mr(pair.b.pd, pair.b.bytes(), 4096, given));
  expect(narrow != nullptr, "ibv_reg_mr failed");
  Address peer = pair.b.address();
  peer.rkey = narrow->rkey;
  Request request(opcode, 1);
  request.piece(pair.a.piece(0, 8));
  if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    request.atomic(peer, 0, 1);
  } else {
    request.remote(peer);
  }
  refused_there(pair, request);
  expect_equal("the memory", uint8_t{0}, *pair.b.bytes());
}

void region_denies_write() {
  region_denies(IBV_WR_RDMA_WRITE,
                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
}
void region_denies_read() {
  region_denies(IBV_WR_RDMA_READ,
                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
}
void region_denies_atomic() {
  region_denies(IBV_WR_ATOMIC_FETCH_AND_ADD,
                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
}

// The queue pair does not grant the right. Devices differ in the status: both are refusals.
void queue_pair_denies(ibv_wr_opcode opcode, int given) {
  Plan target;
  target.qp_access = given;
  Pair pair(Plan{}, target);
  Request request(opcode, 1);
  request.piece(pair.a.piece(0, 8));
  if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    request.atomic(pair.b.address(), 0, 1);
  } else {
    request.remote(pair.b.address());
  }
  request.post(pair.a);
  const ibv_wc wc = pair.a.sent();
  expect(wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_REM_INV_REQ_ERR,
         std::string("expected a refusal by the target, came \"") + ibv_wc_status_str(wc.status) +
             "\"");
  expect_equal("the memory", uint8_t{0}, *pair.b.bytes());
}

void queue_pair_denies_write() {
  queue_pair_denies(IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
}
void queue_pair_denies_read() {
  queue_pair_denies(IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
}
void queue_pair_denies_atomic() {
  queue_pair_denies(IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}

void atomic_misaligned() {
  Pair pair;
  Request request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1);
  request.piece(pair.a.piece(0, 8)).atomic(pair.b.address(), 4, 1);
  const int error = request.try_post(pair.a.qp.get());
  if (error != 0) {  // some libraries check the address
    expect_error("a misaligned atomic", EINVAL, error);
  } else {
    expect_status("a misaligned atomic", IBV_WC_REM_INV_REQ_ERR, pair.a.sent());
    await_state("ERR of the sender", pair.a.qp.get(), IBV_QPS_ERR);
  }
  expect_equal("the memory", uint8_t{0}, *pair.b.bytes(4));
}

void atomic_beyond() {
  Pair pair;
  Request request(IBV_WR_ATOMIC_CMP_AND_SWP, 1);
  request.piece(pair.a.piece(0, 8)).atomic(pair.b.address(), kBufferSize, 0, 1);
  refused_there(pair, request);
}

// Rights for others to write make no sense without the right to write locally.
void register_wrong_rights() {
  const Pd pd = make_pd();
  uint8_t memory[64];
  for (const int access : {IBV_ACCESS_REMOTE_WRITE + 0, IBV_ACCESS_REMOTE_ATOMIC + 0}) {
    errno = 0;
    expect_refused("remote writing without local writing",
                   Mr(ibv_reg_mr(pd.get(), memory, sizeof memory, access)).get());
    expect_error("errno", EINVAL, errno);
  }
}

void register_no_memory() {
  const Pd pd = make_pd();
  errno = 0;
  expect_refused("memory that is not there",
                 Mr(ibv_reg_mr(pd.get(), reinterpret_cast<void*>(4096), 64, kAllAccess)).get());
  expect_error("errno", EFAULT, errno);
}

void regions_overlap() {
  const Pd pd = make_pd();
  uint8_t memory[128];
  const Mr first(ibv_reg_mr(pd.get(), memory, sizeof memory, kAllAccess));
  const Mr second(ibv_reg_mr(pd.get(), memory, sizeof memory, 0));
  expect(first != nullptr && second != nullptr, "ibv_reg_mr failed");
  expect(first->lkey != second->lkey, "two regions have one lkey");
  expect(first->addr == memory && first->length == sizeof memory, "the region's own range");
  expect(first->pd == pd.get() && first->context == device().context.get(), "its owners");
}

constexpr Case kCases[] = {
    {"protection.bad-lkey", bad_lkey},
    {"protection.beyond-own-region", beyond_own_region},
    {"protection.before-own-region", before_own_region},
    {"protection.own-region-gone", own_region_gone},
    {"protection.lkey-of-other-domain", lkey_of_other_domain},
    {"protection.read-into-readonly", read_into_readonly},
    {"protection.send-from-readonly", send_from_readonly},
    {"protection.receive-bad-lkey", receive_bad_lkey},
    {"protection.receive-into-readonly", receive_into_readonly},
    {"protection.bad-rkey", bad_rkey},
    {"protection.beyond-target", beyond_target},
    {"protection.wraps-round", wraps_round},
    {"protection.target-gone", target_gone},
    {"protection.rkey-of-other-domain", rkey_of_other_domain},
    {"protection.region-denies-write", region_denies_write},
    {"protection.region-denies-read", region_denies_read},
    {"protection.region-denies-atomic", region_denies_atomic},
    {"protection.queue-pair-denies-write", queue_pair_denies_write},
    {"protection.queue-pair-denies-read", queue_pair_denies_read},
    {"protection.queue-pair-denies-atomic", queue_pair_denies_atomic},
    {"protection.atomic-misaligned", atomic_misaligned},
    {"protection.atomic-beyond", atomic_beyond},
    {"protection.register-wrong-rights", register_wrong_rights},
    {"protection.register-no-memory", register_no_memory},
    {"protection.regions-overlap", regions_overlap},
};

}  // namespace

std::span<const Case> protection_cases() {
  return kCases;
}

}  // namespace semantics
