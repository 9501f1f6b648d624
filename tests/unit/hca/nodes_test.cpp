// Messages between nodes: the same verbs, with frames on the way that are late, stopped or lost.
#include <catch2/catch.hpp>

#include "common/core/random.h"
#include "hca/core/wire.h"
#include "tests/unit/hca/fabric.h"

namespace scela::hca::test {
namespace {

Settings node(std::uint16_t lid) {
  Settings settings;
  settings.first_lid = lid;
  settings.gid.bytes[0] = 0xFD;
  settings.gid.bytes[8] = static_cast<std::uint8_t>(lid);
  return settings;
}

// Two nodes with a program each, and what is between them.
struct Nodes {
  Nodes() : left(node(1)), right(node(11)), a(left, 1), b(right, 2) {
    left.machine.nodes[11] = 2;
    right.machine.nodes[1] = 1;
  }
  bool carry(Fabric& from, std::uint32_t number, Fabric& to) {
    if (from.machine.frames.empty()) return false;
    const Machine::Frame frame = std::move(from.machine.frames.front());
    from.machine.frames.pop_front();
    CHECK(to.engine.receive(number, frame.bytes, to.now));
    if (from.machine.frames.size() + 1 == from.machine.most_frames)
      from.engine.writable(number == 1 ? 2 : 1);
    return true;
  }
  // Until nothing is to be done at once; frames of the two directions in any order.
  void run(std::uint64_t seed = 1) {
    Random random(seed);
    bool more = true;
    while (more) {
      left.run();
      right.run();
      const bool first = random.chance(1, 2);
      more = first ? carry(left, 1, right) || carry(right, 2, left)
                   : carry(right, 2, left) || carry(left, 1, right);
    }
  }
  bool advance() {
    const auto l = left.engine.deadline(), r = right.engine.deadline();
    if (!l && !r) return false;
    left.now = right.now = std::max(left.now, std::min(l.value_or(~0ULL), r.value_or(~0ULL)));
    run();
    return true;
  }
  void connect_both(QpType type, const Way& way = {}) {
    qa = a.make_qp(type);
    qb = b.make_qp(type);
    Way there = way, back = way;
    there.lid = 11;
    back.lid = 1;
    REQUIRE(connect(a, qa, type, qb.handle, there) == 0);
    REQUIRE(connect(b, qb, type, qa.handle, back) == 0);
  }
  Fabric left, right;
  Program a, b;
  QueuePair qa, qb;
};

Buffer pattern(Program& program, std::size_t bytes) {
  Buffer made = program.buffer(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    made.bytes[i] = static_cast<std::byte>(i * 31 >> 3);
  return made;
}

}  // namespace

TEST_CASE("hca nodes: sends of every size arrive whole, in order, whatever the ways take") {
  Nodes nodes;
  const QpType type = GENERATE(QpType::rc, QpType::uc);
  nodes.left.machine.most_frames = nodes.right.machine.most_frames =
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

TEST_CASE(
    "hca nodes: what finds no receive request comes again, with all that was sent behind it, "
    "once") {
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
  nodes.left.machine.frames.clear();  // it went with the connection
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
  send.destination.lid = 99;  // nobody
  nodes.a.post_send(nodes.qa, send, {mine.all()});
  nodes.run();
  CHECK(nodes.a.poll().size() == 2);
  const auto received = nodes.b.poll();
  REQUIRE(received.size() == 1);
  CHECK(received[0].slid == 1);
  CHECK(std::equal(mine.bytes.begin(), mine.bytes.end(), theirs.bytes.begin() + 40));
}

TEST_CASE("hca nodes: frames that say what cannot be do no harm") {
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

TEST_CASE("hca nodes: what is wrong with a long message is told while it is still being sent") {
  Nodes nodes;
  Way way;
  way.retries = 1;
  way.rnr_retries = 7;
  nodes.connect_both(QpType::rc, way);
  nodes.left.machine.most_frames = 2;  // answers come between its parts
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

TEST_CASE("hca nodes: a new round repeats neither tasks nor what was found to be wrong") {
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
  nodes.a.post_send(nodes.qa, request(Opcode::send), {mine.all()});  // nobody waits for it
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

TEST_CASE("hca nodes: what is lost in the middle of a message is sent again") {
  Nodes nodes;
  nodes.connect_both(QpType::rc);
  nodes.left.machine.most_frames = 2;
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

TEST_CASE("hca nodes: much that is sent behind a read arrives, however slow the read is") {
  Nodes nodes;
  nodes.connect_both(QpType::rc);
  nodes.right.machine.most_frames = 1;
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

TEST_CASE("hca nodes: what was carried out, and whose answer was lost, is answered again, once") {
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
  // All of it is executed, and every answer but the first few goes with the connection.
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

TEST_CASE("hca nodes: what was never carried out is not answered as if it had been") {
  Nodes nodes;
  Way way;
  way.retries = 1;
  nodes.connect_both(QpType::rc, way);
  const Buffer mine = nodes.a.buffer(8), theirs = nodes.b.buffer(8);
  // It begins with a number before the one that the other expects.
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

TEST_CASE("hca nodes: a queue pair that is led to another address speaks to who is there") {
  Nodes nodes;
  Way nowhere;
  nowhere.lid = 99;
  const QpType type = GENERATE(QpType::rc, QpType::uc);
  nodes.qa = nodes.a.make_qp(type);
  nodes.qb = nodes.b.make_qp(type);
  REQUIRE(connect(nodes.a, nodes.qa, type, nodes.qb.handle, nowhere) == 0);
  REQUIRE(connect(nodes.b, nodes.qb, type, nodes.qa.handle) == 0);
  const Buffer mine = pattern(nodes.a, 8), theirs = nodes.b.buffer(8);
  // Of a reliable one the first is still on its way when the address changes.
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
    CHECK(nodes.left.machine.frames.empty());  // nobody hands it on
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
  SECTION("with a way that takes no more: that node misses it, and nobody waits") {
    nodes.left.machine.most_frames = 0;
    nodes.a.post_send(nodes.qa, send, {mine.all()});
    nodes.run();
    CHECK(nodes.a.poll().size() == 2);
    CHECK(nodes.b.poll().empty());
  }
}

}  // namespace scela::hca::test
