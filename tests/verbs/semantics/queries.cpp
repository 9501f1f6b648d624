// Judges the answers of the querying verbs.
#include <array>
#include <cerrno>
#include <cstring>

#include "tests/verbs/semantics/ends.h"
#include "tests/verbs/semantics/judge.h"

namespace semantics {
namespace {

void query_device() {
  const ibv_device_attr& attr = device().attr;
  expect(attr.max_qp > 0 && attr.max_qp_wr > 0 && attr.max_sge > 0, "no queue pairs");
  expect(attr.max_cq > 0 && attr.max_cqe > 0, "no completion queues");
  expect(attr.max_mr > 0 && attr.max_mr_size > 0, "no memory regions");
  expect(attr.max_pd > 0, "no protection domains");
  expect(attr.max_qp_rd_atom > 0 && attr.max_qp_init_rd_atom > 0, "no RDMA reads");
  expect_equal("ports", 1, attr.phys_port_cnt >= 1 ? 1 : 0);
}

void query_device_ex() {
  ibv_device_attr_ex attr{};
  expect_works("ibv_query_device_ex", ibv_query_device_ex(device().context.get(), nullptr, &attr));
  expect_equal("max_qp", device().attr.max_qp, attr.orig_attr.max_qp);
  expect_equal("max_sge", device().attr.max_sge, attr.orig_attr.max_sge);
  expect_equal("device_cap_flags", device().attr.device_cap_flags, attr.orig_attr.device_cap_flags);
}

void query_port() {
  const ibv_port_attr& port = device().port;
  expect_equal("state", static_cast<int>(IBV_PORT_ACTIVE), static_cast<int>(port.state));
  expect(port.active_mtu >= IBV_MTU_256 && port.active_mtu <= port.max_mtu, "active_mtu");
  expect(port.gid_tbl_len > 0, "no GIDs");
  expect(port.pkey_tbl_len > 0, "no partition keys");
  expect(port.max_msg_sz >= 1 << 20, "max_msg_sz is below 1 MiB");
}

void query_port_unknown() {
  ibv_port_attr port{};
  const auto ports = static_cast<uint8_t>(device().attr.phys_port_cnt + 1);
  expect_any_error("a port that is not there",
                   ibv_query_port(device().context.get(), ports, &port));
  expect_any_error("port 0 of a channel adapter", ibv_query_port(device().context.get(), 0, &port));
}

void query_gid() {
  expect(device().gid.global.interface_id != 0, "the GID is empty");
  ibv_gid gid{};
  expect_any_error("a GID behind the table",
                   ibv_query_gid(device().context.get(), kPort, device().port.gid_tbl_len, &gid));
}

void query_gid_ex() {
  ibv_gid_entry entry{};
  const auto index = static_cast<uint32_t>(device().gid_index);
  const int error = ibv_query_gid_ex(device().context.get(), kPort, index, &entry, 0);
  if (error == EOPNOTSUPP) skip("device lacks ibv_query_gid_ex");
  expect_works("ibv_query_gid_ex", error);
  expect(std::memcmp(entry.gid.raw, device().gid.raw, 16) == 0, "the GIDs differ");
  expect_equal("gid_index", index, entry.gid_index);
  expect_equal("port_num", uint32_t{kPort}, entry.port_num);
}

void query_pkey() {
  __be16 key = 0;
  expect_works("ibv_query_pkey", ibv_query_pkey(device().context.get(), kPort, 0, &key));
  expect(be16toh(key) != 0, "the first partition key is 0");
  expect_equal("the index of that key", 0, ibv_get_pkey_index(device().context.get(), kPort, key));
  expect_any_error("a key behind the table",
                   ibv_query_pkey(device().context.get(), kPort, device().port.pkey_tbl_len, &key));
}

void query_names() {
  const ibv_device* own = device().context->device;
  expect(std::strlen(ibv_get_device_name(device().context->device)) > 0, "no name");
  expect(ibv_get_device_guid(device().context->device) != 0, "no GUID");
  expect_equal("guid", device().attr.node_guid, ibv_get_device_guid(device().context->device));
  expect_equal("node_type", static_cast<int>(IBV_NODE_CA), static_cast<int>(own->node_type));
  expect(std::strcmp(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter") == 0,
         "ibv_node_type_str");
  expect(std::strcmp(ibv_port_state_str(IBV_PORT_ACTIVE), "active") == 0, "ibv_port_state_str");
  expect(std::strcmp(ibv_wc_status_str(IBV_WC_SUCCESS), "success") == 0, "ibv_wc_status_str");
  expect(std::strcmp(ibv_event_type_str(IBV_EVENT_CQ_ERR), "CQ error") == 0, "ibv_event_type_str");
}

// ibv_rate_to_mbps and its kin are plain arithmetic of the library.
void query_rates() {
  expect_equal("IBV_RATE_10_GBPS as a factor", 4, ibv_rate_to_mult(IBV_RATE_10_GBPS));
  expect_equal("4 as a rate", static_cast<int>(IBV_RATE_10_GBPS),
               static_cast<int>(mult_to_ibv_rate(4)));
  expect_equal("IBV_RATE_10_GBPS in Mbit/s", 10000, ibv_rate_to_mbps(IBV_RATE_10_GBPS));
  expect_equal("10000 Mbit/s as a rate", static_cast<int>(IBV_RATE_10_GBPS),
               static_cast<int>(mbps_to_ibv_rate(10000)));
}

void query_two_opens() {
  const Device other = open_device();
  expect(other.context.get() != device().context.get(), "one context twice");
  expect_equal("the GUID", device().attr.node_guid, other.attr.node_guid);
  expect(other.context->async_fd != device().context->async_fd, "one async_fd twice");
}

void query_qp() {
  Pair pair;
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  const int mask = IBV_QP_STATE | IBV_QP_CAP | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                   IBV_QP_RQ_PSN | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                   IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER | IBV_QP_ACCESS_FLAGS |
                   IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PORT |
                   IBV_QP_PKEY_INDEX;
  expect_works("ibv_query_qp", ibv_query_qp(pair.a.qp.get(), &attr, mask, &init));
  expect_equal("state", static_cast<int>(IBV_QPS_RTS), static_cast<int>(attr.qp_state));
  expect_equal("dest_qp_num", pair.b.qp->qp_num, attr.dest_qp_num);
  expect_equal("rq_psn", 7U, attr.rq_psn);
  expect_equal("sq_psn", 7U, attr.sq_psn);
  expect_equal("timeout", pair.a.plan.timeout, attr.timeout);
  expect_equal("retry_cnt", pair.a.plan.retries, attr.retry_cnt);
  expect_equal("rnr_retry", pair.a.plan.rnr_retries, attr.rnr_retry);
  expect_equal("min_rnr_timer", uint8_t{1}, attr.min_rnr_timer);
  expect_equal("max_rd_atomic", pair.a.plan.rd_atomic, attr.max_rd_atomic);
  expect_equal("port_num", kPort, attr.port_num);
  expect_equal("access", static_cast<unsigned>(kAllAccess & ~IBV_ACCESS_LOCAL_WRITE),
               attr.qp_access_flags & ~static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE));
}

void query_current_state() {
  Pair pair;
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  expect_works("ibv_query_qp", ibv_query_qp(pair.a.qp.get(), &attr, IBV_QP_CUR_STATE, &init));
  expect_equal("current state", static_cast<int>(IBV_QPS_RTS), static_cast<int>(attr.cur_qp_state));
}

void query_qp_creation() {
  End end;
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  expect_works("ibv_query_qp", ibv_query_qp(end.qp.get(), &attr, IBV_QP_STATE | IBV_QP_CAP, &init));
  expect_equal("qp_type", static_cast<int>(IBV_QPT_RC), static_cast<int>(init.qp_type));
  expect_equal("sq_sig_all", 0, init.sq_sig_all);
  expect(init.send_cq == end.send_cq.get() && init.recv_cq == end.recv_cq, "the CQs differ");
  expect(init.cap.max_send_wr >= 32 && init.cap.max_recv_wr >= 32, "fewer requests");
  expect(init.cap.max_send_sge >= 4 && init.cap.max_recv_sge >= 4, "fewer pieces");
  expect(init.cap.max_inline_data >= 64, "less inline data");
}

constexpr Case kCases[] = {
    {"query.device", query_device},
    {"query.device-ex", query_device_ex},
    {"query.port", query_port},
    {"query.port-unknown", query_port_unknown},
    {"query.gid", query_gid},
    {"query.gid-ex", query_gid_ex},
    {"query.pkey", query_pkey},
    {"query.names", query_names},
    {"query.rates", query_rates},
    {"query.two-opens", query_two_opens},
    {"query.qp", query_qp},
    {"query.current-state", query_current_state},
    {"query.qp-creation", query_qp_creation},
};

}  // namespace

std::span<const Case> query_cases() {
  return kCases;
}

}  // namespace semantics
