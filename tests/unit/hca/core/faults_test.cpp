// Tests the faults that an engine commits on purpose (Faults), and what programs see of them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "tests/unit/hca/core/nodes.h"

namespace scela::hca::test::faults_test {
namespace {

Settings with(const Faults& faults, std::uint64_t seed = 1) {
  Settings settings = node(1);
  settings.seed = seed;
  settings.faults = faults;
  return settings;
}

Faults late(std::uint32_t times) {
  Faults faults;
  faults.ud_late = times;
  return faults;
}

// A sender and a receiver of datagrams, on one node or on two. The sender's node has the faults.
struct Datagrams {
  Datagrams(const Faults& faults, bool two_nodes, bool distant, std::uint64_t seed = 1)
      : left(with(faults, seed)), right(node(11)) {
    left.machine.nodes[11] = 2;
    right.machine.nodes[1] = 1;
    if (distant) left.machine.distant = {1, 2};
    Fabric& receives = two_nodes ? right : left;
    a = std::make_unique<Program>(left, 1);
    b = std::make_unique<Program>(receives, 2);
    lid = two_nodes ? 11 : 1;
    Ask ask;
    ask.qp_type = QpType::ud;
    ask.cap = {256, 256, 1, 1, 64};
    ask.send_cq = a->make_cq(512);
    from = a->make_qp(ask);
    sent = ask.send_cq;
    ask.send_cq = ask.recv_cq = came = b->make_cq(512);
    to = b->make_qp(ask);
    REQUIRE(connect(*a, from, QpType::ud, 0) == 0);
    REQUIRE(connect(*b, to, QpType::ud, 0) == 0);
    landing = b->buffer(48 * 256);
  }
  void run() {
    for (bool more = true; more;) {
      left.run();
      right.run();
      more = !left.machine.frames.empty();
      if (!more) break;
      const Machine::Frame frame = std::move(left.machine.frames.front());
      left.machine.frames.pop_front();
      CHECK(right.engine.receive(1, frame.bytes, right.now));
    }
  }
  bool advance() {
    const auto next = left.engine.deadline();
    if (!next) return false;
    left.now = right.now = std::max(left.now, *next);
    run();
    return true;
  }
  void expect(std::uint64_t number) { b->post_recv(to, number, {landing.sge(48 * number, 48)}); }
  void send(std::uint64_t number, const Buffer& what) {
    SendRequest send = request(Opcode::send_with_imm, number);
    send.immediate = static_cast<std::uint32_t>(number);
    send.destination = {{}, lid, 1, 0, to.handle, 0x1111, 0};
    a->post_send(from, send, {what.all()});
  }
  std::vector<std::uint32_t> numbers() {
    std::vector<std::uint32_t> found;
    for (const Completion& one : b->poll(came))
      found.push_back(one.immediate);
    return found;
  }
  Fabric left, right;
  std::unique_ptr<Program> a, b;
  std::uint16_t lid = 1;
  std::uint32_t sent = 0, came = 0;
  QueuePair from, to;
  Buffer landing;
};

struct Pair {
  explicit Pair(const Faults& faults, const Way& way = {})
      : fabric(with(faults)), a(fabric, 1), b(fabric, 2) {
    from = a.make_qp(QpType::rc);
    to = b.make_qp(QpType::rc);
    REQUIRE(connect(a, from, QpType::rc, to.handle, way) == 0);
    REQUIRE(connect(b, to, QpType::rc, from.handle, way) == 0);
  }
  Fabric fabric;
  Program a, b;
  QueuePair from, to;
};

}  // namespace

TEST_CASE("hca faults: datagrams that are late arrive all, behind others, the same way each time") {
  const bool two_nodes = GENERATE(false, true);
  const bool distant = GENERATE(false, true);
  std::vector<std::uint32_t> before;
  for (int time = 0; time < 2; ++time) {
    Datagrams datagrams(late(300), two_nodes, distant, 7);
    const Buffer mine = datagrams.a->buffer(8, 1);
    for (std::uint64_t n = 0; n < 200; ++n) {
      datagrams.expect(n);
      datagrams.send(n, mine);
    }
    const Moment begun = datagrams.left.now;
    datagrams.run();
    // The sender has a completion for each datagram. The datagrams that are not late have not
    // waited.
    CHECK(datagrams.a->poll(datagrams.sent).size() == 200);
    std::vector<std::uint32_t> came = datagrams.numbers();
    CHECK(came.size() > 100);
    CHECK(came.size() < 180);
    CHECK(std::ranges::is_sorted(came));
    while (datagrams.advance()) {
      const auto more = datagrams.numbers();
      came.insert(came.end(), more.begin(), more.end());
    }
    CHECK(datagrams.left.now - begun <= 2'000'000);
    CHECK_FALSE(std::ranges::is_sorted(came));
    if (time == 0) before = came;
    CHECK(came == before);
    std::ranges::sort(came);
    std::vector<std::uint32_t> all(200);
    std::iota(all.begin(), all.end(), 0);
    CHECK(came == all);
  }
}

TEST_CASE("hca faults: a late datagram carries what stood in memory when it was sent") {
  Datagrams datagrams(late(1000), GENERATE(false, true), GENERATE(false, true));
  Buffer mine = datagrams.a->buffer(8, 1);
  datagrams.expect(0);
  datagrams.send(0, mine);
  datagrams.run();
  REQUIRE(datagrams.a->poll(datagrams.sent).size() == 1);
  REQUIRE(datagrams.numbers().empty());
  std::ranges::fill(mine.bytes, std::byte{2});
  REQUIRE(datagrams.advance());
  CHECK(datagrams.numbers() == std::vector<std::uint32_t>{0});
  CHECK(datagrams.landing.bytes[40] == std::byte{1});
}

TEST_CASE("hca faults: a late datagram outlives its sender, and not its receiver") {
  Datagrams datagrams(late(1000), false, false);
  const Buffer mine = datagrams.a->buffer(8, 1);
  datagrams.expect(0);
  datagrams.send(0, mine);
  datagrams.run();
  const bool receiver_goes = GENERATE(false, true);
  (receiver_goes ? datagrams.b : datagrams.a)->leave();
  while (datagrams.advance()) {
  }
  if (!receiver_goes) CHECK(datagrams.numbers() == std::vector<std::uint32_t>{0});
}

TEST_CASE("hca faults: a late datagram to a group comes to its members, once each") {
  Fabric fabric(with(late(1000)));
  Program a(fabric, 1), b(fabric, 2);
  Ask ask;
  ask.operation = Operation::attach_mcast;
  ask.gid.bytes[0] = 0xFF;
  ask.gid.bytes[15] = 9;
  Program* const programs[] = {&a, &b};
  QueuePair qps[2];
  std::vector<Buffer> landing;
  for (std::size_t i = 0; i < 2; ++i) {
    qps[i] = programs[i]->make_qp(QpType::ud);
    REQUIRE(connect(*programs[i], qps[i], QpType::ud, 0) == 0);
    ask.handle = qps[i].handle;
    REQUIRE(programs[i]->request(ask).error == 0);
    landing.push_back(programs[i]->buffer(48));
    programs[i]->post_recv(qps[i], i, {landing[i].all()});
  }
  const Buffer mine = a.buffer(8, 5);
  SendRequest send = request(Opcode::send, 7);
  send.destination = {ask.gid, 0, 1, 1, 0xFFFFFF, 0x1111, 0};
  a.post_send(qps[0], send, {mine.all()});
  fabric.run();
  REQUIRE(a.poll().size() == 1);
  REQUIRE(b.poll().empty());
  while (fabric.advance()) {
  }
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(programs[i]->poll().size() == 1);
    CHECK(landing[i].bytes[40] == std::byte{5});
  }
}

TEST_CASE(
    "hca faults: messages that find no receive request, or no answer, end with their retries") {
  Faults faults;
  const bool not_ready = GENERATE(false, true);
  (not_ready ? faults.not_ready : faults.unanswered) = 1000;
  Way way;
  way.retries = 3;
  way.rnr_retries = 2;
  Pair pair(faults, way);
  const Buffer mine = pair.a.buffer(8, 1), theirs = pair.b.buffer(8);
  pair.b.post_recv(pair.to, 1, {theirs.all()});
  pair.a.post_send(pair.from, request(Opcode::send), {mine.all()});
  pair.fabric.run();
  int attempts = 1;
  while (pair.fabric.advance())
    ++attempts;
  CHECK(attempts == (not_ready ? 3 : 4 + 1));  // it waits for the last timeout
  const auto done = pair.a.poll();
  REQUIRE(done.size() == 1);
  CHECK(done[0].status == (not_ready ? Status::rnr_retry_exceeded : Status::retry_exceeded));
  CHECK(pair.a.state(pair.from) == QpState::err);
  CHECK(theirs.bytes[0] == std::byte{0});
}

TEST_CASE("hca faults: an engine that dies has carried out so many requests, and does no more") {
  Faults faults;
  faults.dies_after = 5;
  Pair pair(faults);
  Buffer mine = pair.a.buffer(8, 1);
  const Buffer theirs = pair.b.buffer(8);
  for (std::uint64_t n = 1; n <= 5; ++n) {
    std::ranges::fill(mine.bytes, static_cast<std::byte>(n));
    pair.a.post_send(pair.from, remote(Opcode::rdma_write, theirs), {mine.all()});
    pair.fabric.run();
  }
  CHECK_FALSE(pair.fabric.engine.has_died());
  CHECK(pair.a.poll().size() == 5);
  std::ranges::fill(mine.bytes, std::byte{9});
  for (int n = 0; n < 3; ++n)
    pair.a.post_send(pair.from, remote(Opcode::rdma_write, theirs), {mine.all()});
  pair.fabric.run();
  CHECK(pair.fabric.engine.has_died());
  CHECK_FALSE(pair.fabric.advance());
  CHECK(theirs.bytes[0] == std::byte{5});
  CHECK(pair.a.poll().empty());
}

TEST_CASE(
    "hca faults: a slow engine rests after each request, also between queues, and loses none") {
  Faults faults;
  faults.slow_us = 50;
  Pair pair(faults);
  QueuePair another = pair.a.make_qp(QpType::rc), peer = pair.b.make_qp(QpType::rc);
  REQUIRE(connect(pair.a, another, QpType::rc, peer.handle) == 0);
  REQUIRE(connect(pair.b, peer, QpType::rc, another.handle) == 0);
  const Buffer mine = pair.a.buffer(8, 1), theirs = pair.b.buffer(8);
  for (int n = 0; n < 10; ++n)
    for (const QueuePair& qp : {pair.from, another})
      pair.a.post_send(qp, remote(Opcode::rdma_write, theirs), {mine.all()});
  const Moment begun = pair.fabric.now;
  pair.fabric.run();
  std::size_t done = pair.a.poll().size();
  CHECK(done == 1);
  while (pair.fabric.advance()) {
    const std::size_t more = pair.a.poll().size();
    CHECK(more <= 1);
    done += more;
  }
  CHECK(done == 20);
  CHECK(pair.fabric.now - begun >= 19 * 50'000);
  CHECK(pair.fabric.now - begun <= 20 * 50'000);
  // The engine sleeps meanwhile: nothing can be done at once, and the next look has its time.
  pair.a.post_send(pair.from, remote(Opcode::rdma_write, theirs), {mine.all()});
  pair.a.post_send(pair.from, remote(Opcode::rdma_write, theirs), {mine.all()});
  pair.fabric.run();
  CHECK(pair.fabric.engine.deadline() == pair.fabric.now + 50'000);
}

}  // namespace scela::hca::test::faults_test
