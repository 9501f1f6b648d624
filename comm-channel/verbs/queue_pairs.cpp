#include "comm-channel/verbs/queue_pairs.h"

#include <algorithm>

namespace scela::channel::verbs {

namespace {

Result<void> modify(const Symbols& symbols, const Qp& qp, ibv_qp_attr& attributes, int mask,
                    const char* what) {
  const int error = symbols.ibv_modify_qp(qp.get(), &attributes, mask);
  if (error != 0) return fail(verbs_error(what, qp->context, error));
  return {};
}

bool sends(const Qp& qp) {
  return qp->qp_type != IBV_QPT_XRC_RECV;
}
bool receives(const Qp& qp) {
  return qp->qp_type != IBV_QPT_XRC_SEND;
}

}  // namespace

ibv_ah_attr address_of(const Port& from, const Target& to) {
  ibv_ah_attr address{};
  address.port_num = from.number;
  address.dlid = to.lid;
  address.is_global = from.by_gid ? 1 : 0;
  address.grh.dgid = to.gid;
  address.grh.sgid_index = from.gid_index;
  address.grh.hop_limit = 64;
  return address;
}

Result<void> to_init(const Symbols& symbols, const Qp& qp, const Port& port, unsigned access) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port.number;
  attributes.qp_access_flags = access;
  return modify(symbols, qp, attributes,
                IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                "initialize a queue pair");
}

Result<void> to_receive(const Symbols& symbols, const Qp& qp, const Port& port,
                        const Target& target, std::uint8_t reads) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.ah_attr = address_of(port, target);
  attributes.path_mtu = std::min(port.mtu, target.mtu);
  attributes.dest_qp_num = target.queue_pair;
  attributes.rq_psn = target.first_packet;
  attributes.max_dest_rd_atomic = reads;
  attributes.min_rnr_timer = 12;
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (receives(qp)) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  return modify(symbols, qp, attributes, mask, "make a queue pair ready to receive");
}

Result<void> to_send(const Symbols& symbols, const Qp& qp, std::uint32_t first_packet,
                     std::uint8_t reads, const Patience& patience) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = first_packet;
  attributes.timeout = patience.timeout;
  attributes.retry_cnt = patience.retries;
  attributes.rnr_retry = patience.not_ready_retries;
  attributes.max_rd_atomic = reads;
  int mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN;
  if (sends(qp)) mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  return modify(symbols, qp, attributes, mask, "make a queue pair ready to send");
}

Result<void> ready_datagrams(const Symbols& symbols, const Qp& qp, const Port& port,
                             std::uint32_t key) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port.number;
  attributes.qkey = key;
  constexpr char kWhat[] = "make a UD queue pair ready";
  auto done = modify(symbols, qp, attributes,
                     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, kWhat);
  if (!done) return done;
  attributes.qp_state = IBV_QPS_RTR;
  done = modify(symbols, qp, attributes, IBV_QP_STATE, kWhat);
  if (!done) return done;
  attributes.qp_state = IBV_QPS_RTS;
  attributes.sq_psn = 0;
  return modify(symbols, qp, attributes, IBV_QP_STATE | IBV_QP_SQ_PSN, kWhat);
}

Result<void> to_error(const Symbols& symbols, const Qp& qp) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  return modify(symbols, qp, attributes, IBV_QP_STATE, "end a queue pair");
}

}  // namespace scela::channel::verbs
