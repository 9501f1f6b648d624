// A management queue releases a held send, if the engine or a thread executes its tasks.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "comm-channel/verbs/factory.h"
#include "tests/e2e/hca/verbs_program.h"

namespace tasks_test {

using namespace scela::channel::verbs;
using scela::test::Place;

namespace {

ibv_wc next_of(const Cq& cq) {
  ibv_wc done{};
  while (ibv_poll_cq(cq.get(), 1, &done) == 0) {
  }
  return done;
}

void released(Executor by) {
  const Place place;
  const auto device = open_device({.library = "scela", .device = {}});
  REQUIRE(device);
  const Capability& can = device->capability;
  REQUIRE(can.executor == by);
  const Symbols& symbols = *device->symbols;
  const auto pd = alloc_pd(symbols, device->context);
  REQUIRE(pd);
  const auto sent = create_task_cq(can, device->context, 8);
  const auto came = create_task_cq(can, device->context, 8);
  const auto managed = create_task_cq(can, device->context, 8);
  REQUIRE((sent && came && managed));
  const auto qp = create_task_qp(can, *pd, IBV_QPT_RC, *sent, *came, {},
                                 {.sends = 4, .receives = 4}, SCELA_QP_MANAGED_SEND);
  REQUIRE(qp);
  auto queue = ManagementQueue::make(can, *pd, *managed, 8);
  REQUIRE(queue);
  const Port& port = can.ports.front();
  const Target self{port.lid, port.gid, port.mtu, (*qp)->qp_num, 0};
  REQUIRE(to_init(symbols, *qp, port, 0));
  REQUIRE(to_receive(symbols, *qp, port, self, 1));
  REQUIRE(to_send(symbols, *qp, 0, 1, {}));
  unsigned char bytes[2][64];
  std::memset(bytes[0], 5, sizeof bytes[0]);
  const auto mr = reg_mr(symbols, *pd, bytes, sizeof bytes, IBV_ACCESS_LOCAL_WRITE);
  REQUIRE(mr);
  ibv_sge where{reinterpret_cast<std::uintptr_t>(bytes[1]), sizeof bytes[1], (*mr)->lkey};
  ibv_recv_wr receive{};
  receive.sg_list = &where;
  receive.num_sge = 1;
  ibv_recv_wr* bad_receive = nullptr;
  REQUIRE(ibv_post_recv(qp->get(), &receive, &bad_receive) == 0);
  ibv_sge what{reinterpret_cast<std::uintptr_t>(bytes[0]), sizeof bytes[0], (*mr)->lkey};
  ibv_send_wr send{};
  send.sg_list = &what;
  send.num_sge = 1;
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_SIGNALED;
  ibv_send_wr* bad_send = nullptr;
  REQUIRE(ibv_post_send(qp->get(), &send, &bad_send) == 0);
  // The queue releases the message first, and then says that it has come.
  scela_task tasks[2]{};
  tasks[0].opcode = SCELA_TASK_SEND_ENABLE;
  tasks[0].u.enable.qp = qp->get();
  tasks[0].u.enable.count = 1;
  tasks[1].opcode = SCELA_TASK_WAIT;
  tasks[1].wr_id = 77;
  tasks[1].send_flags = IBV_SEND_SIGNALED;
  tasks[1].u.wait.cq = came->get();
  tasks[1].u.wait.count = 1;
  tasks[1].u.wait.last = 1;
  ibv_wc nothing{};
  CHECK(ibv_poll_cq(sent->get(), 1, &nothing) == 0);
  CHECK(ibv_poll_cq(came->get(), 1, &nothing) == 0);
  REQUIRE(queue->post(tasks));
  CHECK(next_of(*managed).wr_id == 77);
  CHECK(next_of(*came).status == IBV_WC_SUCCESS);
  CHECK(next_of(*sent).status == IBV_WC_SUCCESS);
  CHECK(bytes[1][63] == 5);
  // A list is posted up to its first wrong task.
  tasks[0].u.enable.qp = nullptr;
  const auto refused = queue->post(tasks);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == "post task 0 of 2 on scela_hca0");
}

}  // namespace

TEST_CASE("channel verbs: the engine's management queue releases a held send") {
  released(Executor::engine);
}

TEST_CASE("channel verbs: a thread's management queue releases a held send") {
  ::setenv("SCELA_TASKS", "thread", 1);
  released(Executor::thread);
  ::unsetenv("SCELA_TASKS");
}

}  // namespace tasks_test
