// Tests messages of other nodes to processes that do not take them yet. No loss is silent, and the
// engine keeps only a limited number of bytes.
#include <catch2/catch.hpp>

#include "hca/core/wire/engine_frame.h"
#include "tests/unit/hca/core/nodes.h"

namespace scela::hca::test::waiting_test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
// The limits of docs/design/hca.md: for messages, for answers, and for bytes that move between
// processes.
constexpr std::uint64_t kMaxRequests = 64 * kMiB, kMaxAnswers = 64 * kMiB,
                        kMaxMoves = 64 * kMiB + 2 * 64 * 1024;
// The limit of one queue pair: a window, and how far its peer may be ahead.
constexpr std::uint64_t kOfOne = 6 * kMiB;

std::uint64_t kept(Fabric& fabric, ProcessId process) {
  for (const ProcessCounters& entry : fabric.engine.counters().processes)
    if (entry.process == process) return entry.holdings.kept_bytes;
  return 0;
}

struct Joined {
  QueuePair a, b;
};
Joined join(Nodes& nodes, const Way& way = {}) {
  nodes.connect_both(QpType::rc, way);
  return {nodes.qa, nodes.qb};
}

// Runs until nothing more happens. It is a fault if that never comes.
void settle(Nodes& nodes) {
  constexpr int kForEver = 2'000;
  int looks = 0;
  do
    nodes.run();
  while (nodes.advance() && ++looks < kForEver);
  REQUIRE(looks < kForEver);
}

std::vector<Status> statuses(const std::vector<Completion>& completions) {
  std::vector<Status> result;
  for (const Completion& completion : completions)
    result.push_back(completion.status);
  return result;
}

void stop(Nodes& nodes, ProcessId process, bool stopped) {
  for (Fabric* const fabric : {&nodes.left, &nodes.right}) {
    if (stopped)
      fabric->machine.stopped.insert(process);
    else
      fabric->machine.stopped.erase(process);
  }
}

}  // namespace

TEST_CASE("hca waiting: a large message to a stopped process arrives whole when that goes on") {
  Nodes nodes({2});
  const Joined one = join(nodes);
  const Buffer mine = pattern(nodes.a, 40 * kMiB + 5);
  const Buffer theirs = nodes.b.buffer(mine.bytes.size());
  const bool writes = GENERATE(true, false);
  nodes.b.post_recv(one.b, 1, {theirs.all()});
  nodes.a.post_send(one.a, writes ? remote(Opcode::rdma_write, theirs) : request(Opcode::send),
                    {mine.all()});
  nodes.a.post_send(one.a, request(Opcode::send, 2), {mine.sge(0, writes ? 8 : 0)});
  if (!writes) nodes.b.post_recv(one.b, 2, {});
  stop(nodes, 2, true);
  settle(nodes);
  CHECK(nodes.a.poll().empty());
  CHECK(kept(nodes.right, 2) > kMiB);
  CHECK(kept(nodes.right, 2) <= kOfOne);
  stop(nodes, 2, false);
  settle(nodes);
  CHECK(statuses(nodes.a.poll()) == std::vector{Status::success, Status::success});
  CHECK(statuses(nodes.b.poll()).size() == (writes ? 1 : 2));
  CHECK(theirs.bytes == mine.bytes);
  CHECK(kept(nodes.right, 2) == 0);
}

TEST_CASE("hca waiting: a large read by a stopped process is whole when that goes on") {
  Nodes nodes({1});
  const Joined one = join(nodes);
  const Buffer theirs = pattern(nodes.b, 80 * kMiB + 5);
  const Buffer mine = nodes.a.buffer(theirs.bytes.size());
  nodes.a.post_send(one.a, remote(Opcode::rdma_read, theirs), {mine.all()});
  stop(nodes, 1, true);
  settle(nodes);
  CHECK(kept(nodes.left, 1) > kMiB);
  CHECK(kept(nodes.left, 1) <= kOfOne);
  stop(nodes, 1, false);
  settle(nodes);
  CHECK(statuses(nodes.a.poll()) == std::vector{Status::success});
  CHECK(mine.bytes == theirs.bytes);
  CHECK(kept(nodes.left, 1) == 0);
}

TEST_CASE(
    "hca waiting: messages of many queue pairs to a stopped process have a bound, and arrive") {
  Nodes nodes({2});
  Way way;
  // Without retries, a send fails if a wait counts as a failed try.
  way.retries = way.rnr_retries = 0;
  std::vector<Joined> all;
  std::vector<Buffer> mine, theirs;
  for (int i = 0; i < 40; ++i) {
    all.push_back(join(nodes, way));
    mine.push_back(pattern(nodes.a, 6 * kMiB + 3));
    mine.back().bytes[7] = static_cast<std::byte>(i);
    theirs.push_back(nodes.b.buffer(mine.back().bytes.size()));
  }
  stop(nodes, 2, true);
  for (std::size_t i = 0; i < all.size(); ++i)
    nodes.a.post_send(all[i].a, remote(Opcode::rdma_write, theirs[i]), {mine[i].all()});
  settle(nodes);
  CHECK(kept(nodes.right, 2) <= kMaxRequests + kMiB);
  // A request that needs no memory of the stopped process is not held up.
  const Joined another = join(nodes);
  nodes.a.post_send(another.a, remote(Opcode::rdma_write, theirs[0]), {});
  settle(nodes);
  CHECK(statuses(nodes.a.poll()) == std::vector{Status::success});
  stop(nodes, 2, false);
  settle(nodes);
  CHECK(nodes.a.poll().size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(nodes.a.state(all[i].a) == QpState::rts);
    CHECK(theirs[i].bytes == mine[i].bytes);
  }
  CHECK(kept(nodes.right, 2) == 0);
}

TEST_CASE(
    "hca waiting: reads of many queue pairs of a stopped process have a bound, and complete") {
  Nodes nodes({1});
  Way way;
  way.retries = 0;
  std::vector<Joined> all;
  std::vector<Buffer> mine, theirs;
  for (int i = 0; i < 24; ++i) {
    all.push_back(join(nodes, way));
    theirs.push_back(pattern(nodes.b, 6 * kMiB + 3));
    theirs.back().bytes[7] = static_cast<std::byte>(i);
    mine.push_back(nodes.a.buffer(theirs.back().bytes.size()));
  }
  stop(nodes, 1, true);
  for (std::size_t i = 0; i < all.size(); ++i)
    nodes.a.post_send(all[i].a, remote(Opcode::rdma_read, theirs[i]), {mine[i].all()});
  settle(nodes);
  CHECK(kept(nodes.left, 1) <= kMaxAnswers + kMiB);
  CHECK(nodes.a.poll().empty());
  stop(nodes, 1, false);
  settle(nodes);
  CHECK(nodes.a.poll().size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(nodes.a.state(all[i].a) == QpState::rts);
    CHECK(mine[i].bytes == theirs[i].bytes);
  }
  CHECK(kept(nodes.left, 1) == 0);
}

TEST_CASE(
    "hca waiting: a node that sends without end makes the engine keep no more than its part") {
  Nodes nodes({2});
  std::vector<Joined> all;
  for (int i = 0; i < 12; ++i)
    all.push_back(join(nodes));
  const Buffer theirs = nodes.b.buffer(64 * 1024);
  stop(nodes, 2, true);
  std::vector<std::byte> frame(sizeof(FrameHeader) + kMaxPayload);
  const bool honest_rounds = GENERATE(true, false);
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const Joined& to = all[i % all.size()];
    FrameHeader header;
    header.kind = FrameKind::request;
    header.target_qpn = to.b.handle;
    header.source_qpn = to.a.handle;
    header.psn = 100 + i / static_cast<std::uint32_t>(all.size());
    header.round = honest_rounds ? 0 : i;
    header.opcode = Opcode::rdma_write;
    header.rkey = theirs.key;
    header.remote_address = theirs.address();
    header.total = header.count = kMaxPayload;
    std::memcpy(frame.data(), &header, sizeof header);
    REQUIRE(nodes.right.engine.receive(1, frame, nodes.right.now));
    if (i % 64 == 0) {
      nodes.right.run();
      REQUIRE(kept(nodes.right, 2) <= kMaxRequests + kMiB);
    }
  }
  // The node answers with few frames only.
  CHECK(nodes.right.machine.frames.size() < 1000);
  stop(nodes, 2, false);
  nodes.right.run();
  CHECK(kept(nodes.right, 2) == 0);
}

TEST_CASE("hca waiting: endless answers without a question are not kept") {
  Nodes nodes({1});
  Way way;
  way.retries = 2;
  const Joined one = join(nodes, way);
  const Buffer mine = nodes.a.buffer(64 * 1024), theirs = nodes.b.buffer(64 * 1024);
  stop(nodes, 1, true);
  nodes.a.post_send(one.a, remote(Opcode::rdma_read, theirs), {mine.all()});
  nodes.left.run();
  nodes.left.machine.frames.clear();
  std::vector<std::byte> frame(sizeof(FrameHeader) + 1024);
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    FrameHeader header;
    header.kind = FrameKind::data;
    header.target_qpn = one.a.handle;
    header.source_qpn = one.b.handle;
    header.psn = 100;
    header.round = i / 1000;
    header.total = 64 * 1024;
    header.count = 1024;
    std::memcpy(frame.data(), &header, sizeof header);
    REQUIRE(nodes.left.engine.receive(2, frame, nodes.left.now));
    if (i % 1000 != 0) continue;
    REQUIRE(kept(nodes.left, 1) <= kOfOne);
    nodes.left.advance();
  }
  // No honest node sends such answers. They count as none, and the retries end.
  CHECK(statuses(nodes.a.poll()) == std::vector{Status::retry_exceeded});
  CHECK(kept(nodes.left, 1) == 0);
}

TEST_CASE("hca waiting: a process that waits for a queue pair that ends is told") {
  Nodes nodes({2});
  Way way;
  way.retries = 2;
  const Joined one = join(nodes, way);
  const Buffer mine = nodes.a.buffer(10 * kMiB), theirs = nodes.b.buffer(10 * kMiB);
  stop(nodes, 2, true);
  const bool reads = GENERATE(false, true);
  const bool few = GENERATE(false, true);
  nodes.a.post_send(one.a, remote(reads ? Opcode::rdma_read : Opcode::rdma_write, theirs),
                    {mine.sge(0, few ? 8 : static_cast<std::uint32_t>(mine.bytes.size()))});
  settle(nodes);
  REQUIRE(nodes.a.poll().empty());
  QpAttributes value;
  SECTION("by an error") {
    value.state = QpState::err;
    REQUIRE(nodes.b.modify(one.b, value, attribute::kState) == 0);
  }
  SECTION("because it begins anew") {
    value.state = QpState::reset;
    REQUIRE(nodes.b.modify(one.b, value, attribute::kState) == 0);
  }
  SECTION("because it is destroyed") {
    Ask ask;
    ask.operation = Operation::destroy_qp;
    ask.handle = one.b.handle;
    REQUIRE(nodes.b.request(ask).error == 0);
  }
  SECTION("with its process") {
    nodes.right.machine.dead = {2};
    nodes.b.leave();
  }
  settle(nodes);
  CHECK(statuses(nodes.a.poll()) == std::vector{Status::retry_exceeded});
}

TEST_CASE("hca waiting: bytes fetched for a slow process have a bound, and none waits for ever") {
  Fabric fabric;
  fabric.machine.distant = fabric.machine.stopped = {2};
  fabric.machine.max_orders = 16;
  fabric.lazy = true;
  Program a(fabric, 1), b(fabric, 2);
  const Buffer mine = pattern(a, 64 * 1024), theirs = b.buffer(64 * 1024);
  Ask ask;
  ask.qp_type = QpType::rc;
  ask.send_cq = a.make_cq(2048);
  constexpr std::size_t kPairs = 1200;  // more than there is room for
  for (std::size_t i = 0; i < kPairs; ++i) {
    const QueuePair one = a.make_qp(ask), other = b.make_qp(QpType::rc);
    REQUIRE(connect(a, one, QpType::rc, other.handle) == 0);
    REQUIRE(connect(b, other, QpType::rc, one.handle) == 0);
    a.post_send(one, remote(Opcode::rdma_write, theirs), {mine.all()});
  }
  fabric.run();
  CHECK(kept(fabric, 2) > kMaxMoves / 2);
  CHECK(kept(fabric, 2) <= kMaxMoves);
  fabric.machine.stopped.clear();
  while (fabric.machine.carry_out_some()) {
    for (int more = 1; more < 16 && fabric.machine.carry_out_some(); ++more) {
    }
    fabric.run();
    CHECK(kept(fabric, 2) <= kMaxMoves);
  }
  const auto done = statuses(a.poll(ask.send_cq));
  CHECK(done == std::vector(kPairs, Status::success));
  CHECK(theirs.bytes == mine.bytes);
  CHECK(kept(fabric, 2) == 0);
}

}  // namespace scela::hca::test::waiting_test
