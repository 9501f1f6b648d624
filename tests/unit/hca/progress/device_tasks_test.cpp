// Tests a thread that executes tasks, on a device in memory. The thread exists when it is needed,
// sleeps otherwise, and works beside the program's own threads. The test runs under the thread
// sanitizer, too.
#include "hca/progress/device_tasks.h"

#include <sched.h>

#include <catch2/catch.hpp>
#include <thread>

#include "tests/unit/hca/progress/progress_loopback.h"

namespace scela::hca::progress::device_tasks_test {
namespace {

using test::Loopback;

struct Device {
  Loopback loopback;
  DeviceTasks tasks{loopback.context(), Loopback::calls()};
  std::vector<ibv_cq*> cqs;
  std::vector<ibv_qp*> qps;

  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    for (ibv_qp* const qp : qps)
      CHECK(tasks.destroy_qp(qp) == 0);
    for (ibv_cq* const cq : cqs)
      CHECK(tasks.destroy_cq(cq) == 0);
    CHECK(tasks.close_if_empty());
    CHECK(loopback.objects() == 0);
  }
  ibv_cq* cq(int depth = 64) {
    ibv_cq* made = nullptr;
    REQUIRE(tasks.create_cq(depth, nullptr, 0, made) == 0);
    cqs.push_back(made);
    return made;
  }
  ibv_qp* qp(ibv_cq* send, ibv_cq* receive, std::uint32_t flags = 0, std::uint32_t depth = 16) {
    ibv_qp_init_attr_ex attributes{};
    attributes.send_cq = send;
    attributes.recv_cq = receive;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {depth, depth, 4, 4, 64};
    attributes.pd = loopback.pd();
    attributes.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
    attributes.create_flags = flags;
    ibv_qp_cap cap{};
    ibv_qp* made = nullptr;
    REQUIRE(tasks.create_qp(attributes, cap, made) == 0);
    qps.push_back(made);
    return made;
  }
  ibv_qp* mq(ibv_cq* cq, std::uint32_t most = 64) {
    ibv_qp* made = nullptr;
    REQUIRE(tasks.create_mq(loopback.pd(), cq, most, made) == 0);
    qps.push_back(made);
    return made;
  }
  int try_send(ibv_qp* qp, std::uint64_t id, unsigned flags = IBV_SEND_SIGNALED) {
    ibv_send_wr wr{}, *bad = nullptr;
    wr.wr_id = id;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = flags;
    return tasks.post_send(qp, &wr, &bad);
  }
  void send(ibv_qp* qp, std::uint64_t id, unsigned flags = IBV_SEND_SIGNALED) {
    REQUIRE(try_send(qp, id, flags) == 0);
  }
  void receive(ibv_qp* qp, std::uint64_t id) {
    ibv_recv_wr wr{}, *bad = nullptr;
    wr.wr_id = id;
    REQUIRE(tasks.post_recv(qp, &wr, &bad) == 0);
  }
  void wait(ibv_qp* qp, ibv_cq* cq, std::uint32_t count, std::uint64_t id = 0, unsigned flags = 0) {
    scela_task task{}, *bad = nullptr;
    task.wr_id = id;
    task.opcode = SCELA_TASK_WAIT;
    task.send_flags = flags;
    task.u.wait = {cq, count, 1};
    REQUIRE(tasks.post_task(qp, &task, &bad) == 0);
  }
  void enable(ibv_qp* qp, ibv_qp* target, std::uint32_t count) {
    scela_task task{}, *bad = nullptr;
    task.opcode = SCELA_TASK_SEND_ENABLE;
    task.u.enable = {target, count};
    REQUIRE(tasks.post_task(qp, &task, &bad) == 0);
  }
  ibv_wc next(ibv_cq* cq) {
    ibv_wc wc{};
    int count = 0;
    while ((count = tasks.poll_cq(cq, 1, &wc)) == 0)
      ::sched_yield();
    REQUIRE(count == 1);
    return wc;
  }
  // Makes the device itself send a message, of which the thread does not know.
  void arrive(ibv_qp* from) {
    ibv_send_wr wr{}, *bad = nullptr;
    wr.opcode = IBV_WR_SEND;
    REQUIRE(tasks.own().post_send(from, &wr, &bad) == 0);
  }
};

// Waits until the device has delivered `count` messages to a queue that tasks do not use.
void await_polled(Device& device, ibv_cq* plain, int count) {
  ibv_wc wc{};
  while (count > 0) {
    const int got = device.tasks.own().poll_cq(plain, 1, &wc);
    count -= got;
    if (got == 0) ::sched_yield();
  }
}

// One side belongs to the tasks, and the other to the device itself.
struct Chain {
  explicit Chain(Device& device) {
    arrivals = device.cq();
    quiet = device.cq();
    in = device.qp(quiet, arrivals);
    out = device.qp(quiet, quiet, SCELA_QP_MANAGED_SEND);
    manager = device.mq(quiet);
    const VerbsCalls calls = Loopback::calls();
    plain = calls.create_cq(&device.loopback.context(), 64, nullptr, nullptr, 0);
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = plain;
    attributes.cap.max_send_wr = 1000;
    before = calls.create_qp(device.loopback.pd(), &attributes);
    after = calls.create_qp(device.loopback.pd(), &attributes);
    Loopback::connect(before, in);
    Loopback::connect(out, after);
  }
  ~Chain() {
    const VerbsCalls calls = Loopback::calls();
    calls.destroy_qp(before);
    calls.destroy_qp(after);
    calls.destroy_cq(plain);
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;
  void prepare(Device& device) const {
    device.receive(in, 0);
    device.send(out, 0, 0);
    device.wait(manager, arrivals, 1);
    device.enable(manager, out, 1);
    ibv_recv_wr wr{}, *bad = nullptr;
    REQUIRE(device.tasks.own().post_recv(after, &wr, &bad) == 0);
  }
  ibv_cq *arrivals, *quiet, *plain;
  ibv_qp *in, *out, *manager, *before, *after;
};

}  // namespace

TEST_CASE("hca progress: a chain runs without polling, also on a device without events") {
  Device device;
  device.loopback.tells = GENERATE(true, false);
  Chain chain(device);
  for (int round = 0; round < 50; ++round) {
    chain.prepare(device);
    device.arrive(chain.before);
    await_polled(device, chain.plain, 1);
    CHECK(device.next(chain.arrivals).status == IBV_WC_SUCCESS);
  }
}

TEST_CASE("hca progress: a chain goes on where a device refused to tell of what had just come") {
  Device device;
  device.loopback.tells = false;
  Chain chain(device);
  device.loopback.when_asked_to_tell = [&] {  // the thread runs it: nothing is asserted
    ibv_send_wr wr{}, *bad = nullptr;
    wr.opcode = IBV_WR_SEND;
    device.tasks.own().post_send(chain.before, &wr, &bad);
  };
  chain.prepare(device);
  await_polled(device, chain.plain, 1);
  chain.prepare(device);
  device.arrive(chain.before);
  await_polled(device, chain.plain, 1);
}

TEST_CASE("hca progress: queues where nothing comes are not asked again and again") {
  Device device;
  Chain chain(device);
  ibv_cq* const silent = device.cq();
  ibv_qp* const waiting = device.mq(chain.quiet);
  device.wait(waiting, silent, 1);
  const auto round = [&] {
    chain.prepare(device);
    device.arrive(chain.before);
    await_polled(device, chain.plain, 1);
  };
  round();
  while (!Loopback::is_armed(silent))
    ::sched_yield();
  const int before = Loopback::polls(silent);
  for (int i = 0; i < 30; ++i)
    round();
  // The thread that arms the queue looks once more, as a completion may have come meanwhile.
  CHECK(Loopback::polls(silent) - before <= 2);
}

TEST_CASE("hca progress: unsignalled sends leave room for those that count") {
  Device device;
  ibv_cq* const sent = device.cq(16);
  ibv_cq* const arrived = device.cq(4096);
  ibv_qp* const from = device.qp(sent, sent, 0, 1024);
  ibv_qp* const to = device.qp(sent, arrived, 0, 1024);
  Loopback::connect(from, to);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    device.receive(to, i);
    device.send(from, i, 0);
  }
  device.send(from, 1000);
  device.receive(to, 1000);
  CHECK(device.next(sent).wr_id == 1000);
  for (std::uint64_t i = 0; i <= 1000; ++i)
    CHECK(device.next(arrived).wr_id == i);
  CHECK(Loopback::max_held(sent) <= 16 + 128);
}

TEST_CASE("hca progress: a completion queue that is not polled runs over, and says so") {
  Device device;
  ibv_cq* const sent = device.cq(1000);
  ibv_cq* const small = device.cq(4);
  ibv_qp* const from = device.qp(sent, sent, 0, 64);
  ibv_qp* const to = device.qp(sent, small, 0, 64);
  Loopback::connect(from, to);
  for (std::uint64_t i = 0; i < 8; ++i) {
    device.receive(to, i);
    device.send(from, i);
  }
  ibv_qp* const manager = device.mq(sent);
  device.wait(manager, small, 5, 1, IBV_SEND_SIGNALED);
  for (std::uint64_t i = 0; i < 8; ++i)
    CHECK(device.next(sent).wr_id == i);
  ibv_wc wc[16];
  CHECK(device.tasks.poll_cq(small, 16, wc) == 4);
  CHECK(device.tasks.poll_cq(small, 16, wc) == -1);
  CHECK(device.tasks.poll_cq(sent, 1, wc) == 0);  // the fifth was never counted
}

TEST_CASE("hca progress: a request that the device refuses at its release ends the queue pair") {
  Device device;
  ibv_cq* const sent = device.cq();
  ibv_qp* const from = device.qp(sent, sent, SCELA_QP_MANAGED_SEND);
  ibv_qp* const manager = device.mq(device.cq());
  device.send(from, 1);
  device.send(from, 2);
  device.loopback.refuses_sends = true;
  device.enable(manager, from, 1);
  CHECK(device.next(sent).status == IBV_WC_LOC_QP_OP_ERR);
  const ibv_wc second = device.next(sent);
  CHECK(second.wr_id == 2);
  CHECK(second.status == IBV_WC_WR_FLUSH_ERR);
  CHECK(from->state == IBV_QPS_ERR);
  // If the device refuses at once, the call that posts returns the error.
  ibv_qp* const direct = device.qp(sent, sent);
  CHECK(device.try_send(direct, 3) == EINVAL);
}

TEST_CASE("hca progress: a failure of the device flushes what is held, and no wr_id is ours") {
  Device device;
  ibv_cq* const sent = device.cq();
  ibv_qp* const from = device.qp(sent, sent, SCELA_QP_MANAGED_SEND);
  ibv_qp* const manager = device.mq(device.cq());
  for (std::uint64_t i = 0; i < 4; ++i)
    device.send(from, i, 0);
  device.loopback.next_status = IBV_WC_REM_ACCESS_ERR;
  device.enable(manager, from, 2);
  const ibv_wc_status expected[] = {IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR,
                                    IBV_WC_WR_FLUSH_ERR};
  for (std::uint64_t i = 0; i < 4; ++i) {
    const ibv_wc wc = device.next(sent);
    CHECK(wc.wr_id == i);
    CHECK(wc.status == expected[i]);
  }
}

TEST_CASE("hca progress: threads post and poll beside the one that executes, and lose nothing") {
  Device device;
  constexpr int kThreads = 3;
  constexpr std::uint64_t kRounds = 300;
  struct Own {
    ibv_cq *sent, *arrived, *done;
    ibv_qp *from, *to, *manager;
  };
  std::vector<Own> owns;
  for (int i = 0; i < kThreads; ++i) {
    Own own{};
    own.sent = device.cq();
    own.arrived = device.cq();
    own.done = device.cq();
    own.from = device.qp(own.sent, own.sent, SCELA_QP_MANAGED_SEND);
    own.to = device.qp(own.sent, own.arrived);
    own.manager = device.mq(own.done);
    Loopback::connect(own.from, own.to);
    owns.push_back(own);
  }
  Chain chain(device);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (const Own& own : owns) {
    threads.emplace_back([&device, &wrong, own] {
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        ibv_recv_wr receive{}, *bad_receive = nullptr;
        receive.wr_id = i;
        ibv_send_wr send{}, *bad_send = nullptr;
        send.wr_id = i;
        send.opcode = IBV_WR_SEND;
        send.send_flags = IBV_SEND_SIGNALED;
        scela_task tasks[2] = {}, *bad = nullptr;
        tasks[0].next = &tasks[1];
        tasks[0].opcode = SCELA_TASK_SEND_ENABLE;
        tasks[0].u.enable = {own.from, 1};
        tasks[1].opcode = SCELA_TASK_WAIT;
        tasks[1].wr_id = i;
        tasks[1].send_flags = IBV_SEND_SIGNALED;
        tasks[1].u.wait = {own.arrived, 1, 1};
        wrong += device.tasks.post_recv(own.to, &receive, &bad_receive) != 0;
        wrong += device.tasks.post_send(own.from, &send, &bad_send) != 0;
        wrong += device.tasks.post_task(own.manager, tasks, &bad) != 0;
        for (ibv_cq* const cq : {own.done, own.arrived, own.sent}) {
          ibv_wc wc{};
          while (device.tasks.poll_cq(cq, 1, &wc) == 0)
            ::sched_yield();
          wrong += wc.status != IBV_WC_SUCCESS || wc.wr_id != i;
        }
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    chain.prepare(device);
    device.arrive(chain.before);
    await_polled(device, chain.plain, 1);
    CHECK(device.next(chain.arrivals).status == IBV_WC_SUCCESS);
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("hca progress: nothing is calculated for a queue pair that is gone") {
  Loopback loopback;
  DeviceTasks tasks(loopback.context(), Loopback::calls());
  // These are so many that the posting thread does not calculate them itself.
  constexpr std::size_t kNumbers = 65536;
  std::vector<std::int64_t> from(kNumbers, 1), to(kNumbers);
  const auto sge = [](std::vector<std::int64_t>& numbers) {
    return ibv_sge{reinterpret_cast<std::uint64_t>(numbers.data()),
                   static_cast<std::uint32_t>(numbers.size() * sizeof numbers[0]), 0};
  };
  ibv_cq* cq = nullptr;
  REQUIRE(tasks.create_cq(64, nullptr, 0, cq) == 0);
  for (int round = 0; round < 50; ++round) {
    ibv_qp* mq = nullptr;
    REQUIRE(tasks.create_mq(loopback.pd(), cq, 8, mq) == 0);
    ibv_sge sges[] = {sge(to), sge(from), sge(from)};
    for (int i = 0; i < 4; ++i) {
      scela_task task{}, *bad = nullptr;
      task.opcode = SCELA_TASK_CALC;
      task.u.calc = {SCELA_CALC_SUM, SCELA_CALC_INT64, sges, 3};
      REQUIRE(tasks.post_task(mq, &task, &bad) == 0);
    }
    const bool resets = round % 2 == 1;
    if (resets) {
      ibv_qp_attr attributes{};
      attributes.qp_state = IBV_QPS_RESET;
      REQUIRE(tasks.modify_qp(mq, &attributes, IBV_QP_STATE) == 0);
    } else {
      REQUIRE(tasks.destroy_qp(mq) == 0);
    }
    std::ranges::fill(to, -1);
    // One more queue calculates behind what is left of the others.
    ibv_qp* other = nullptr;
    REQUIRE(tasks.create_mq(loopback.pd(), cq, 8, other) == 0);
    std::vector<std::int64_t> sum(kNumbers);
    ibv_sge last[] = {sge(sum), sge(from), sge(from)};
    scela_task task{}, *bad = nullptr;
    task.opcode = SCELA_TASK_CALC;
    task.send_flags = IBV_SEND_SIGNALED;
    task.u.calc = {SCELA_CALC_SUM, SCELA_CALC_INT64, last, 3};
    REQUIRE(tasks.post_task(other, &task, &bad) == 0);
    ibv_wc wc{};
    while (tasks.poll_cq(cq, 1, &wc) == 0)
      ::sched_yield();
    CHECK(wc.status == IBV_WC_SUCCESS);
    CHECK(sum == std::vector<std::int64_t>(kNumbers, 2));
    CHECK(to == std::vector<std::int64_t>(kNumbers, -1));
    REQUIRE(tasks.destroy_qp(other) == 0);
    if (resets) REQUIRE(tasks.destroy_qp(mq) == 0);
  }
  REQUIRE(tasks.destroy_cq(cq) == 0);
  CHECK(tasks.close_if_empty());
}

TEST_CASE("hca progress: the thread comes with the first queue pair and goes with the last") {
  Loopback loopback;
  DeviceTasks tasks(loopback.context(), Loopback::calls());
  for (int round = 0; round < 20; ++round) {
    ibv_cq* cq = nullptr;
    ibv_qp* mq = nullptr;
    REQUIRE(tasks.create_cq(8, nullptr, 0, cq) == 0);
    REQUIRE(tasks.create_mq(loopback.pd(), cq, 8, mq) == 0);
    CHECK(tasks.destroy_cq(cq) == EBUSY);
    CHECK_FALSE(tasks.close_if_empty());
    scela_task task{}, *bad = nullptr;
    task.opcode = SCELA_TASK_WAIT;
    task.u.wait = {cq, 1, 1};
    REQUIRE(tasks.post_task(mq, &task, &bad) == 0);
    REQUIRE(tasks.destroy_qp(mq) == 0);
    REQUIRE(tasks.destroy_cq(cq) == 0);
    CHECK(tasks.close_if_empty());
    CHECK(loopback.objects() == 0);
  }
}

}  // namespace scela::hca::progress::device_tasks_test
