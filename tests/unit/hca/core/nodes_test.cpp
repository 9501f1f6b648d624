// Tests messages between nodes: the same verbs, with frames that are late, stopped or wrong.
#include <catch2/catch.hpp>

#include "hca/core/wire/engine_frame.h"
#include "tests/unit/hca/core/nodes.h"

namespace scela::hca::test::nodes_test {

TEST_CASE("hca nodes: sends of every size arrive whole, in order, whatever the ways take") {
  Nodes nodes;
  const QpType type = GENERATE(QpType::rc, QpType::uc);
  nodes.left.machine.max_frames = nodes.right.machine.max_frames =
      GENERATE(std::size_t{2}, std::size_t{1000});
  nodes.connect_both(type);
  const std::uint32_t sizes[] = {0, 1, 8, 65536, 65537, 1'000'003, 7};
  const Buffer mine = pattern(nodes.a, 1'000'003);
  std::vector<Buffer> theirs;
  std::uint64_t id = 0;
  for (const std::uint32_t size : sizes) {
    theirs.push_back(nodes.b.buffer(size + 1));
    nodes.b.post_recv(nodes.qb, id, {theirs.back().all()});
    SendRequest send = request(Opcode::send_with_imm, id);
    send.immediate = static_cast<std::uint32_t>(id++);
    nodes.a.post_send(nodes.qa, send, {mine.sge(0, size)});
  }
  nodes.run();
  const auto received = nodes.b.poll();
  REQUIRE(received.size() == id);
  for (std::size_t i = 0; i < id; ++i) {
    CHECK(received[i].wr_id == i);
    CHECK(received[i].immediate == i);
    CHECK(received[i].bytes == sizes[i]);
    CHECK(received[i].source_qpn == nodes.qa.handle);
    CHECK(std::equal(theirs[i].bytes.begin(), theirs[i].bytes.end() - 1, mine.bytes.begin()));
  }
  const auto sent = nodes.a.poll();
  REQUIRE(sent.size() == id);
  for (std::size_t i = 0; i < id; ++i)
    CHECK(sent[i].wr_id == i);
}

TEST_CASE(
    "hca nodes: writes, reads and atomics among others complete in the order of their posting") {
  Nodes nodes;
  Way way;
  way.rd_atomic = GENERATE(std::uint8_t{1}, std::uint8_t{16});
  nodes.connect_both(QpType::rc, way);
  const std::size_t bytes = 300'000;
  const Buffer mine = pattern(nodes.a, bytes);
  const Buffer back = nodes.a.buffer(bytes);
  const Buffer theirs = nodes.b.buffer(bytes + 8);
  nodes.b.post_recv(nodes.qb, 4, {});
  nodes.a.post_send(nodes.qa, remote(Opcode::rdma_write, theirs), {mine.all()});
  nodes.a.post_send(nodes.qa, remote(Opcode::rdma_read, theirs), {back.all()});
  SendRequest add = remote(Opcode::fetch_add, theirs, bytes);
  add.compare_add = 41;
  nodes.a.post_send(nodes.qa, add, {back.sge(0, 8)});
  add.flags |= send_flag::kFence;
  add.compare_add = 1;
  nodes.a.post_send(nodes.qa, add, {back.sge(8, 8)});
  nodes.a.post_send(nodes.qa, request(Opcode::send), {});
  nodes.run();
  const auto done = nodes.a.poll();
  REQUIRE(done.size() == 5);
  const std::uint32_t order[] = {done::kRdmaWrite, done::kRdmaRead, done::kFetchAdd,
                                 done::kFetchAdd, done::kSend};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(done[i].status == Status::success);
    CHECK(done[i].opcode == order[i]);
  }
  CHECK(std::equal(back.bytes.begin() + 16, back.bytes.end(), mine.bytes.begin() + 16));
  std::uint64_t words[2];
  std::memcpy(words, back.bytes.data(), sizeof words);
  CHECK(words[0] == 0);
  CHECK(words[1] == 41);
  std::memcpy(words, theirs.bytes.data() + bytes, 8);
  CHECK(words[0] == 42);
}

TEST_CASE("hca nodes: a message without a receive request is repeated with all behind it, once") {
  Nodes nodes;
  nodes.connect_both(QpType::rc);
  const Buffer mine = pattern(nodes.a, 200'000);
  std::vector<Buffer> theirs;
  for (std::uint64_t i = 0; i < 5; ++i)
    nodes.a.post_send(nodes.qa, request(Opcode::send, i), {mine.all()});
  nodes.run();
  CHECK(nodes.b.poll().empty());
  for (std::uint64_t i = 0; i < 5; ++i) {
    theirs.push_back(nodes.b.buffer(200'000));
    nodes.b.post_recv(nodes.qb, i, {theirs.back().all()});
    REQUIRE(nodes.advance());
  }
  while (nodes.advance()) {
  }
  const auto received = nodes.b.poll();
  REQUIRE(received.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(received[i].wr_id == i);
    CHECK(theirs[i].bytes == mine.bytes);
  }
  CHECK(nodes.a.poll().size() == 5);
}

TEST_CASE("hca nodes: a wrong key ends the connection, and what was sent behind it is flushed") {
  Nodes nodes;
  nodes.connect_both(QpType::rc);
  const Buffer mine = pattern(nodes.a, 100);
  const Buffer theirs = nodes.b.buffer(100, 1);
  const bool reads = GENERATE(true, false);
  SendRequest wrong = remote(reads ? Opcode::rdma_read : Opcode::rdma_write, theirs);
  wrong.rkey ^= 0x400000;
  nodes.a.post_send(nodes.qa, wrong, {mine.all()});
  nodes.a.post_send(nodes.qa, remote(Opcode::rdma_write, theirs), {mine.all()});
  nodes.run();
  const auto done = nodes.a.poll();
  REQUIRE(done.size() == 2);
  CHECK(done[0].status == Status::remote_access);
  CHECK(done[1].status == Status::flushed);
  CHECK(nodes.b.state(nodes.qb) == QpState::err);
  CHECK(theirs.bytes[0] == std::byte{1});
}

TEST_CASE("hca nodes: datagrams find their queue pair by LID, with its key") {
  Nodes nodes;
  nodes.qa = nodes.a.make_qp(QpType::ud);
  nodes.qb = nodes.b.make_qp(QpType::ud);
  REQUIRE(connect(nodes.a, nodes.qa, QpType::ud, 0) == 0);
  REQUIRE(connect(nodes.b, nodes.qb, QpType::ud, 0) == 0);
  const Buffer mine = pattern(nodes.a, 1000);
  const Buffer theirs = nodes.b.buffer(1040);
  nodes.b.post_recv(nodes.qb, 1, {theirs.all()});
  SendRequest send = request(Opcode::send);
  send.destination = {{}, 11, 1, 0, nodes.qb.handle, 0x1111, 0};
  nodes.a.post_send(nodes.qa, send, {mine.all()});
  send.destination.lid = 99;  // no node has this LID
  nodes.a.post_send(nodes.qa, send, {mine.all()});
  nodes.run();
  CHECK(nodes.a.poll().size() == 2);
  const auto received = nodes.b.poll();
  REQUIRE(received.size() == 1);
  CHECK(received[0].slid == 1);
  CHECK(std::equal(mine.bytes.begin(), mine.bytes.end(), theirs.bytes.begin() + 40));
}

TEST_CASE("hca nodes: frames with impossible contents do no harm") {
  Nodes nodes;
  nodes.connect_both(QpType::rc);
  const Buffer mine = pattern(nodes.a, 100'000);
  const Buffer theirs = nodes.b.buffer(100'000);
  nodes.b.post_recv(nodes.qb, 1, {theirs.all()});
  nodes.a.post_send(nodes.qa, request(Opcode::send), {mine.all()});
  nodes.a.post_send(nodes.qa, remote(Opcode::rdma_read, theirs), {mine.all()});
  nodes.left.run();
  Random random(GENERATE(range(1, 40)));
  std::vector<std::vector<std::byte>> seen;
  for (int i = 0; i < 400; ++i) {
    for (Fabric* fabric : {&nodes.left, &nodes.right}) {
      fabric->engine.run(fabric->now);
      for (const Machine::Frame& frame : fabric->machine.frames)
        seen.push_back(frame.bytes);
      fabric->machine.frames.clear();
    }
    auto bytes = seen[random.below(seen.size())];
    for (std::uint64_t flips = random.below(4); flips > 0; --flips) {
      const std::size_t at = random.below(std::min(bytes.size(), sizeof(FrameHeader)));
      bytes[at] = static_cast<std::byte>(random.below(4) * random.below(256));
    }
    if (random.chance(1, 10)) bytes.resize(random.below(bytes.size() + 1));
    const bool to_left = random.chance(1, 2);
    (to_left ? nodes.left : nodes.right).engine.receive(to_left ? 2 : 1, bytes, 1);
  }
}

TEST_CASE("hca nodes: an error of a long message is reported while it is still being sent") {
  Nodes nodes;
  Way way;
  way.retries = 1;
  way.rnr_retries = 7;
  nodes.connect_both(QpType::rc, way);
  nodes.left.machine.max_frames = 2;  // answers come between its parts
  const Buffer mine = pattern(nodes.a, 1'000'000);
  const Buffer theirs = nodes.b.buffer(1'000'000);
  SECTION("a wrong key") {
    SendRequest wrong = remote(Opcode::rdma_write, theirs);
    wrong.rkey ^= 0x400000;
    nodes.a.post_send(nodes.qa, wrong, {mine.all()});
    nodes.run();
    CHECK(nodes.a.poll().at(0).status == Status::remote_access);
  }
  SECTION("no receive request, for longer than a transport's retries last") {
    nodes.a.post_send(nodes.qa, request(Opcode::send), {mine.all()});
    nodes.run();
    for (int i = 0; i < 5; ++i)
      REQUIRE(nodes.advance());
    CHECK(nodes.a.poll().empty());
    nodes.b.post_recv(nodes.qb, 1, {theirs.all()});
    REQUIRE(nodes.advance());
    CHECK(nodes.a.poll().at(0).status == Status::success);
    CHECK(theirs.bytes == mine.bytes);
  }
}

TEST_CASE("hca nodes: a new round repeats neither tasks nor errors that were found") {
  Nodes nodes;
  nodes.connect_both(QpType::rc);
  const Buffer mine = nodes.a.buffer(8), theirs = nodes.b.buffer(8);
  Ask ask;
  ask.qp_type = QpType::rc;
  ask.create_flags = create_flag::kManagedSend;
  const QueuePair held = nodes.a.make_qp(ask), end = nodes.b.make_qp(QpType::rc);
  Way there, back;
  there.lid = 11;
  REQUIRE(connect(nodes.a, held, QpType::rc, end.handle, there) == 0);
  REQUIRE(connect(nodes.b, end, QpType::rc, held.handle, back) == 0);
  for (std::uint64_t i = 0; i < 4; ++i)
    nodes.a.post_send(held, remote(Opcode::rdma_write, theirs), {mine.all()});
  nodes.a.post_send(nodes.qa, request(Opcode::send), {mine.all()});  // no receive waits for it
  const bool is_task = GENERATE(true, false);
  SendRequest behind = request(is_task ? Opcode::send_enable : Opcode::bind_mw);
  behind.target = held.handle;
  behind.wait_until = 1;
  nodes.a.post_send(nodes.qa, behind, {});
  nodes.run();
  for (int i = 0; i < 5; ++i)
    REQUIRE(nodes.advance());
  nodes.b.post_recv(nodes.qb, 1, {theirs.all()});
  while (nodes.advance()) {
  }
  CHECK(nodes.a.poll().size() == (is_task ? 3 : 2));
  CHECK(nodes.b.state(nodes.qb) == QpState::rts);
}

TEST_CASE("hca nodes: much that is sent behind a read arrives, however slow the read is") {
  Nodes nodes;
  nodes.connect_both(QpType::rc);
  nodes.right.machine.max_frames = 1;
  const Buffer mine = pattern(nodes.a, 30'000'000);
  const Buffer back = nodes.a.buffer(500'000);
  const Buffer theirs = nodes.b.buffer(30'000'000);
  nodes.a.post_send(nodes.qa, remote(Opcode::rdma_read, theirs), {back.all()});
  nodes.a.post_send(nodes.qa, remote(Opcode::rdma_write, theirs), {mine.all()});
  // All that is sent comes before the first byte of the answer leaves.
  for (bool more = true; more;) {
    nodes.left.run();
    more = nodes.carry(nodes.left, 1, nodes.right);
  }
  nodes.run();
  const auto done = nodes.a.poll();
  REQUIRE(done.size() == 2);
  CHECK(done[0].status == Status::success);
  CHECK(done[1].status == Status::success);
  CHECK(theirs.bytes == mine.bytes);
}

}  // namespace scela::hca::test::nodes_test
