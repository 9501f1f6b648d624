#include "tests/verbs/semantics/ends.h"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

bool has_responder(ibv_qp_type type) {
  return type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;
}

bool has_requester(ibv_qp_type type) {
  return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
}

}  // namespace

Step init_step(ibv_qp_type type, int access) {
  Step step;
  step.attr.qp_state = IBV_QPS_INIT;
  step.attr.port_num = kPort;
  step.mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (type == IBV_QPT_UD) {
    step.attr.qkey = kQkey;
    step.mask |= IBV_QP_QKEY;
  } else {
    step.attr.qp_access_flags = static_cast<unsigned>(access);
    step.mask |= IBV_QP_ACCESS_FLAGS;
  }
  return step;
}

Step rtr_step(ibv_qp_type type, const Address& peer, const Plan& plan) {
  Step step;
  step.attr.qp_state = IBV_QPS_RTR;
  step.mask = IBV_QP_STATE;
  if (type == IBV_QPT_UD) return step;
  step.attr.ah_attr = route_to(peer);
  step.attr.path_mtu = std::min(IBV_MTU_1024, device().port.active_mtu);
  step.attr.dest_qp_num = peer.qp_num;
  step.attr.rq_psn = peer.psn;
  step.mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (has_responder(type)) {
    step.attr.max_dest_rd_atomic = plan.rd_atomic;
    step.attr.min_rnr_timer = 1;  // 10 us
    step.mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  return step;
}

Step rts_step(ibv_qp_type type, const Plan& plan) {
  Step step;
  step.attr.qp_state = IBV_QPS_RTS;
  step.attr.sq_psn = 7;
  step.mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (has_requester(type)) {
    step.attr.retry_cnt = plan.retries;
    step.attr.rnr_retry = plan.rnr_retries;
    step.attr.max_rd_atomic = plan.rd_atomic;
    step.mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  if (has_requester(type) || has_responder(type)) {
    step.attr.timeout = plan.timeout;
    step.mask |= IBV_QP_TIMEOUT;
  }
  return step;
}

int apply(ibv_qp* qp, const Step& step) {
  ibv_qp_attr attr = step.attr;
  return ibv_modify_qp(qp, &attr, step.mask);
}

int go_to(ibv_qp* qp, ibv_qp_state state) {
  Step step;
  step.attr.qp_state = state;
  step.mask = IBV_QP_STATE;
  return apply(qp, step);
}

ibv_qp_state state_of(ibv_qp* qp) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  expect_works("ibv_query_qp", ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
  return attr.qp_state;
}

void await_state(const std::string& what, ibv_qp* qp, ibv_qp_state state) {
  waiting_for(what);
  while (state_of(qp) != state)
    sched_yield();
}

ibv_ah_attr route_to(const Address& peer) {
  ibv_ah_attr attr{};
  attr.dlid = peer.lid;
  attr.port_num = kPort;
  if (device().global) {
    attr.is_global = 1;
    attr.grh.dgid = peer.gid;
    attr.grh.sgid_index = static_cast<uint8_t>(device().gid_index);
    attr.grh.hop_limit = 64;
  }
  return attr;
}

Pd make_pd() {
  Pd pd(ibv_alloc_pd(device().context.get()));
  expect(pd != nullptr, "ibv_alloc_pd failed");
  return pd;
}

Cq make_cq(int depth, ibv_comp_channel* channel, void* user) {
  Cq cq(ibv_create_cq(device().context.get(), depth, user, channel, 0));
  expect(cq != nullptr, "ibv_create_cq failed");
  return cq;
}

Srq make_srq(ibv_pd* pd, uint32_t depth, uint32_t limit) {
  ibv_srq_init_attr attr{};
  attr.attr.max_wr = depth;
  attr.attr.max_sge = 2;
  attr.attr.srq_limit = limit;
  Srq srq(ibv_create_srq(pd, &attr));
  expect(srq != nullptr, "ibv_create_srq failed");
  return srq;
}

End::End(const Plan& how) : plan(how), buffer_(kBufferSize) {
  if (plan.pd == nullptr) own_pd = make_pd();
  pd = plan.pd == nullptr ? own_pd.get() : plan.pd;
  mr.reset(ibv_reg_mr(pd, buffer_.data(), buffer_.size(), kAllAccess));
  expect(mr != nullptr, "ibv_reg_mr failed");
  send_cq = make_cq(plan.cq_depth);
  if (plan.recv_cq == nullptr) own_recv_cq = make_cq(plan.cq_depth, plan.channel);
  recv_cq = plan.recv_cq == nullptr ? own_recv_cq.get() : plan.recv_cq;
  ibv_qp_init_attr attr{};
  attr.send_cq = send_cq.get();
  attr.recv_cq = recv_cq;
  attr.srq = plan.srq;
  attr.cap.max_send_wr = plan.send_depth;
  attr.cap.max_send_sge = plan.sges;
  attr.cap.max_inline_data = plan.inline_bytes;
  if (plan.srq == nullptr) {
    attr.cap.max_recv_wr = plan.recv_depth;
    attr.cap.max_recv_sge = plan.sges;
  }
  attr.qp_type = plan.type;
  attr.sq_sig_all = plan.all_signalled ? 1 : 0;
  qp.reset(ibv_create_qp(pd, &attr));
  expect(qp != nullptr, std::string("ibv_create_qp failed: ") + std::strerror(errno));
  // Some devices say only here how much more they gave than was asked for.
  ibv_qp_attr given{};
  expect_works("ibv_query_qp", ibv_query_qp(qp.get(), &given, IBV_QP_CAP, &attr));
  plan.send_depth = attr.cap.max_send_wr;
  plan.recv_depth = attr.cap.max_recv_wr;
  plan.sges = attr.cap.max_send_sge;
  plan.inline_bytes = attr.cap.max_inline_data;
}

Address End::address() const {
  Address own;
  own.qp_num = qp->qp_num;
  own.psn = 7;
  own.rkey = mr->rkey;
  own.memory = reinterpret_cast<uint64_t>(buffer_.data());
  own.lid = device().port.lid;
  own.gid = device().gid;
  return own;
}

void End::connect(const Address& peer) {
  expect_works("to INIT", apply(qp.get(), init_step(plan.type, plan.qp_access)));
  expect_works("to RTR", apply(qp.get(), rtr_step(plan.type, peer, plan)));
  expect_works("to RTS", apply(qp.get(), rts_step(plan.type, plan)));
}

void End::fill(size_t offset, size_t length, uint8_t seed) {
  for (size_t i = 0; i < length; ++i)
    buffer_[offset + i] = static_cast<uint8_t>(seed + i * 7);
}

void End::expect_bytes(const std::string& what, size_t offset, size_t length, uint8_t seed) {
  for (size_t i = 0; i < length; ++i) {
    expect_equal(what + ", byte " + std::to_string(i), static_cast<uint8_t>(seed + i * 7),
                 buffer_[offset + i]);
  }
}

ibv_sge End::piece(size_t offset, uint32_t length) const {
  return {reinterpret_cast<uint64_t>(buffer_.data() + offset), length, mr->lkey};
}

void End::post_receive(uint64_t id, size_t offset, uint32_t length) {
  ibv_sge sge = piece(offset, length);
  ibv_recv_wr wr{};
  wr.wr_id = id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  expect_works("posting a receive", plan.srq == nullptr ? ibv_post_recv(qp.get(), &wr, &bad)
                                                        : ibv_post_srq_recv(plan.srq, &wr, &bad));
}

ibv_wc End::sent(const std::string& what) {
  return await_one(send_cq.get(), what);
}
ibv_wc End::received(const std::string& what) {
  return await_one(recv_cq, what);
}

Pair::Pair(const Plan& first, const Plan& second) : a(first), b(second) {
  a.connect(b.address());
  b.connect(a.address());
}

Request::Request(ibv_wr_opcode opcode, uint64_t id, unsigned flags) {
  wr.opcode = opcode;
  wr.wr_id = id;
  wr.send_flags = flags;
}

Request& Request::piece(const ibv_sge& one) {
  pieces_.push_back(one);
  return *this;
}

Request& Request::immediate(uint32_t value) {
  wr.imm_data = htobe32(value);
  return *this;
}

Request& Request::remote(const Address& peer, size_t offset) {
  wr.wr.rdma.remote_addr = peer.memory + offset;
  wr.wr.rdma.rkey = peer.rkey;
  return *this;
}

Request& Request::atomic(const Address& peer, size_t offset, uint64_t compare_add, uint64_t swap) {
  wr.wr.atomic.remote_addr = peer.memory + offset;
  wr.wr.atomic.rkey = peer.rkey;
  wr.wr.atomic.compare_add = compare_add;
  wr.wr.atomic.swap = swap;
  return *this;
}

Request& Request::datagram(ibv_ah* ah, const Address& peer, uint32_t qkey) {
  wr.wr.ud.ah = ah;
  wr.wr.ud.remote_qpn = peer.qp_num;
  wr.wr.ud.remote_qkey = qkey;
  return *this;
}

Request& Request::srq(uint32_t number) {
  wr.qp_type.xrc.remote_srqn = number;
  return *this;
}

int Request::try_post(ibv_qp* qp) {
  wr.sg_list = pieces_.data();
  wr.num_sge = static_cast<int>(pieces_.size());
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp, &wr, &bad);
}

void Request::post(const End& end) {
  expect_works("posting a send", try_post(end.qp.get()));
}

std::vector<ibv_wc> await(ibv_cq* cq, size_t count, const std::string& what) {
  std::vector<ibv_wc> found;
  while (found.size() < count) {
    waiting_for(what + " (" + std::to_string(found.size()) + " of " + std::to_string(count) +
                " came)");
    ibv_wc wc{};
    const int polled = ibv_poll_cq(cq, 1, &wc);
    expect(polled >= 0, "ibv_poll_cq failed");
    if (polled > 0) {
      found.push_back(wc);
    } else {
      sched_yield();
    }
  }
  return found;
}

ibv_wc await_one(ibv_cq* cq, const std::string& what) {
  return await(cq, 1, what).front();
}

void expect_empty(const std::string& what, ibv_cq* cq) {
  ibv_wc wc{};
  if (ibv_poll_cq(cq, 1, &wc) == 0) return;
  fail(what + ": a completion came, wr_id " + std::to_string(wc.wr_id) + ", status \"" +
       ibv_wc_status_str(wc.status) + "\"");
}

void exchange(End& from, End& to, uint64_t id) {
  to.post_receive(id, 32768, 64);
  Request(IBV_WR_SEND, id).piece(from.piece(32768, 8)).post(from);
  expect_completion("a send after it", from.sent(), id, IBV_WC_SEND);
  expect_completion("a receive after it", to.received(), id, IBV_WC_RECV);
}

ibv_async_event await_event(ibv_context* context, ibv_event_type type) {
  std::string passed;
  for (;;) {
    waiting_for(std::string("the event \"") + ibv_event_type_str(type) + "\"" + passed);
    pollfd ready{context->async_fd, POLLIN, 0};
    poll(&ready, 1, -1);
    ibv_async_event event{};
    expect_works("ibv_get_async_event", ibv_get_async_event(context, &event));
    if (event.event_type == type) return event;
    passed += std::string("; came: \"") + ibv_event_type_str(event.event_type) + "\"";
    ibv_ack_async_event(&event);
  }
}

}  // namespace semantics
