// Tests queues, domains and their holders: completion queues, shared receive queues, XRC,
// management queues, and what is left when an object goes.
#include <catch2/catch.hpp>
#include <cerrno>

#include "hca/core/model/engine.h"
#include "tests/unit/hca/core/pair.h"

namespace scela::hca::test::queues_test {

TEST_CASE("hca: a completion queue that is full says so once and takes nothing more") {
  Pair pair;
  const Buffer mine = pair.a.buffer(8);
  const std::uint32_t small = pair.a.make_cq(2);
  Ask ask;
  ask.qp_type = QpType::rc;
  ask.send_cq = small;
  QueuePair qp = pair.a.make_qp(ask);
  QueuePair other = pair.b.make_qp(QpType::rc);
  REQUIRE(connect(pair.a, qp, QpType::rc, other.handle) == 0);
  REQUIRE(connect(pair.b, other, QpType::rc, qp.handle) == 0);
  const Buffer theirs = pair.b.buffer(8);
  for (int i = 0; i < 4; ++i)
    pair.a.post_send(qp, remote(Opcode::rdma_write, theirs), {mine.all()});
  pair.fabric.run();
  CHECK(pair.a.poll(small).size() == 2);
  CHECK(pair.a.completions(small).broken == 1);
  REQUIRE(pair.fabric.machine.events.size() == 1);
  CHECK(pair.fabric.machine.events[0] == Machine::Event{1, EventType::cq_error, 77});
}

TEST_CASE("hca: a completion event comes once for each time that the queue is armed") {
  Pair pair;
  Ask ask;
  ask.operation = Operation::create_channel;
  const std::uint32_t channel = pair.b.request(ask).handle;
  const std::uint32_t cq = pair.b.make_cq(8, channel);
  Ask make;
  make.recv_cq = cq;
  QueuePair to = pair.b.make_qp(make);
  QueuePair from = pair.a.make_qp(QpType::rc);
  REQUIRE(connect(pair.a, from, QpType::rc, to.handle) == 0);
  REQUIRE(connect(pair.b, to, QpType::rc, from.handle) == 0);
  const Buffer mine = pair.a.buffer(8);
  const Buffer theirs = pair.b.buffer(8);
  const auto send = [&](std::uint32_t flags) {
    pair.b.post_recv(to, 1, {theirs.all()});
    pair.a.post_send(from, request(Opcode::send, 1, flags), {mine.all()});
    pair.fabric.run();
    return pair.fabric.machine.channel_events.size();
  };
  CHECK(send(0) == 0);
  pair.b.completions(cq).armed = static_cast<std::uint32_t>(Armed::any);
  CHECK(send(0) == 1);
  CHECK(send(0) == 1);
  pair.b.completions(cq).armed = static_cast<std::uint32_t>(Armed::solicited);
  CHECK(send(0) == 1);
  CHECK(send(send_flag::kSolicited) == 2);
  CHECK(pair.fabric.machine.channel_events[1].cookie == 77);
  CHECK(pair.fabric.machine.channel_events[1].channel == channel);
}

TEST_CASE("hca: XRC sends name a receive queue of any process of the domain") {
  Fabric fabric;
  Program a(fabric, 1), b(fabric, 2), c(fabric, 3);
  const auto open = [](Program& program, std::uint64_t inode) {
    Ask ask;
    ask.operation = Operation::open_xrcd;
    ask.file_device = 1;
    ask.file_inode = inode;
    ask.open_flags = 0100;
    return program.request(ask).handle;
  };
  const auto make_srq = [](Program& program, std::uint32_t xrcd) {
    Ask ask;
    ask.operation = Operation::create_srq;
    ask.srq_type = SrqType::xrc;
    ask.pd = program.pd;
    ask.cq = program.cq;
    ask.xrcd = xrcd;
    ask.cap.recv_requests = 8;
    ask.cap.recv_sges = 1;
    const Answer answer = program.request(ask);
    REQUIRE(answer.error == 0);
    return answer;
  };
  const std::uint32_t domain = open(b, 7);
  REQUIRE(open(c, 7) == domain);
  const std::uint32_t other_domain = open(c, 8);
  REQUIRE(other_domain != domain);
  const Answer of_b = make_srq(b, domain), of_c = make_srq(c, domain),
               elsewhere = make_srq(c, other_domain);
  Ask ask;
  ask.qp_type = QpType::xrc_recv;
  ask.xrcd = domain;
  QueuePair target = b.make_qp(ask);
  QueuePair initiator = a.make_qp(QpType::xrc_send);
  REQUIRE(connect(a, initiator, QpType::xrc_send, target.handle) == 0);
  REQUIRE(connect(b, target, QpType::xrc_recv, initiator.handle) == 0);
  const Buffer mine = a.buffer(8, 6), at_b = b.buffer(8), at_c = c.buffer(8);
  b.post_srq(of_b, 10, {at_b.all()});
  c.post_srq(of_c, 20, {at_c.all()});
  SendRequest send = request(Opcode::send);
  send.remote_srqn = of_c.number;
  a.post_send(initiator, send, {mine.all()});
  fabric.run();
  auto received = c.poll();
  REQUIRE(received.size() == 1);
  CHECK(received[0].wr_id == 20);
  CHECK(received[0].qpn == target.handle);
  CHECK(at_c.bytes[0] == std::byte{6});
  CHECK(b.poll().empty());
  CHECK(a.poll().size() == 1);

  SECTION("the target lives until its last holder has let go") {
    Ask again;
    again.operation = Operation::open_qp;
    again.qp_type = QpType::xrc_recv;
    again.number = target.handle;
    again.xrcd = domain;
    REQUIRE(c.request(again).error == 0);
    b.leave();
    c.post_srq(of_c, 21, {at_c.all()});
    a.post_send(initiator, send, {mine.all()});
    fabric.run();
    CHECK(c.poll().size() == 1);
    CHECK(a.poll().at(0).status == Status::success);
    c.leave();
    a.post_send(initiator, send, {mine.all()});
    while (fabric.run(), fabric.advance()) {
    }
    CHECK(a.poll().at(0).status == Status::retry_exceeded);
  }
  SECTION("a queue of another domain is refused") {
    send.remote_srqn = elsewhere.number;
    a.post_send(initiator, send, {mine.all()});
    fabric.run();
    CHECK(a.poll().at(0).status == Status::remote_invalid_request);
    CHECK(b.state(target) == QpState::err);
  }
  SECTION("a queue that is not there is refused") {
    send.remote_srqn = 0x123456;
    a.post_send(initiator, send, {mine.all()});
    fabric.run();
    CHECK(a.poll().at(0).status == Status::remote_invalid_request);
  }
}

TEST_CASE("hca: an adapter without ibv_open_qp refuses it to every process, and says so") {
  Settings without;
  without.open_qp = false;
  Fabric fabric(without);
  Program program(fabric, 1);
  Ask ask;
  CHECK(program.request(ask).device.flags == device_flag::kNoOpenQp);
  ask.operation = Operation::open_xrcd;
  const std::uint32_t domain = program.request(ask).handle;
  REQUIRE(domain != 0);
  Ask make;
  make.qp_type = QpType::xrc_recv;
  make.xrcd = domain;
  ask.operation = Operation::open_qp;
  ask.xrcd = domain;
  ask.number = program.make_qp(make).handle;
  ask.qp_type = QpType::xrc_recv;
  CHECK(program.request(ask).error == EOPNOTSUPP);
}

TEST_CASE("hca: an adapter without XRC refuses all of it to every process, and says so") {
  Settings without;
  without.xrc = false;
  Fabric fabric(without);
  Program program(fabric, 1);
  Ask ask;
  CHECK(program.request(ask).device.flags == device_flag::kNoXrc);
  ask.operation = Operation::open_xrcd;
  CHECK(program.request(ask).error == EOPNOTSUPP);
  Ask make;
  make.operation = Operation::create_qp;
  make.pd = program.pd;
  for (const QpType type : {QpType::xrc_send, QpType::xrc_recv}) {
    make.qp_type = type;
    CHECK(program.request(make).error == EOPNOTSUPP);
  }
  // The objects that exist still work.
  CHECK(program.make_qp(QpType::rc).handle != 0);
}

TEST_CASE("hca: a shared receive queue says once that it has fallen below its limit") {
  Fabric fabric;
  Program a(fabric, 1), b(fabric, 2);
  const Answer srq = b.make_srq(8, 5);
  REQUIRE(srq.error == 0);
  QueuePair to = b.make_qp(srq), from = a.make_qp(QpType::rc);
  REQUIRE(connect(a, from, QpType::rc, to.handle) == 0);
  REQUIRE(connect(b, to, QpType::rc, from.handle) == 0);
  const Buffer mine = a.buffer(8), theirs = b.buffer(8);
  for (std::uint64_t i = 0; i < 4; ++i)
    b.post_srq(srq, i, {theirs.all()});
  Ask arm;
  arm.operation = Operation::modify_srq;
  arm.handle = srq.handle;
  arm.attribute_mask = 2;
  arm.limit = 3;
  REQUIRE(b.request(arm).error == 0);
  for (const std::size_t events : {0U, 1U, 1U}) {
    a.post_send(from, request(Opcode::send), {mine.all()});
    fabric.run();
    CHECK(fabric.machine.events.size() == events);
  }
  CHECK(fabric.machine.events[0] == Machine::Event{2, EventType::srq_limit_reached, 5});
  QpAttributes value;
  value.state = QpState::err;
  REQUIRE(b.modify(to, value, attribute::kState) == 0);
  CHECK(fabric.machine.events.back().type == EventType::last_wqe_reached);
  // Requests that stay in the shared queue are not flushed.
  CHECK(b.poll().size() == 3);
}

TEST_CASE("hca: management requests wait for completions and release what is held") {
  // A relay of three: b forwards a message from a to c without seeing it, while no code runs at b.
  Fabric fabric;
  Program a(fabric, 1), b(fabric, 2), c(fabric, 3);
  const std::uint32_t arrivals = b.make_cq(8), done = b.make_cq(8);
  Ask ask;
  ask.recv_cq = arrivals;
  QueuePair from_a = b.make_qp(ask), at_a = a.make_qp(QpType::rc);
  ask = {};
  ask.send_cq = done;
  ask.create_flags = create_flag::kManagedSend;
  QueuePair to_c = b.make_qp(ask), at_c = c.make_qp(QpType::rc);
  ask = {};
  ask.send_cq = done;
  QueuePair manager = b.make_qp(ask);
  REQUIRE(connect(a, at_a, QpType::rc, from_a.handle) == 0);
  REQUIRE(connect(b, from_a, QpType::rc, at_a.handle) == 0);
  REQUIRE(connect(b, to_c, QpType::rc, at_c.handle) == 0);
  REQUIRE(connect(c, at_c, QpType::rc, to_c.handle) == 0);
  REQUIRE(connect(b, manager, QpType::rc, 0) == 0);
  const Buffer mine = a.buffer(8, 6), relayed = b.buffer(8), theirs = c.buffer(8);
  b.post_recv(from_a, 1, {relayed.all()});
  c.post_recv(at_c, 1, {theirs.all()});
  b.post_send(to_c, request(Opcode::send, 2), {relayed.all()});
  SendRequest wait = request(Opcode::wait, 3);
  wait.target = arrivals;
  wait.wait_until = 1;
  b.post_send(manager, wait, {});
  SendRequest enable = request(Opcode::send_enable, 4, 0);
  enable.target = to_c.handle;
  enable.wait_until = 1;
  b.post_send(manager, enable, {});
  fabric.run();
  CHECK(b.poll(done).empty());
  CHECK(c.poll().empty());
  a.post_send(at_a, request(Opcode::send, 5), {mine.all()});
  fabric.run();
  CHECK(c.poll().size() == 1);
  CHECK(theirs.bytes[0] == std::byte{6});
  const auto completions = b.poll(done);
  REQUIRE(completions.size() == 2);
  CHECK(completions[0].opcode == done::kWait);
  CHECK(completions[1].wr_id == 2);
}

TEST_CASE("hca: a held request rings a doorbell only if it was enabled before, or is flushed") {
  Fabric fabric;
  Program a(fabric, 1), b(fabric, 2);
  Ask ask;
  ask.create_flags = create_flag::kManagedSend;
  QueuePair from = a.make_qp(ask), to = b.make_qp(QpType::rc), manager = a.make_qp(QpType::rc);
  REQUIRE(connect(a, from, QpType::rc, to.handle) == 0);
  REQUIRE(connect(b, to, QpType::rc, from.handle) == 0);
  REQUIRE(connect(a, manager, QpType::rc, 0) == 0);
  for (std::uint64_t i = 0; i < 4; ++i)
    b.post_recv(to, i, {});
  SendRequest enable = request(Opcode::send_enable, 9, 0);
  enable.target = from.handle;
  enable.wait_until = 1;
  a.post_send(from, request(Opcode::send, 1), {});
  CHECK_FALSE(a.wants_doorbell(from));
  a.post_send(manager, enable, {});
  fabric.run();
  CHECK(b.poll().size() == 1);
  CHECK_FALSE(a.wants_doorbell(from));
  // A send that was enabled before goes as soon as it is posted.
  a.post_send(manager, enable, {});
  fabric.run();
  CHECK(a.wants_doorbell(from));
  a.post_send(from, request(Opcode::send, 2), {});
  fabric.run();
  CHECK(b.poll().size() == 1);
  // If a send that is posted already is enabled, no doorbell is wanted any more.
  a.post_send(from, request(Opcode::send, 3), {});
  a.post_send(manager, enable, {});
  fabric.run();
  CHECK(b.poll().size() == 1);
  CHECK_FALSE(a.wants_doorbell(from));
  a.post_send(manager, enable, {});
  fabric.run();
  CHECK(a.wants_doorbell(from));
  QpAttributes attributes;
  attributes.state = QpState::reset;
  REQUIRE(a.modify(from, attributes, attribute::kState) == 0);
  CHECK_FALSE(a.wants_doorbell(from));
  REQUIRE(connect(a, from, QpType::rc, to.handle) == 0);
  attributes.state = QpState::err;
  REQUIRE(a.modify(from, attributes, attribute::kState) == 0);
  CHECK(a.wants_doorbell(from));
}

TEST_CASE(
    "hca: a request of a shared queue that a queue pair had begun to fill is filled by another") {
  Fabric fabric;
  Program a(fabric, 1), b(fabric, 2);
  const Answer srq = b.make_srq(1);
  const std::size_t bytes = 4'000'000;
  const Buffer mine = a.buffer(bytes, 1), theirs = b.buffer(bytes);
  const bool resets = GENERATE(true, false);
  b.post_srq(srq, 7, {theirs.all()});
  for (int i = 0; i < 3; ++i) {
    QueuePair to = b.make_qp(srq), from = a.make_qp(QpType::rc);
    REQUIRE(connect(a, from, QpType::rc, to.handle) == 0);
    REQUIRE(connect(b, to, QpType::rc, from.handle) == 0);
    a.post_send(from, request(Opcode::send), {mine.all()});
    fabric.engine.run(fabric.now);
    if (i == 2) break;
    if (resets) {
      REQUIRE(b.modify(to, {}, attribute::kState) == 0);
    } else {
      Ask destroy;
      destroy.operation = Operation::destroy_qp;
      destroy.handle = to.handle;
      REQUIRE(b.request(destroy).error == 0);
    }
    fabric.run();
    CHECK(b.poll().empty());
  }
  fabric.run();
  const auto received = b.poll();
  REQUIRE(received.size() == 1);
  CHECK(received[0].wr_id == 7);
  CHECK(theirs.bytes == mine.bytes);
}

TEST_CASE(
    "hca: nothing that is in use can be destroyed, and a process that leaves takes all with it") {
  Fabric fabric;
  Program a(fabric, 1);
  QueuePair qp = a.make_qp(QpType::rc);
  a.buffer(8);
  const auto destroy = [&](Operation operation, std::uint32_t handle) {
    Ask ask;
    ask.operation = operation;
    ask.handle = handle;
    return a.request(ask).error;
  };
  CHECK(destroy(Operation::dealloc_pd, a.pd) == EBUSY);
  CHECK(destroy(Operation::destroy_cq, a.cq) == EBUSY);
  CHECK(destroy(Operation::destroy_qp, qp.handle) == 0);
  CHECK(destroy(Operation::destroy_qp, qp.handle) == EINVAL);
  CHECK(destroy(Operation::destroy_cq, a.cq) == 0);
  CHECK(destroy(Operation::dealloc_pd, a.pd) == EBUSY);  // the region uses it
  a.cq = a.make_cq(4);
  qp = a.make_qp(QpType::ud);
  REQUIRE(qp.handle != 0);
  a.leave();
  CHECK(fabric.machine.allocated == 0);
}

TEST_CASE(
    "hca: counters that a process has spoilt make the engine do no more than the queue holds") {
  Pair pair;
  const Buffer theirs = pair.b.buffer(8);
  auto* ring = reinterpret_cast<RequestRing*>(pair.qa.made.send.offset);
  ring->posted.store(std::uint64_t{1} << 60);
  pair.a.page().words[pair.qa.made.send_doorbell / 64] = 1ULL << (pair.qa.made.send_doorbell % 64);
  pair.a.page().summary = ~0ULL;
  auto* receive = reinterpret_cast<RequestRing*>(pair.qb.made.recv.offset);
  receive->posted.store(~0ULL);
  for (int i = 0; i < 10; ++i)
    pair.fabric.engine.run(pair.fabric.now);
  CHECK(pair.b.state(pair.qb) != QpState::reset);
}

}  // namespace scela::hca::test::queues_test
