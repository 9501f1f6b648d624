// A program that is linked to libscela-ibverbs as to libibverbs, in a place of its own; the library
// starts the engine.
#pragma once

#include <infiniband/verbs.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/os/futex.h"
#include "common/os/private_dir.h"
#include "hca/include/scela/verbs_ext.h"
#include "tests/e2e/hca/engine_program.h"
#include "tests/support/eventually.h"

namespace scela::test {

// Sets and awaits words in memory that two processes share.
inline void tell(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  word.store(value);
  futex_wake(reinterpret_cast<const std::uint32_t*>(&word));
}
inline void until(const std::atomic<std::uint32_t>& word, std::uint32_t value) {
  for (std::uint32_t seen = word.load(); seen != value; seen = word.load())
    futex_wait(reinterpret_cast<const std::uint32_t*>(&word), seen, nullptr);
}

// A directory for the engine's socket, which goes with this.
// Its engine is never kinder than hardware, unless a test is about what that hides.
struct Place {
  explicit Place(bool is_strict = true) {
    path = temporary_base() + "/scela-tasks-XXXXXX";
    REQUIRE(mkdtemp(path.data()) != nullptr);
    ::setenv("SCELA_HCA_SOCKET", (path + "/socket").c_str(), 1);
    ::setenv("SCELA_HCA", engine_program(), 1);
    ::setenv("SCELA_HCA_STRICT", is_strict ? "1" : "0", 1);
  }
  ~Place() {
    // The engine ends by itself, and removes its socket under its lock; lock and log are ours to
    // remove, when it does not make them anew any more.
    scela::test::eventually([&] {
      for (const char* file : {"/lock", "/log", "/scela-hca.log", "/socket"})
        ::unlink((path + file).c_str());
      return ::rmdir(path.c_str()) == 0;
    });
  }
  std::string path;
};

struct Verbs {
  Verbs() {
    ibv_device** list = ibv_get_device_list(nullptr);
    REQUIRE(list != nullptr);
    REQUIRE(list[0] != nullptr);
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    REQUIRE(context != nullptr);
    pd = ibv_alloc_pd(context);
    REQUIRE(pd != nullptr);
  }
  ~Verbs() {
    for (auto qp : qps)
      CHECK(ibv_destroy_qp(qp) == 0);
    for (auto cq : cqs)
      CHECK(ibv_destroy_cq(cq) == 0);
    for (auto mr : mrs)
      CHECK(ibv_dereg_mr(mr) == 0);
    CHECK(ibv_dealloc_pd(pd) == 0);
    CHECK(ibv_close_device(context) == 0);
  }
  ibv_cq* cq(int entries = 64) {
    cqs.push_back(ibv_create_cq(context, entries, nullptr, nullptr, 0));
    REQUIRE(cqs.back() != nullptr);
    return cqs.back();
  }
  ibv_mr* mr(void* address, std::size_t bytes) {
    mrs.push_back(ibv_reg_mr(pd, address, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
    REQUIRE(mrs.back() != nullptr);
    return mrs.back();
  }
  ibv_qp* rc(ibv_cq* send, ibv_cq* receive, std::uint32_t flags = 0, std::uint32_t depth = 128) {
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = send;
    attributes.recv_cq = receive;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {depth, depth, 1, 1, 0};
    attributes.pd = pd;
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
    attributes.create_flags = flags;
    qps.push_back(ibv_create_qp_ex(context, &attributes));
    REQUIRE(qps.back() != nullptr);
    return qps.back();
  }
  ibv_qp* mq(ibv_cq* cq, std::uint32_t tasks = 128) {
    qps.push_back(scela_create_mq(pd, cq, tasks));
    REQUIRE(qps.back() != nullptr);
    return qps.back();
  }
  void connect(ibv_qp* qp, std::uint32_t other, int rnr_retries = 7,
               std::uint8_t port_number = 1) const {
    ibv_port_attr port{};
    REQUIRE(ibv_query_port(context, port_number, &port) == 0);
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = port_number;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    REQUIRE(ibv_modify_qp(
                qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_4096;
    a.dest_qp_num = other;
    a.min_rnr_timer = 1;
    a.ah_attr.dlid = port.lid;
    a.ah_attr.port_num = port_number;
    REQUIRE(ibv_modify_qp(qp, &a,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) ==
            0);
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 14;
    a.retry_cnt = 7;
    a.rnr_retry = static_cast<std::uint8_t>(rnr_retries);
    REQUIRE(ibv_modify_qp(qp, &a,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
  }
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  std::vector<ibv_cq*> cqs;
  std::vector<ibv_mr*> mrs;
  std::vector<ibv_qp*> qps;
};

// Returns the next completion. If none comes, the test waits for the harness's limit.
inline ibv_wc next(ibv_cq* cq) {
  ibv_wc completion{};
  int count = 0;
  while ((count = ibv_poll_cq(cq, 1, &completion)) == 0) {
  }
  REQUIRE(count == 1);
  return completion;
}

inline void post(ibv_qp* qp, scela_task task) {
  scela_task* bad = nullptr;
  REQUIRE(scela_post_task(qp, &task, &bad) == 0);
}
inline scela_task wait(ibv_cq* cq, std::uint32_t count, bool last, unsigned flags = 0,
                       std::uint64_t id = 0) {
  scela_task task{};
  task.wr_id = id;
  task.opcode = SCELA_TASK_WAIT;
  task.send_flags = flags;
  task.u.wait = {cq, count, last ? 1 : 0};
  return task;
}
inline scela_task enable(ibv_qp* qp, std::uint32_t count,
                         scela_task_opcode opcode = SCELA_TASK_SEND_ENABLE) {
  scela_task task{};
  task.opcode = opcode;
  task.u.enable = {qp, count};
  return task;
}
inline void post_send(ibv_qp* qp, ibv_sge sge, unsigned flags = 0, std::uint64_t id = 0) {
  ibv_send_wr wr{}, *bad = nullptr;
  wr.wr_id = id;
  wr.sg_list = &sge;
  wr.num_sge = sge.length == 0 ? 0 : 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = flags;
  REQUIRE(ibv_post_send(qp, &wr, &bad) == 0);
}
inline void post_recv(ibv_qp* qp, ibv_sge sge) {
  ibv_recv_wr wr{}, *bad = nullptr;
  wr.sg_list = &sge;
  wr.num_sge = sge.length == 0 ? 0 : 1;
  REQUIRE(ibv_post_recv(qp, &wr, &bad) == 0);
}

}  // namespace scela::test
