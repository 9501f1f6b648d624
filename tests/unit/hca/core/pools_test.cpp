// Tests pools: memory that is reached at once, even if other memory of the process is not.
#include <catch2/catch.hpp>
#include <cerrno>

#include "hca/core/model/calc.h"
#include "tests/unit/hca/core/nodes.h"

namespace scela::hca::test::pools_test {
namespace {

// The memory of neither program is reached at once, and neither carries out anything.
struct Stopped {
  Stopped() : a(prepare(fabric), 1), b(fabric, 2) {
    of_a = a.make_qp(QpType::rc);
    of_b = b.make_qp(QpType::rc);
    REQUIRE(connect(a, of_a, QpType::rc, of_b.handle) == 0);
    REQUIRE(connect(b, of_b, QpType::rc, of_a.handle) == 0);
  }
  static Fabric& prepare(Fabric& fabric) {
    fabric.machine.distant = fabric.machine.stopped = {1, 2};
    return fabric;
  }
  Status next(Program& program) {
    fabric.run();
    const auto completions = program.poll();
    REQUIRE(completions.size() == 1);
    return completions[0].status;
  }
  Fabric fabric;
  Program a, b;
  QueuePair of_a, of_b;
};

}  // namespace

TEST_CASE("hca pools: pools of stopped processes are sent to, written, read and changed") {
  Stopped both;
  auto& [fabric, a, b, of_a, of_b] = both;
  Buffer here = a.pool(200'000, 7), there = b.pool(200'000);
  a.post_send(of_a, remote(Opcode::rdma_write, there), {here.all()});
  CHECK(both.next(a) == Status::success);
  CHECK(there.bytes == here.bytes);

  there.bytes.assign(there.bytes.size(), std::byte{9});
  a.post_send(of_a, remote(Opcode::rdma_read, there), {here.all()});
  CHECK(both.next(a) == Status::success);
  CHECK(here.bytes == there.bytes);

  here.bytes.assign(here.bytes.size(), std::byte{5});
  b.post_recv(of_b, 1, {there.all()});
  a.post_send(of_a, request(Opcode::send), {here.all()});
  CHECK(both.next(a) == Status::success);
  CHECK(both.next(b) == Status::success);
  CHECK(there.bytes == here.bytes);

  Buffer number = b.pool(8), result = a.pool(8);
  SendRequest add = remote(Opcode::fetch_add, number);
  add.compare_add = 3;
  for (int i = 0; i < 2; ++i) {
    a.post_send(of_a, add, {result.all()});
    CHECK(both.next(a) == Status::success);
  }
  CHECK(number.bytes[0] == std::byte{6});
  CHECK(result.bytes[0] == std::byte{3});
  CHECK(fabric.machine.orders_given() == 0);
  CHECK(fabric.machine.carried_out == 0);
}

TEST_CASE("hca pools: reductions of a stopped process go on in pools") {
  Stopped both;
  Buffer sums = both.a.pool(16), one = both.a.pool(16, 1), two = both.a.pool(16, 2);
  SendRequest sum = request(Opcode::calc);
  sum.target =
      static_cast<std::uint32_t>(CalcOp::sum) | static_cast<std::uint32_t>(CalcType::uint64) << 8;
  both.a.post_send(both.of_a, sum, {sums.all(), one.all(), two.all()});
  CHECK(both.next(both.a) == Status::success);
  CHECK(sums.bytes == std::vector<std::byte>(16, std::byte{3}));
}

TEST_CASE("hca pools: a transfer between a pool and other memory waits for the other only") {
  Stopped both;
  auto& [fabric, a, b, of_a, of_b] = both;
  const bool from_pool = GENERATE(true, false);
  const bool to_pool = !from_pool;
  Buffer here = from_pool ? a.pool(200'000, 7) : a.buffer(200'000, 7);
  Buffer there = to_pool ? b.pool(200'000) : b.buffer(200'000);
  a.post_send(of_a, remote(Opcode::rdma_write, there), {here.all()});
  fabric.run();
  CHECK(a.poll().empty());
  fabric.machine.stopped = {from_pool ? ProcessId{1} : ProcessId{2}};
  CHECK(both.next(a) == Status::success);
  CHECK(there.bytes == here.bytes);
}

TEST_CASE("hca pools: stopped processes send from and receive into pools between nodes, too") {
  Nodes nodes({1, 2});
  for (Fabric* fabric : {&nodes.left, &nodes.right})
    fabric->machine.stopped = {1, 2};
  nodes.connect_both(QpType::rc);
  const Buffer here = nodes.a.pool(3'000'000, 7), there = nodes.b.pool(3'000'000);
  const bool reads = GENERATE(false, true);
  if (reads)
    nodes.b.post_send(nodes.qb, remote(Opcode::rdma_read, here), {there.all()});
  else
    nodes.a.post_send(nodes.qa, remote(Opcode::rdma_write, there), {here.all()});
  nodes.run();
  const auto completions = (reads ? nodes.b : nodes.a).poll();
  REQUIRE(completions.size() == 1);
  CHECK(completions[0].status == Status::success);
  CHECK(there.bytes == here.bytes);
  CHECK(nodes.left.machine.carried_out + nodes.right.machine.carried_out == 0);
}

TEST_CASE("hca pools: a program's addresses are no pool's, and a pool's are no program's") {
  Fabric fabric;
  Program a(fabric, 1);
  Ask ask;
  ask.pd = a.pd;
  ask.length = 16;
  const auto error_of = [&](Operation operation, std::uint64_t address) {
    ask.operation = operation;
    ask.address = address;
    return a.request(ask).error;
  };
  CHECK(error_of(Operation::reg_mr, kPools) == EINVAL);
  CHECK(error_of(Operation::reg_mr, kPools + 4096) == EINVAL);
  CHECK(error_of(Operation::reg_mr, kPools - 15) == EINVAL);
  CHECK(error_of(Operation::reg_mr, kPools - 16) == 0);
  CHECK(error_of(Operation::reg_pool, kPools - 1) == EINVAL);
  CHECK(error_of(Operation::reg_pool, 4096) == EINVAL);
  CHECK(error_of(Operation::reg_pool, kPools) == 0);
}

}  // namespace scela::hca::test::pools_test
