// Tests queue pairs that send to themselves, domains that several processes share, and tables that
// are full.
#include <catch2/catch.hpp>
#include <cerrno>

#include "tests/unit/hca/core/fabric_model.h"

namespace scela::hca::test::self_test {
namespace {

Ask asking(Operation operation, std::uint32_t handle = 0) {
  Ask ask;
  ask.operation = operation;
  ask.handle = handle;
  return ask;
}

std::uint32_t open_domain(Program& program) {
  Ask ask = asking(Operation::open_xrcd);
  ask.file_inode = 5;
  ask.open_flags = 0100;
  return program.request(ask).handle;
}

}  // namespace

TEST_CASE("hca: a queue pair that is connected to itself ends itself, and flushes what it sent") {
  Fabric fabric;
  Program a(fabric, 1);
  const QueuePair qp = a.make_qp(QpType::rc);
  REQUIRE(connect(a, qp, QpType::rc, qp.handle) == 0);
  const Buffer mine = a.buffer(64);
  a.post_recv(qp, 1, {mine.sge(0, 8)});
  a.post_send(qp, request(Opcode::send, 2), {mine.sge(8, 8)});
  fabric.run();
  CHECK(a.poll().size() == 2);
  const bool is_long = GENERATE(true, false);
  if (is_long) {
    a.post_recv(qp, 3, {mine.sge(0, 8)});
    a.post_send(qp, request(Opcode::send, 4), {mine.all()});
  } else {
    SendRequest wrong = request(Opcode::rdma_write, 4);
    wrong.rkey = 99;
    a.post_send(qp, wrong, {mine.all()});
  }
  a.post_send(qp, request(Opcode::send, 5), {mine.all()});
  fabric.run();
  const auto done = a.poll();
  REQUIRE(done.size() == (is_long ? 3 : 2));
  if (is_long) CHECK(done[0].status == Status::local_length);
  for (std::size_t i = is_long ? 1 : 0; i < done.size(); ++i) {
    CHECK(done[i].wr_id == (is_long ? 3 : 4) + i);
    CHECK(done[i].status == Status::flushed);
  }
  CHECK(a.state(qp) == QpState::err);
}

TEST_CASE("hca: a datagram to its own sender that does not fit ends it") {
  Fabric fabric;
  Program a(fabric, 1), b(fabric, 2);
  const QueuePair qp = a.make_qp(QpType::ud), other = b.make_qp(QpType::ud);
  REQUIRE(connect(a, qp, QpType::ud, 0) == 0);
  REQUIRE(connect(b, other, QpType::ud, 0) == 0);
  const Buffer mine = a.buffer(200), theirs = b.buffer(200);
  SendRequest send = request(Opcode::send, 2);
  send.destination = {{}, 1, 1, 0, qp.handle, 0x1111, 0};
  const bool multicast = GENERATE(true, false);
  if (multicast) {
    Ask join = asking(Operation::attach_mcast, qp.handle);
    join.gid.bytes[0] = 0xFF;
    send.destination.gid = join.gid;
    send.destination.is_global = 1;
    REQUIRE(a.request(join).error == 0);
    join.handle = other.handle;
    REQUIRE(b.request(join).error == 0);
    b.post_recv(other, 9, {theirs.all()});
  }
  a.post_recv(qp, 1, {mine.sge(0, 41)});
  a.post_send(qp, send, {mine.sge(100, 50)});
  fabric.run();
  const auto done = a.poll();
  REQUIRE(done.size() == 2);
  CHECK(done[0].status == Status::local_length);
  CHECK(done[1].wr_id == 2);
  CHECK(a.state(qp) == QpState::err);
  CHECK(b.poll().size() == (multicast ? 1 : 0));
}

TEST_CASE("hca: a process closes a domain only when nothing of its own is left in it") {
  Fabric fabric;
  Program a(fabric, 1);
  const std::uint32_t domain = open_domain(a);
  {
    Program b(fabric, 2);
    REQUIRE(open_domain(b) == domain);
    Ask make;
    make.qp_type = QpType::xrc_recv;
    make.xrcd = domain;
    const QueuePair qp = a.make_qp(make);
    CHECK(a.request(asking(Operation::close_xrcd, domain)).error == EBUSY);
    b.leave();
    CHECK(a.request(asking(Operation::close_xrcd, domain)).error == EBUSY);
    CHECK(a.request(asking(Operation::destroy_qp, qp.handle)).error == 0);
  }
  CHECK(a.request(asking(Operation::close_xrcd, domain)).error == 0);
  Ask open = asking(Operation::open_xrcd);
  open.file_inode = 5;
  CHECK(a.request(open).error == EAGAIN);  // its last opening is gone
}

TEST_CASE("hca: when all queue pair numbers are taken, another is refused") {
  Fabric fabric;
  Program a(fabric, 1);
  Ask make = asking(Operation::create_qp);
  make.xrcd = open_domain(a);
  make.qp_type = QpType::xrc_recv;
  std::uint32_t made = 0;
  while (a.request(make).error == 0)
    ++made;
  CHECK(made > 65'000);
  CHECK(a.request(make).error == ENOMEM);
}

TEST_CASE("hca: a drained queue is reported only on request") {
  Fabric fabric;
  Program a(fabric, 1);
  const QueuePair qp = a.make_qp(QpType::rc);
  REQUIRE(connect(a, qp, QpType::rc, qp.handle) == 0);
  QpAttributes value;
  value.sqd_notify = 1;
  const auto change = [&](QpState state, std::uint32_t mask) {
    value.state = state;
    return a.modify(qp, value, attribute::kState | mask);
  };
  const auto told = [&] { return fabric.machine.events.size(); };
  REQUIRE(change(QpState::sqd, attribute::kSqdNotify) == 0);
  CHECK(told() == 1);
  REQUIRE(change(QpState::sqd, 0) == 0);
  CHECK(told() == 1);
  REQUIRE(change(QpState::rts, 0) == 0);
  REQUIRE(change(QpState::sqd, 0) == 0);
  CHECK(told() == 1);
}

TEST_CASE("hca: openings of domains and queue pairs, and groups, have bounds") {
  Fabric fabric;
  Program a(fabric, 1);
  Ask open;
  open.operation = Operation::open_xrcd;
  open.file_device = 1;
  open.file_inode = 2;
  open.open_flags = 0100;
  std::uint32_t opened = 0, domain = 0;
  for (Answer answer = a.request(open); answer.error == 0; answer = a.request(open), ++opened)
    domain = answer.handle;
  CHECK(opened == limit::kOpenings);
  Ask make;
  make.qp_type = QpType::xrc_recv;
  make.xrcd = domain;
  const QueuePair target = a.make_qp(make);
  REQUIRE(target.made.error == 0);
  Ask again;
  again.operation = Operation::open_qp;
  again.qp_type = QpType::xrc_recv;
  again.number = target.handle;
  again.xrcd = domain;
  std::uint32_t held = 1;
  while (a.request(again).error == 0)
    ++held;
  CHECK(held == limit::kOpenings);
  const QueuePair member = a.make_qp(QpType::ud);
  Ask join;
  join.operation = Operation::attach_mcast;
  join.handle = member.handle;
  join.gid.bytes[0] = 0xFF;
  std::uint32_t groups = 0;
  for (; a.request(join).error == 0; ++groups)
    std::memcpy(&join.gid.bytes[8], &groups, sizeof groups);
  // The first number names a group that exists.
  CHECK(groups == limit::kMcastGroups + 1);
  a.leave();
  CHECK(fabric.machine.allocated == 0);
}

}  // namespace scela::hca::test::self_test
