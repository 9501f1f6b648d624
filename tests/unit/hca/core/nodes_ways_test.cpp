// Tests the connections between nodes: what is lost with one, what is repeated over the next, and
// what goes to several nodes.
#include <catch2/catch.hpp>

#include "tests/unit/hca/core/nodes.h"

namespace scela::hca::test::nodes_ways_test {

TEST_CASE("hca nodes: a node that is lost is tried again until the retries are over") {
  Nodes nodes;
  Way way;
  way.retries = 3;
  nodes.connect_both(QpType::rc, way);
  const Buffer mine = pattern(nodes.a, 100);
  const Buffer theirs = nodes.b.buffer(100);
  nodes.b.post_recv(nodes.qb, 1, {theirs.all()});
  nodes.a.post_send(nodes.qa, request(Opcode::send), {mine.all()});
  nodes.left.run();
  REQUIRE(nodes.left.machine.frames.size() == 1);
  nodes.left.machine.frames.clear();  // it was lost with the connection
  nodes.left.machine.cut.insert(2);
  nodes.left.engine.lost(2, nodes.left.now);
  SECTION("it comes back") {
    REQUIRE(nodes.advance());
    nodes.left.machine.cut.clear();
    REQUIRE(nodes.advance());
    CHECK(nodes.a.poll().at(0).status == Status::success);
    CHECK(nodes.b.poll().size() == 1);
  }
  SECTION("it does not") {
    int retries = 0;
    while (nodes.advance())
      ++retries;
    CHECK(retries == 4);
    CHECK(nodes.a.poll().at(0).status == Status::retry_exceeded);
    CHECK(nodes.a.state(nodes.qa) == QpState::err);
  }
}

TEST_CASE("hca nodes: frames lost in the middle of a message are sent again") {
  Nodes nodes;
  nodes.connect_both(QpType::rc);
  nodes.left.machine.max_frames = 2;
  const Buffer mine = pattern(nodes.a, 1'000'000);
  const Buffer theirs = nodes.b.buffer(1'000'000);
  nodes.a.post_send(nodes.qa, remote(Opcode::rdma_write, theirs), {mine.all()});
  nodes.left.run();
  REQUIRE(nodes.left.machine.frames.size() == 2);
  nodes.left.machine.frames.clear();
  nodes.left.engine.lost(2, nodes.left.now);
  nodes.right.engine.lost(1, nodes.right.now);
  REQUIRE(nodes.advance());
  CHECK(nodes.a.poll().at(0).status == Status::success);
  CHECK(theirs.bytes == mine.bytes);
}

TEST_CASE("hca nodes: a request that was carried out and lost its answer is answered again, once") {
  Nodes nodes;
  nodes.connect_both(QpType::rc);
  const Buffer mine = pattern(nodes.a, 200'000);
  const Buffer back = nodes.a.buffer(200'000);
  const Buffer written = nodes.b.buffer(200'000), received = nodes.b.buffer(200'000);
  const Buffer word = nodes.b.buffer(8);
  nodes.b.post_recv(nodes.qb, 1, {received.all()});
  nodes.a.post_send(nodes.qa, remote(Opcode::rdma_write, written), {mine.all()});
  SendRequest add = remote(Opcode::fetch_add, word);
  add.compare_add = 41;
  nodes.a.post_send(nodes.qa, add, {back.sge(0, 8)});
  add.compare_add = 1;
  nodes.a.post_send(nodes.qa, add, {back.sge(8, 8)});
  nodes.a.post_send(nodes.qa, request(Opcode::send), {mine.all()});
  nodes.a.post_send(nodes.qa, remote(Opcode::rdma_read, written, 16), {back.sge(16, 199'984)});
  // All requests are executed. All answers but the first few are lost with the connection.
  for (bool more = true; more;) {
    nodes.left.run();
    more = nodes.carry(nodes.left, 1, nodes.right);
  }
  nodes.right.run();
  for (std::size_t answers = GENERATE(std::size_t{0}, 1, 2, 4); answers > 0; --answers)
    nodes.carry(nodes.right, 2, nodes.left);
  nodes.left.machine.frames.clear();
  nodes.right.machine.frames.clear();
  nodes.left.engine.lost(2, nodes.left.now);
  nodes.right.engine.lost(1, nodes.right.now);
  REQUIRE(nodes.advance());
  const auto done = nodes.a.poll();
  REQUIRE(done.size() == 5);
  for (const Completion& each : done)
    CHECK(each.status == Status::success);
  CHECK(nodes.b.poll().size() == 1);
  CHECK(nodes.b.state(nodes.qb) == QpState::rts);
  CHECK(received.bytes == mine.bytes);
  CHECK(std::equal(back.bytes.begin() + 16, back.bytes.end(), mine.bytes.begin() + 16));
  std::uint64_t found[2], now = 0;
  std::memcpy(found, back.bytes.data(), sizeof found);
  std::memcpy(&now, word.bytes.data(), sizeof now);
  CHECK(found[0] == 0);
  CHECK(found[1] == 41);
  CHECK(now == 42);
}

TEST_CASE("hca nodes: a request that was never carried out is not answered as done") {
  Nodes nodes;
  Way way;
  way.retries = 1;
  nodes.connect_both(QpType::rc, way);
  const Buffer mine = nodes.a.buffer(8), theirs = nodes.b.buffer(8);
  // The sender begins with a number before the one that the other end expects.
  QpAttributes value;
  value.state = QpState::reset;
  REQUIRE(nodes.a.modify(nodes.qa, value, attribute::kState) == 0);
  way.psn = 99;
  way.lid = 11;
  REQUIRE(connect(nodes.a, nodes.qa, QpType::rc, nodes.qb.handle, way) == 0);
  nodes.a.post_send(nodes.qa, remote(Opcode::rdma_write, theirs), {mine.all()});
  do
    nodes.run();
  while (nodes.advance());
  CHECK(nodes.a.poll().at(0).status == Status::retry_exceeded);
}

TEST_CASE("hca nodes: a queue pair that is moved to another address sends to the peer there") {
  Nodes nodes;
  Way nowhere;
  nowhere.lid = 99;
  const QpType type = GENERATE(QpType::rc, QpType::uc);
  nodes.qa = nodes.a.make_qp(type);
  nodes.qb = nodes.b.make_qp(type);
  REQUIRE(connect(nodes.a, nodes.qa, type, nodes.qb.handle, nowhere) == 0);
  REQUIRE(connect(nodes.b, nodes.qb, type, nodes.qa.handle) == 0);
  const Buffer mine = pattern(nodes.a, 8), theirs = nodes.b.buffer(8);
  // With RC, the first request is still on its way when the address changes.
  if (type == QpType::rc)
    nodes.a.post_send(nodes.qa, remote(Opcode::rdma_write, theirs), {mine.all()});
  nodes.run();
  QpAttributes value;
  value.state = QpState::sqd;
  REQUIRE(nodes.a.modify(nodes.qa, value, attribute::kState) == 0);
  value.dlid = 11;
  REQUIRE(nodes.a.modify(nodes.qa, value, attribute::kState | attribute::kAv) == 0);
  value.state = QpState::rts;
  REQUIRE(nodes.a.modify(nodes.qa, value, attribute::kState) == 0);
  if (type == QpType::uc)
    nodes.a.post_send(nodes.qa, remote(Opcode::rdma_write, theirs), {mine.all()});
  do
    nodes.run();
  while (nodes.advance());
  CHECK(nodes.a.poll().at(0).status == Status::success);
  CHECK(theirs.bytes == mine.bytes);
}

TEST_CASE("hca nodes: a datagram to a group comes to its members on every node, once") {
  Nodes nodes;
  Ask join;
  join.operation = Operation::attach_mcast;
  join.gid.bytes[0] = 0xFF;
  join.gid.bytes[15] = 7;
  const Buffer mine = pattern(nodes.a, 100);
  nodes.qa = nodes.a.make_qp(QpType::ud);
  const QueuePair other = nodes.b.make_qp(QpType::ud);
  nodes.qb = nodes.b.make_qp(QpType::ud);
  std::vector<Buffer> came;
  const auto enter = [&](Program& program, const QueuePair& qp, bool joins) {
    REQUIRE(connect(program, qp, QpType::ud, 0) == 0);
    came.push_back(program.buffer(140));
    program.post_recv(qp, qp.handle, {came.back().all()});
    join.handle = qp.handle;
    if (joins) REQUIRE(program.request(join).error == 0);
  };
  enter(nodes.a, nodes.qa, true);
  enter(nodes.b, nodes.qb, true);
  enter(nodes.b, other, false);
  SendRequest send = request(Opcode::send);
  send.destination = {join.gid, 0, 1, 1, 0xFFFFFF, 0x1111, 0};
  SECTION("by a member") {
    nodes.a.post_send(nodes.qa, send, {mine.all()});
    nodes.run();
    CHECK(nodes.a.poll().size() == 2);
    CHECK(std::equal(mine.bytes.begin(), mine.bytes.end(), came[0].bytes.begin() + 40));
    const auto received = nodes.b.poll();
    REQUIRE(received.size() == 1);
    CHECK(received[0].wr_id == nodes.qb.handle);
    CHECK(received[0].source_qpn == nodes.qa.handle);
    CHECK(std::equal(mine.bytes.begin(), mine.bytes.end(), came[1].bytes.begin() + 40));
    CHECK(nodes.left.machine.frames.empty());  // no node hands it on
    CHECK(nodes.right.machine.frames.empty());
  }
  SECTION("where no member is on the sender's node") {
    join.operation = Operation::detach_mcast;
    join.handle = nodes.qa.handle;
    REQUIRE(nodes.a.request(join).error == 0);
    nodes.a.post_send(nodes.qa, send, {mine.all()});
    nodes.run();
    CHECK(nodes.a.poll().size() == 1);
    CHECK(nodes.b.poll().size() == 1);
  }
  SECTION("with a full way: that node misses it, and no sender waits") {
    nodes.left.machine.max_frames = 0;
    nodes.a.post_send(nodes.qa, send, {mine.all()});
    nodes.run();
    CHECK(nodes.a.poll().size() == 2);
    CHECK(nodes.b.poll().empty());
  }
}

}  // namespace scela::hca::test::nodes_ways_test
