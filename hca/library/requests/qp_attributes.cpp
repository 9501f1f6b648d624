// Converts a queue pair's attributes between the form of programs and the form of the engine.
#include <atomic>
#include <cerrno>
#include <cstring>

#include "hca/library/completions/completions.h"
#include "hca/library/objects/context.h"
#include "hca/library/objects/srq.h"
#include "hca/library/requests/requests.h"
#include "hca/library/verbs/guarded.h"

namespace scela::hca::library {

namespace {

QpAttributes to_engine(const ibv_qp_attr& from) {
  QpAttributes to;
  to.state = static_cast<QpState>(from.qp_state);
  to.current_state = static_cast<QpState>(from.cur_qp_state);
  to.path_mtu = from.path_mtu;
  to.path_mig_state = from.path_mig_state;
  to.qkey = from.qkey;
  to.rq_psn = from.rq_psn;
  to.sq_psn = from.sq_psn;
  to.dest_qpn = from.dest_qp_num;
  to.access_flags = from.qp_access_flags;
  std::memcpy(to.dgid.bytes, from.ah_attr.grh.dgid.raw, sizeof(to.dgid.bytes));
  to.flow_label = from.ah_attr.grh.flow_label;
  to.dlid = from.ah_attr.dlid;
  to.is_global = from.ah_attr.is_global;
  to.sgid_index = from.ah_attr.grh.sgid_index;
  to.hop_limit = from.ah_attr.grh.hop_limit;
  to.traffic_class = from.ah_attr.grh.traffic_class;
  to.sl = from.ah_attr.sl;
  to.src_path_bits = from.ah_attr.src_path_bits;
  to.static_rate = from.ah_attr.static_rate;
  to.ah_port = from.ah_attr.port_num;
  to.pkey_index = from.pkey_index;
  to.sqd_notify = from.en_sqd_async_notify;
  to.max_rd_atomic = from.max_rd_atomic;
  to.max_dest_rd_atomic = from.max_dest_rd_atomic;
  to.min_rnr_timer = from.min_rnr_timer;
  to.port = from.port_num;
  to.timeout = from.timeout;
  to.retry_count = from.retry_cnt;
  to.rnr_retry = from.rnr_retry;
  return to;
}

ibv_qp_attr from_engine(const QpAttributes& from, const Capacities& cap) {
  ibv_qp_attr to{};
  to.qp_state = static_cast<ibv_qp_state>(from.state);
  to.cur_qp_state = to.qp_state;
  to.path_mtu = static_cast<ibv_mtu>(from.path_mtu);
  to.path_mig_state = static_cast<ibv_mig_state>(from.path_mig_state);
  to.qkey = from.qkey;
  to.rq_psn = from.rq_psn;
  to.sq_psn = from.sq_psn;
  to.dest_qp_num = from.dest_qpn;
  to.qp_access_flags = from.access_flags;
  to.cap = {cap.send_requests, cap.recv_requests, cap.send_sges, cap.recv_sges, cap.inline_bytes};
  std::memcpy(to.ah_attr.grh.dgid.raw, from.dgid.bytes, sizeof(from.dgid.bytes));
  to.ah_attr.grh.flow_label = from.flow_label;
  to.ah_attr.grh.sgid_index = from.sgid_index;
  to.ah_attr.grh.hop_limit = from.hop_limit;
  to.ah_attr.grh.traffic_class = from.traffic_class;
  to.ah_attr.dlid = from.dlid;
  to.ah_attr.is_global = from.is_global;
  to.ah_attr.sl = from.sl;
  to.ah_attr.src_path_bits = from.src_path_bits;
  to.ah_attr.static_rate = from.static_rate;
  to.ah_attr.port_num = from.ah_port;
  to.pkey_index = from.pkey_index;
  to.en_sqd_async_notify = from.sqd_notify;
  to.sq_draining = from.sq_draining;
  to.max_rd_atomic = from.max_rd_atomic;
  to.max_dest_rd_atomic = from.max_dest_rd_atomic;
  to.min_rnr_timer = from.min_rnr_timer;
  to.port_num = from.port;
  to.timeout = from.timeout;
  to.retry_cnt = from.retry_count;
  to.rnr_retry = from.rnr_retry;
  return to;
}

// The engine has dropped all requests, so they will not complete.
void reset(Qp& qp) {
  forget_in(qp.qp_base.send_cq, qp);
  if (qp.qp_base.recv_cq != qp.qp_base.send_cq) forget_in(qp.qp_base.recv_cq, qp);
  const std::scoped_lock lock(qp.send.mutex, qp.recv.mutex);
  qp.send.forget_all();
  qp.recv.forget_all();
}

}  // namespace

}  // namespace scela::hca::library

using namespace scela::hca;
using namespace scela::hca::library;

extern "C" {

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  return guarded([&]() -> int {
    Qp& ours = qp_of(qp);
    if (mask < 0 || (mask & IBV_QP_RATE_LIMIT) != 0) return EINVAL;
    Ask ask;
    ask.operation = Operation::modify_qp;
    ask.handle = qp->handle;
    ask.attribute_mask = static_cast<std::uint32_t>(mask);
    ask.attributes = to_engine(*attributes);
    const Answer answer = context_of(qp->context).link.ask(ask);
    if (answer.error != 0) return static_cast<int>(answer.error);
    const QpState before = ours.now.exchange(answer.attributes.state, std::memory_order_acq_rel);
    if ((mask & IBV_QP_STATE) != 0) qp->state = attributes->qp_state;
    if (answer.attributes.state == QpState::reset && before != QpState::reset) reset(ours);
    return 0;
  });
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attributes, int, ibv_qp_init_attr* init) {
  return guarded([&]() -> int {
    Qp& ours = qp_of(qp);
    Ask ask;
    ask.operation = Operation::query_qp;
    ask.handle = qp->handle;
    const Answer answer = context_of(qp->context).link.ask(ask);
    if (answer.error != 0) return static_cast<int>(answer.error);
    *attributes = from_engine(answer.attributes, answer.cap);
    ours.now.store(answer.attributes.state, std::memory_order_release);
    qp->state = attributes->qp_state;
    if (init != nullptr) {
      *init = ours.made_with;
      init->cap = attributes->cap;
    }
    return 0;
  });
}

static int change_group(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid, Operation operation) {
  return guarded([&]() -> int {
    Ask ask;
    ask.operation = operation;
    ask.handle = qp->handle;
    std::memcpy(ask.gid.bytes, gid->raw, sizeof(ask.gid.bytes));
    ask.lid = lid;
    return static_cast<int>(context_of(qp->context).link.ask(ask).error);
  });
}

int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return change_group(qp, gid, lid, Operation::attach_mcast);
}

int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, std::uint16_t lid) {
  return change_group(qp, gid, lid, Operation::detach_mcast);
}

}  // extern "C"
