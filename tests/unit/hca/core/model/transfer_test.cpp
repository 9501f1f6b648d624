// Tests memory that is not reached at once: which requests wait for it, and for how long.
#include <catch2/catch.hpp>

#include "tests/unit/hca/core/fabric_model.h"

namespace scela::hca::test::transfer_test {
namespace {

// Two processes, each with a connected queue pair. The memory of the processes in `distant` is not
// reached at once.
struct Pair {
  explicit Pair(const std::set<ProcessId>& distant)
      : a(prepare(fabric, distant), 1), b(fabric, 2), c(fabric, 3) {
    join(a, of_a, b, of_b);
    join(a, of_a_to_c, c, of_c);
  }
  static Fabric& prepare(Fabric& fabric, const std::set<ProcessId>& distant) {
    fabric.machine.distant = distant;
    return fabric;
  }
  static void join(Program& one, QueuePair& of_one, Program& other, QueuePair& of_other) {
    of_one = one.make_qp(QpType::rc);
    of_other = other.make_qp(QpType::rc);
    REQUIRE(connect(one, of_one, QpType::rc, of_other.handle) == 0);
    REQUIRE(connect(other, of_other, QpType::rc, of_one.handle) == 0);
  }
  Fabric fabric;
  Program a, b, c;
  QueuePair of_a, of_b, of_a_to_c, of_c;
};

std::vector<Status> statuses(const std::vector<Completion>& completions) {
  std::vector<Status> result;
  for (const Completion& completion : completions)
    result.push_back(completion.status);
  return result;
}

}  // namespace

TEST_CASE("hca transfers: a stopped process delays only transfers that need its memory") {
  Pair pair({2});
  Fabric& fabric = pair.fabric;
  const Buffer from = pair.a.buffer(64, 7), to_b = pair.b.buffer(64), to_c = pair.c.buffer(64);
  fabric.machine.stopped = {2};
  pair.a.post_send(pair.of_a, remote(Opcode::rdma_write, to_b), {from.all()});
  pair.a.post_send(pair.of_a_to_c, remote(Opcode::rdma_write, to_c), {from.all()});
  fabric.run();
  CHECK(statuses(pair.a.poll()) == std::vector{Status::success});
  CHECK(to_c.bytes == from.bytes);

  SECTION("until it goes on") {
    fabric.machine.stopped.clear();
    fabric.run();
    CHECK(statuses(pair.a.poll()) == std::vector{Status::success});
    CHECK(to_b.bytes == from.bytes);
    CHECK_FALSE(fabric.engine.deadline());  // no request waits for anything
  }
  SECTION("until the retries of the transport end") {
    const Moment begun = fabric.now;
    REQUIRE(fabric.advance());
    CHECK(fabric.now - begun >= 10'000'000'000);
    CHECK(statuses(pair.a.poll()) == std::vector{Status::retry_exceeded});
    fabric.machine.stopped.clear();
    fabric.run();
    CHECK(to_b.bytes == std::vector<std::byte>(64));  // the order was taken back
  }
  SECTION("until it ends") {
    fabric.machine.dead = {2};
    pair.b.leave();
    fabric.run();
    while (fabric.advance()) {
    }
    CHECK(statuses(pair.a.poll()) == std::vector{Status::retry_exceeded});
  }
  CHECK(fabric.machine.orders_given() == 0);
}

TEST_CASE(
    "hca transfers: requests of a stopped process wait for it, except tasks and inline data") {
  Pair pair({1});
  Fabric& fabric = pair.fabric;
  const Buffer from = pair.a.buffer(64, 7), to_b = pair.b.buffer(64), to_c = pair.c.buffer(64);
  fabric.machine.stopped = {1};
  pair.a.post_send(pair.of_a, remote(Opcode::rdma_write, to_b), {from.all()});
  SendRequest wait = request(Opcode::wait, 5);
  wait.target = pair.a.cq;
  pair.a.post_send(pair.of_a_to_c, wait, {});
  SendRequest inlined = remote(Opcode::rdma_write, to_c);
  inlined.flags |= send_flag::kInlined;
  inlined.inline_bytes = 16;
  pair.a.post_raw(pair.of_a_to_c, inlined, {Sge{~0ULL, 1, 2}});
  fabric.run();
  CHECK(statuses(pair.a.poll()) == std::vector{Status::success, Status::success});
  CHECK(to_c.bytes[0] == std::byte{0xFF});
  // The process waits for its own memory, for any time.
  fabric.now += 3'600'000'000'000;
  fabric.run();
  CHECK(pair.a.poll().empty());
  fabric.machine.stopped.clear();
  fabric.run();
  CHECK(statuses(pair.a.poll()) == std::vector{Status::success});
  CHECK(to_b.bytes == from.bytes);
}

TEST_CASE("hca transfers: an atomic operation is carried out once, though either memory is slow") {
  Pair pair({1, 2});
  Fabric& fabric = pair.fabric;
  Buffer result = pair.a.buffer(8), number = pair.b.buffer(8);
  SendRequest add = remote(Opcode::fetch_add, number);
  add.compare_add = 3;
  // The number at the target is changed, and the result is not stored yet.
  fabric.machine.stopped = {1};
  pair.a.post_send(pair.of_a, add, {result.all()});
  fabric.run();
  CHECK(number.bytes[0] == std::byte{3});
  for (int i = 0; i < 5; ++i)
    fabric.advance();
  fabric.machine.stopped.clear();
  fabric.run();
  pair.a.post_send(pair.of_a, add, {result.all()});
  fabric.run();
  CHECK(number.bytes[0] == std::byte{6});
  CHECK(result.bytes[0] == std::byte{3});
  CHECK(statuses(pair.a.poll()) == std::vector{Status::success, Status::success});
}

TEST_CASE("hca transfers: memory that is not there is the same error, at once or later") {
  const std::set<ProcessId> distant = GENERATE(std::set<ProcessId>{}, std::set<ProcessId>{1},
                                               std::set<ProcessId>{2}, std::set<ProcessId>{1, 2});
  Pair pair(distant);
  Fabric& fabric = pair.fabric;
  const Buffer from = pair.a.buffer(64, 7), to = pair.b.buffer(64);
  SECTION("of the sender") {
    fabric.machine.unmap(1, from.bytes.data());
    pair.a.post_send(pair.of_a, remote(Opcode::rdma_write, to), {from.all()});
    fabric.run();
    CHECK(statuses(pair.a.poll()) == std::vector{Status::local_protection});
    CHECK(pair.b.state(pair.of_b) == QpState::rts);
  }
  SECTION("of the receiver") {
    fabric.machine.unmap(2, to.bytes.data());
    pair.a.post_send(pair.of_a, remote(Opcode::rdma_write, to), {from.all()});
    fabric.run();
    CHECK(statuses(pair.a.poll()) == std::vector{Status::remote_operation});
    CHECK(pair.b.state(pair.of_b) == QpState::err);
  }
  CHECK(fabric.machine.orders_given() == 0);
}

TEST_CASE(
    "hca transfers: datagrams that come at once fill one request each, with what they carry") {
  Fabric fabric;
  fabric.machine.distant = GENERATE(std::set<ProcessId>{3}, std::set<ProcessId>{1, 2, 3});
  fabric.machine.max_orders = GENERATE(1U, 2U, 4U);
  Program a(fabric, 1), b(fabric, 2), c(fabric, 3);
  const QueuePair of_a = a.make_qp(QpType::ud), of_b = b.make_qp(QpType::ud),
                  of_c = c.make_qp(QpType::ud);
  connect(a, of_a, QpType::ud, 0);
  connect(b, of_b, QpType::ud, 0);
  connect(c, of_c, QpType::ud, 0);
  const Buffer from_a = a.buffer(64, 1), from_b = b.buffer(64, 2), to = c.buffer(256);
  SendRequest send = request(Opcode::send);
  send.destination = {{}, 1, 1, 0, of_c.handle, 0x1111, 0};
  c.post_recv(of_c, 0, {to.sge(0, 128)});
  c.post_recv(of_c, 1, {to.sge(128, 128)});
  fabric.machine.stopped = {3};
  a.post_send(of_a, send, {from_a.all()});
  b.post_send(of_b, send, {from_b.all()});
  fabric.run();
  // All orders are carried out before the engine looks.
  fabric.machine.stopped.clear();
  while (fabric.machine.carry_out_some()) {
  }
  fabric.run();
  const auto completions = c.poll();
  REQUIRE(completions.size() == 2);
  for (const Completion& completion : completions) {
    const std::byte wanted{completion.source_qpn == of_a.handle ? std::uint8_t{1}
                                                                : std::uint8_t{2}};
    CHECK(to.bytes[completion.wr_id * 128 + limit::kGrhBytes] == wanted);
    CHECK(to.bytes[completion.wr_id * 128 + limit::kGrhBytes + 63] == wanted);
  }
  CHECK(completions[0].source_qpn != completions[1].source_qpn);
  CHECK(fabric.machine.orders_given() == 0);
}

}  // namespace scela::hca::test::transfer_test
