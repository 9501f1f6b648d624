// Tests that queue pairs take turns: one that sends much does not delay another for long. Also
// tests that numbers of objects that have gone mean nothing.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/hca/core/nodes.h"

namespace scela::hca::test::turns_test {
namespace {

// Two queue pairs from one program to another. All completions go to one queue.
struct Two {
  Two() : a(fabric, 1), b(fabric, 2), cq(a.make_cq(2048)) {
    Ask ask;
    ask.cap = {1024, 16, 1, 1, 0};
    ask.send_cq = ask.recv_cq = cq;
    for (std::size_t i = 0; i < 2; ++i) {
      from[i] = a.make_qp(ask);
      to[i] = b.make_qp(QpType::rc);
      REQUIRE(connect(a, from[i], QpType::rc, to[i].handle) == 0);
      REQUIRE(connect(b, to[i], QpType::rc, from[i].handle) == 0);
    }
  }
  void write(std::size_t which, const Buffer& what, const Buffer& where, int count = 1) {
    for (int i = 0; i < count; ++i)
      a.post_send(from[which], remote(Opcode::rdma_write, where), {what.all()});
  }
  Fabric fabric;
  Program a, b;
  std::uint32_t cq;
  QueuePair from[2], to[2];
};

}  // namespace

TEST_CASE("hca turns: a long message keeps no other queue pair waiting") {
  Two two;
  const Buffer large = two.a.buffer(16'000'000, 1), there = two.b.buffer(16'000'000);
  const Buffer mine = two.a.buffer(8, 2), theirs = two.b.buffer(8);
  two.write(0, large, there);
  two.write(1, mine, theirs, 8);
  // The engine does a part of the long request, then the other requests.
  for (int looks = 0; looks < 2; ++looks)
    CHECK(two.fabric.engine.run(1));  // there is more to do
  const auto done = two.a.poll(two.cq);
  REQUIRE(done.size() == 8);
  for (const Completion& one : done)
    CHECK(one.qpn == two.from[1].handle);
  CHECK(there.bytes.back() == std::byte{0});
  two.fabric.run();
  CHECK(two.a.poll(two.cq).size() == 1);
  CHECK(there.bytes == large.bytes);
}

TEST_CASE("hca turns: many requests keep no other queue pair waiting") {
  Two two;
  const Buffer mine = two.a.buffer(8, 2), theirs = two.b.buffer(8);
  two.write(0, mine, theirs, 1000);
  two.write(1, mine, theirs);
  two.fabric.run();
  const auto done = two.a.poll(two.cq);
  REQUIRE(done.size() == 1001);
  const auto other = std::ranges::find(done, two.from[1].handle, &Completion::qpn);
  CHECK(other - done.begin() < 100);
}

TEST_CASE("hca turns: between nodes a long message keeps no other queue pair waiting") {
  Nodes nodes;
  QueuePair from[2], to[2];
  const Buffer large = pattern(nodes.a, 8'000'000), there = nodes.b.buffer(8'000'000);
  const Buffer mine = nodes.a.buffer(8, 2), theirs = nodes.b.buffer(8);
  for (std::size_t i = 0; i < 2; ++i) {
    nodes.connect_both(QpType::rc);
    from[i] = nodes.qa;
    to[i] = nodes.qb;
  }
  nodes.left.machine.max_frames = 4;
  nodes.b.post_recv(to[0], 0, {there.all()});
  nodes.b.post_recv(to[1], 1, {theirs.all()});
  nodes.a.post_send(from[0], request(Opcode::send), {large.all()});
  nodes.a.post_send(from[1], request(Opcode::send), {mine.all()});
  std::vector<Completion> came;
  for (int frames = 0; came.empty() && frames < 40; ++frames) {
    nodes.left.run();
    REQUIRE(nodes.carry(nodes.left, 1, nodes.right));
    came = nodes.b.poll();
  }
  REQUIRE(came.size() == 1);  // among 123 frames of the other
  CHECK(came[0].qpn == to[1].handle);
  nodes.run();
  CHECK(nodes.b.poll().size() == 1);
  CHECK(there.bytes == large.bytes);
}

TEST_CASE("hca turns: a long read of another node keeps none of its queue pairs waiting") {
  Nodes nodes;
  const Buffer large = pattern(nodes.b, 8'000'000), here = nodes.a.buffer(8'000'000);
  const Buffer theirs = nodes.b.buffer(8, 2), mine = nodes.a.buffer(8);
  nodes.connect_both(QpType::rc);
  const QueuePair reads = nodes.qa;
  nodes.connect_both(QpType::rc);
  nodes.right.machine.max_frames = 4;
  nodes.a.post_recv(nodes.qa, 1, {mine.all()});
  nodes.a.post_send(reads, remote(Opcode::rdma_read, large), {here.all()});
  nodes.left.run();
  while (nodes.carry(nodes.left, 1, nodes.right)) {
  }
  nodes.b.post_send(nodes.qb, request(Opcode::send), {theirs.all()});
  std::vector<Completion> came;
  for (int frames = 0; came.empty() && frames < 40; ++frames) {
    nodes.right.run();
    REQUIRE(nodes.carry(nodes.right, 2, nodes.left));
    came = nodes.a.poll();
  }
  REQUIRE(came.size() == 1);
  CHECK(came[0].qpn == nodes.qa.handle);
  nodes.run();
  CHECK(nodes.a.poll().size() == 1);
  CHECK(here.bytes == large.bytes);
}

TEST_CASE("hca: the key of a region that has gone leads nowhere, also when its place is taken") {
  Two two;
  const Buffer mine = two.a.buffer(8, 2);
  const Buffer gone = two.b.buffer(8);
  const auto forget = [&](std::uint32_t key) {
    Ask ask;
    ask.operation = Operation::dereg_mr;
    ask.handle = key;
    REQUIRE(two.b.request(ask).error == 0);
  };
  forget(gone.key);
  constexpr std::uint32_t kIndex = (1U << 22) - 1;
  std::vector<Buffer> others;
  do {
    REQUIRE(others.size() < 200);
    others.push_back(two.b.buffer(8));
    if ((others.back().key & kIndex) != (gone.key & kIndex)) forget(others.back().key);
  } while ((others.back().key & kIndex) != (gone.key & kIndex));
  CHECK(others.back().key != gone.key);
  SendRequest write = remote(Opcode::rdma_write, others.back());
  write.rkey = gone.key;
  two.a.post_send(two.from[0], write, {mine.all()});
  two.fabric.run();
  const auto done = two.a.poll(two.cq);
  REQUIRE(done.size() == 1);
  CHECK(done[0].status == Status::remote_access);
  CHECK(others.back().bytes[0] == std::byte{0});
  two.write(1, mine, others.back());
  two.fabric.run();
  CHECK(others.back().bytes[0] == std::byte{2});
}

}  // namespace scela::hca::test::turns_test
