#include <cerrno>
#include <cstring>

#include "tests/verbs/semantics/judge.h"
#include "tests/verbs/semantics/xrc.h"

namespace semantics {
namespace {

ibv_xrcd* try_open(ibv_context* context, int fd, int oflags) {
  ibv_xrcd_init_attr attr{};
  attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  attr.fd = fd;
  attr.oflags = oflags;
  errno = 0;
  return ibv_open_xrcd(context, &attr);
}

}  // namespace

Xrcd open_domain(ibv_context* context, int fd, int oflags) {
  Xrcd domain(try_open(context, fd, oflags));
  expect(domain != nullptr, std::string("ibv_open_xrcd failed: ") + std::strerror(errno));
  return domain;
}

int open_domain_error(ibv_context* context, int fd, int oflags) {
  const Xrcd domain(try_open(context, fd, oflags));
  return domain == nullptr ? errno : 0;
}

XrcQueue::XrcQueue(ibv_context* context, ibv_xrcd* domain, uint32_t depth) : memory_(kBufferSize) {
  pd.reset(ibv_alloc_pd(context));
  cq.reset(ibv_create_cq(context, 64, nullptr, nullptr, 0));
  expect(pd != nullptr && cq != nullptr, "ibv_alloc_pd or ibv_create_cq failed");
  mr.reset(ibv_reg_mr(pd.get(), memory_.data(), memory_.size(), kAllAccess));
  expect(mr != nullptr, "ibv_reg_mr failed");
  ibv_srq_init_attr_ex attr{};
  attr.attr.max_wr = depth;
  attr.attr.max_sge = 1;
  attr.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  attr.srq_type = IBV_SRQT_XRC;
  attr.pd = pd.get();
  attr.xrcd = domain;
  attr.cq = cq.get();
  srq.reset(ibv_create_srq_ex(context, &attr));
  expect(srq != nullptr, std::string("ibv_create_srq_ex failed: ") + std::strerror(errno));
  expect_works("ibv_get_srq_num", ibv_get_srq_num(srq.get(), &number));
}

void XrcQueue::post(uint64_t id, size_t offset, uint32_t length) {
  ibv_sge sge{reinterpret_cast<uint64_t>(memory_.data() + offset), length, mr->lkey};
  ibv_recv_wr wr{};
  wr.wr_id = id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  expect_works("ibv_post_srq_recv", ibv_post_srq_recv(srq.get(), &wr, &bad));
}

Address XrcQueue::address(const Address& target) const {
  Address own = target;
  own.srq_num = number;
  own.memory = reinterpret_cast<uint64_t>(memory_.data());
  own.rkey = mr->rkey;
  return own;
}

Qp make_target(ibv_context* context, ibv_xrcd* domain) {
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_XRC_RECV;
  init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  init.xrcd = domain;
  Qp qp(ibv_create_qp_ex(context, &init));
  expect(qp != nullptr, std::string("ibv_create_qp_ex failed: ") + std::strerror(errno));
  return qp;
}

void connect_target(ibv_qp* target, const Address& sender) {
  Plan plan;
  plan.type = IBV_QPT_XRC_RECV;
  expect_works("target to INIT", apply(target, init_step(plan.type)));
  expect_works("target to RTR", apply(target, rtr_step(plan.type, sender, plan)));
}

Address address_of(const ibv_qp* target) {
  Address own;
  own.qp_num = target->qp_num;
  own.psn = 7;
  own.lid = device().port.lid;
  own.gid = device().gid;
  return own;
}

}  // namespace semantics
