// Tests an engine that is never kinder than hardware, and one that commits faults on purpose.
#include "hca/core/model/strictness.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/hca/core/fabric_model.h"

namespace scela::hca::test::strictness_test {

TEST_CASE(
    "hca: a strict engine tells completions in an order of its own, each queue's in its order") {
  Settings settings;
  settings.seed = GENERATE(range(1, 20));
  Fabric fabric(settings);
  Program a(fabric, 1), b(fabric, 2);
  std::vector<QueuePair> from, to;
  const Buffer mine = a.buffer(8, 1), theirs = b.buffer(8);
  for (std::size_t i = 0; i < 4; ++i) {
    from.push_back(a.make_qp(QpType::rc));
    to.push_back(b.make_qp(QpType::rc));
    REQUIRE(connect(a, from[i], QpType::rc, to[i].handle) == 0);
    REQUIRE(connect(b, to[i], QpType::rc, from[i].handle) == 0);
    for (std::uint64_t n = 0; n < 8; ++n) {
      SendRequest write = remote(Opcode::rdma_write, theirs);
      write.wr_id = n;
      a.post_send(from[i], write, {mine.all()});
    }
  }
  fabric.run();
  const auto done = a.poll();
  REQUIRE(done.size() == 32);
  std::map<std::uint32_t, std::uint64_t> next;
  std::size_t changes = 0;
  for (std::size_t i = 0; i < done.size(); ++i) {
    CHECK(done[i].wr_id == next[done[i].qpn]++);
    if (i > 0 && done[i].qpn != done[i - 1].qpn) ++changes;
  }
  CHECK(changes > 3);
}

namespace {

// Returns the completions of receives that a queue pair has got when the engine reports its last
// receive. The queue pair ends by a wrong request of its own, while completions of its receives are
// held.
std::vector<std::uint64_t> told_before_the_last(std::uint64_t seed) {
  Settings settings;
  settings.seed = seed;
  Fabric fabric(settings);
  Program a(fabric, 1), b(fabric, 2);
  const Answer srq = b.make_srq(8);
  REQUIRE(srq.error == 0);
  QueuePair to = b.make_qp(srq), from = a.make_qp(QpType::rc);
  REQUIRE(connect(a, from, QpType::rc, to.handle) == 0);
  REQUIRE(connect(b, to, QpType::rc, from.handle) == 0);
  const Buffer mine = a.buffer(8), theirs = b.buffer(8);
  for (std::uint64_t i = 0; i < 8; ++i)
    b.post_srq(srq, i, {theirs.all()});
  for (std::uint64_t i = 0; i < 8; ++i)
    a.post_send(from, request(Opcode::send), {mine.all()});
  b.post_send(to, request(Opcode::send), {Sge{0, 8, 12345}});
  const auto is_told = [&events = fabric.machine.events] {
    return !events.empty() && events.back().type == EventType::last_wqe_reached;
  };
  for (int steps = 0; steps < 10'000 && !is_told(); ++steps) {
    fabric.engine.run(fabric.now);
    fabric.machine.carry_out_some();
  }
  REQUIRE(is_told());
  const auto received = [&] {
    std::vector<std::uint64_t> found;
    for (const Completion& one : b.poll())
      if ((one.opcode & done::kReceive) != 0) found.push_back(one.wr_id);
    return found;
  };
  const std::vector<std::uint64_t> told = received();
  fabric.run();
  CHECK(received().empty());
  return told;
}

}  // namespace

TEST_CASE("hca: a strict engine tells of a last receive once all receives are told") {
  std::size_t most = 0;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const auto told = told_before_the_last(seed);
    for (std::size_t i = 0; i < told.size(); ++i)
      CHECK(told[i] == i);
    most = std::max(most, told.size());
  }
  CHECK(most > 1);
}

TEST_CASE("hca: a strict engine spoils the buffer that a message will fill, and nothing else") {
  Settings settings;
  settings.seed = 5;
  Fabric fabric(settings);
  Program a(fabric, 1), b(fabric, 2);
  QueuePair from = a.make_qp(QpType::rc), to = b.make_qp(QpType::rc);
  REQUIRE(connect(a, from, QpType::rc, to.handle) == 0);
  REQUIRE(connect(b, to, QpType::rc, from.handle) == 0);
  const std::size_t bytes = 4'000'000;
  const Buffer mine = a.buffer(bytes, 1), theirs = b.buffer(bytes + 8);
  b.post_recv(to, 1, {theirs.all()});
  a.post_send(from, request(Opcode::send), {mine.all()});
  fabric.engine.run(fabric.now);
  CHECK(theirs.bytes[0] == std::byte{1});
  CHECK(theirs.bytes[bytes - 1] == std::byte{0xDB});
  CHECK(theirs.bytes[bytes] == std::byte{0});
  fabric.run();
  CHECK(theirs.bytes[bytes - 1] == std::byte{1});
  CHECK(theirs.bytes[bytes] == std::byte{0});
}

TEST_CASE("hca: a strict engine fills a message's place in an order of its own, its end last") {
  std::set<std::vector<std::uint64_t>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Settings settings;
    settings.seed = seed;
    Fabric fabric(settings);
    Program a(fabric, 1), b(fabric, 2);
    QueuePair from = a.make_qp(QpType::rc), to = b.make_qp(QpType::rc);
    REQUIRE(connect(a, from, QpType::rc, to.handle) == 0);
    REQUIRE(connect(b, to, QpType::rc, from.handle) == 0);
    const Buffer mine = a.buffer(1001, 1), theirs = b.buffer(1001);
    a.post_send(from, remote(Opcode::rdma_write, theirs), {mine.sge(0, 400), mine.sge(400, 601)});
    fabric.run();
    CHECK(theirs.bytes == mine.bytes);
    std::vector<std::uint64_t> order = fabric.machine.copied_to;
    for (std::uint64_t& address : order)
      address -= theirs.address();
    CHECK(*std::ranges::max_element(order) == order.back());
    if (seed == 0) CHECK(order == std::vector<std::uint64_t>{0, 400});
    if (seed != 0) orders.insert(order);
  }
  CHECK(orders.size() > 3);
}

TEST_CASE("hca: faults happen as often as they are asked for, and reliable messages survive them") {
  Settings settings;
  settings.faults.ud_lost = settings.faults.ud_twice = 500;
  settings.faults.not_ready = 300;
  settings.faults.unanswered = 200;
  Fabric fabric(settings);
  Program a(fabric, 1), b(fabric, 2);
  const std::uint32_t cq = b.make_cq(4096);
  Ask ask;
  ask.recv_cq = cq;
  ask.cap = {16, 2048, 1, 1, 0};
  QueuePair from = a.make_qp(QpType::rc), to = b.make_qp(ask);
  REQUIRE(connect(a, from, QpType::rc, to.handle) == 0);
  REQUIRE(connect(b, to, QpType::rc, from.handle) == 0);
  ask.qp_type = QpType::ud;
  QueuePair ud_from = a.make_qp(QpType::ud), ud_to = b.make_qp(ask);
  REQUIRE(connect(a, ud_from, QpType::ud, 0) == 0);
  REQUIRE(connect(b, ud_to, QpType::ud, 0) == 0);
  const Buffer mine = a.buffer(8, 1), theirs = b.buffer(64);
  int waits = 0;
  for (std::uint64_t n = 0; n < 1000; ++n) {
    b.post_recv(to, n, {theirs.all()});
    a.post_send(from, request(Opcode::send, n), {mine.all()});
    fabric.run();
    while (fabric.advance())
      ++waits;
    const auto done = a.poll();
    REQUIRE(done.size() == 1);
    REQUIRE(done[0].status == Status::success);
    REQUIRE(b.poll(cq).size() == 1);
  }
  CHECK(waits > 500);
  std::size_t came = 0;
  for (std::uint64_t n = 0; n < 2000; ++n)
    b.post_recv(ud_to, n, {theirs.all()});
  for (std::uint64_t n = 0; n < 1000; ++n) {
    SendRequest send = request(Opcode::send, n);
    send.destination = {{}, 1, 1, 0, ud_to.handle, 0x1111, 0};
    a.post_send(ud_from, send, {mine.all()});
    fabric.run();
    REQUIRE(a.poll().size() == 1);
    came += b.poll(cq).size();
  }
  // Half of the datagrams are lost. Half of the others come twice.
  CHECK(came > 650);
  CHECK(came < 850);
}

TEST_CASE("hca: strictness and faults are read from words") {
  const auto faults = parse_faults("ud-lost=10,not-ready=1000");
  REQUIRE(faults);
  CHECK(faults->ud_lost == 10);
  CHECK(faults->not_ready == 1000);
  CHECK(faults->ud_twice == 0);
  CHECK(parse_faults(""));
  const auto more = parse_faults("slow-us=1000000,dies-after=4294967295,ud-late=7,ud-twice=0");
  REQUIRE(more);
  CHECK(more->slow_us == 1'000'000);
  CHECK(more->dies_after == 4294967295);
  CHECK(more->ud_late == 7);
  const auto said = [](std::string_view words) { return parse_faults(words).error().text(); };
  CHECK(said("ud-early=1")
            .find("'ud-early' is no fault: there are ud-lost, ud-twice, ud-late, "
                  "not-ready, unanswered, slow-us, dies-after") != std::string::npos);
  CHECK(said("ud-late=1001")
            .find("'ud-late=1001' names no number from 0 to 1000, which is times "
                  "in a thousand") != std::string::npos);
  CHECK(said("slow-us=1000001").find("microseconds") != std::string::npos);
  CHECK(said("dies-after=4294967296").find("requests") != std::string::npos);
  CHECK_FALSE(parse_faults("ud-lost"));
  CHECK_FALSE(parse_faults("ud-lost=1001"));
  CHECK_FALSE(parse_faults("ud-lost=-1"));
  CHECK(parse_seed("").value() == 0);
  CHECK(parse_seed("17").value() == 17);
  CHECK_FALSE(parse_seed("x"));
}

}  // namespace scela::hca::test::strictness_test
