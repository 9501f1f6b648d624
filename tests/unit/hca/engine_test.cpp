// Messages between queue pairs of a node: what arrives, what completes, and with which status.
#include "hca/core/engine.h"

#include <catch2/catch.hpp>
#include <cerrno>

#include "tests/unit/hca/fabric.h"

namespace scela::hca::test {
namespace {

// Two programs with a connection between them.
struct Pair {
  explicit Pair(QpType type = QpType::rc, const Way& way = {}) : a(fabric, 1), b(fabric, 2) {
    qa = a.make_qp(type);
    qb = b.make_qp(type);
    REQUIRE(connect(a, qa, type, qb.handle, way) == 0);
    REQUIRE(connect(b, qb, type, qa.handle, way) == 0);
  }
  Fabric fabric;
  Program a, b;
  QueuePair qa, qb;
};

}  // namespace

TEST_CASE("hca: a send fills the receive request that was posted, and both complete") {
  const QpType type = GENERATE(QpType::rc, QpType::uc);
  Pair pair(type);
  const Buffer from = pair.a.buffer(100, 7);
  const Buffer to = pair.b.buffer(128);
  pair.b.post_recv(pair.qb, 42, {to.sge(0, 30), to.sge(64, 64)});
  SendRequest send = request(Opcode::send_with_imm, 9);
  send.immediate = 0xABCD;
  pair.a.post_send(pair.qa, send, {from.sge(0, 50), from.sge(50, 40)});
  pair.fabric.run();

  const auto received = pair.b.poll();
  REQUIRE(received.size() == 1);
  CHECK(received[0].wr_id == 42);
  CHECK(received[0].status == Status::success);
  CHECK(received[0].bytes == 90);
  CHECK(received[0].immediate == 0xABCD);
  CHECK(received[0].flags == done_flag::kWithImm);
  CHECK(received[0].qpn == pair.qb.handle);
  CHECK(received[0].source_qpn == pair.qa.handle);
  const auto sent = pair.a.poll();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].wr_id == 9);
  CHECK(sent[0].status == Status::success);
  CHECK(sent[0].opcode == done::kSend);
  for (std::size_t i = 0; i < 128; ++i) {
    INFO(i);
    CHECK(to.bytes[i] ==
          std::byte{static_cast<unsigned char>(i < 30 || (i >= 64 && i < 124) ? 7 : 0)});
  }
}

TEST_CASE("hca: an unsignalled send leaves no completion, and the next one frees its entry") {
  Pair pair;
  const Buffer from = pair.a.buffer(8);
  const Buffer to = pair.b.buffer(8);
  for (int i = 0; i < 3; ++i)
    pair.b.post_recv(pair.qb, 1, {to.all()});
  pair.a.post_send(pair.qa, request(Opcode::send, 1, 0), {from.all()});
  pair.a.post_send(pair.qa, request(Opcode::send, 2, 0), {from.all()});
  pair.a.post_send(pair.qa, request(Opcode::send, 3), {from.all()});
  pair.fabric.run();
  const auto sent = pair.a.poll();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].queue_index == 2);
  CHECK(pair.b.poll().size() == 3);
}

TEST_CASE("hca: RDMA write, read and atomics reach the memory that the key names") {
  Pair pair;
  Buffer mine = pair.a.buffer(64, 5);
  Buffer theirs = pair.b.buffer(64, 1);
  pair.a.post_send(pair.qa, remote(Opcode::rdma_write, theirs, 8), {mine.sge(0, 8)});
  pair.a.post_send(pair.qa, remote(Opcode::rdma_read, theirs, 0), {mine.sge(16, 16)});
  SendRequest add = remote(Opcode::fetch_add, theirs, 32);
  add.compare_add = 2;
  pair.a.post_send(pair.qa, add, {mine.sge(32, 8)});
  SendRequest swap = remote(Opcode::compare_swap, theirs, 32);
  swap.compare_add = 0x0101010101010103;
  swap.swap = 99;
  pair.a.post_send(pair.qa, swap, {mine.sge(40, 8)});
  swap.compare_add = 1;  // is not there any more
  swap.swap = 98;
  pair.a.post_send(pair.qa, swap, {mine.sge(48, 8)});
  pair.fabric.run();

  const auto done = pair.a.poll();
  REQUIRE(done.size() == 5);
  for (const Completion& completion : done)
    CHECK(completion.status == Status::success);
  CHECK(theirs.bytes[7] == std::byte{1});
  CHECK(theirs.bytes[8] == std::byte{5});
  CHECK(theirs.bytes[15] == std::byte{5});
  CHECK(theirs.bytes[16] == std::byte{1});
  CHECK(mine.bytes[16] == std::byte{1});
  CHECK(mine.bytes[24] == std::byte{5});
  std::uint64_t words[3];
  std::memcpy(words, &mine.bytes[32], sizeof words);
  CHECK(words[0] == 0x0101010101010101);
  CHECK(words[1] == 0x0101010101010103);
  CHECK(words[2] == 99);
  std::memcpy(words, &theirs.bytes[32], 8);
  CHECK(words[0] == 99);
  CHECK(pair.b.poll().empty());
}

TEST_CASE("hca: a write with immediate data takes a receive request and touches no memory of it") {
  Pair pair;
  const Buffer mine = pair.a.buffer(8, 3);
  const Buffer theirs = pair.b.buffer(8);
  const Buffer untouched = pair.b.buffer(8, 1);
  pair.b.post_recv(pair.qb, 5, {untouched.all()});
  SendRequest write = remote(Opcode::rdma_write_with_imm, theirs);
  write.immediate = 6;
  pair.a.post_send(pair.qa, write, {mine.all()});
  pair.fabric.run();
  const auto received = pair.b.poll();
  REQUIRE(received.size() == 1);
  CHECK(received[0].opcode == done::kReceiveRdmaWithImm);
  CHECK(received[0].immediate == 6);
  CHECK(received[0].bytes == 8);
  CHECK(theirs.bytes[0] == std::byte{3});
  CHECK(untouched.bytes[0] == std::byte{1});
}

TEST_CASE("hca: a key, a right or a range that is wrong ends the connection on both sides") {
  struct Case {
    const char* name;
    Opcode opcode;
    std::uint32_t rights;
    std::uint32_t length;
    std::uint64_t offset;
    std::uint32_t key_change;
    std::uint32_t way_rights;
    Status status;
  };
  const auto c =
      GENERATE(Case{"unknown key", Opcode::rdma_write, kAllRights, 8, 0, 0x400000, kAllRights,
                    Status::remote_access},
               Case{"past the end", Opcode::rdma_write, kAllRights, 9, 56, 0, kAllRights,
                    Status::remote_access},
               Case{"region not writable", Opcode::rdma_write, access::kRemoteRead, 8, 0, 0,
                    kAllRights, Status::remote_access},
               Case{"region not readable", Opcode::rdma_read, access::kLocalWrite, 8, 0, 0,
                    kAllRights, Status::remote_access},
               Case{"queue pair not writable", Opcode::rdma_write, kAllRights, 8, 0, 0,
                    access::kRemoteRead, Status::remote_access},
               Case{"no atomics", Opcode::fetch_add, access::kLocalWrite | access::kRemoteWrite, 8,
                    0, 0, kAllRights, Status::remote_access},
               Case{"atomic astray", Opcode::fetch_add, kAllRights, 8, 4, 0, kAllRights,
                    Status::remote_invalid_request});
  INFO(c.name);
  Way way;
  way.access = c.way_rights;
  Pair pair(QpType::rc, way);
  const Buffer mine = pair.a.buffer(64);
  const Buffer theirs = pair.b.buffer(64, 1, c.rights);
  SendRequest wrong = remote(c.opcode, theirs, c.offset);
  wrong.rkey ^= c.key_change;
  pair.b.post_recv(pair.qb, 8, {});
  pair.a.post_send(pair.qa, wrong, {mine.sge(0, c.length)});
  pair.a.post_send(pair.qa, request(Opcode::send, 2, 0), {mine.sge(0, 8)});
  pair.fabric.run();
  const auto done = pair.a.poll();
  REQUIRE(done.size() == 2);
  CHECK(done[0].status == c.status);
  CHECK(done[1].status == Status::flushed);
  CHECK(pair.a.state(pair.qa) == QpState::err);
  CHECK(pair.b.state(pair.qb) == QpState::err);
  const auto flushed = pair.b.poll();
  REQUIRE(flushed.size() == 1);
  CHECK(flushed[0].status == Status::flushed);
  CHECK(pair.fabric.machine.events.size() == 1);
  for (const std::byte byte : theirs.bytes)
    CHECK(byte == std::byte{1});
  // What is posted to a queue pair in error is flushed as well.
  pair.b.post_recv(pair.qb, 9, {});
  pair.a.post_send(pair.qa, request(Opcode::send, 3, 0), {});
  pair.fabric.run();
  CHECK(pair.b.poll().size() == 1);
  CHECK(pair.a.poll().size() == 1);
}

TEST_CASE("hca: a program's own keys are checked before anything is sent") {
  Pair pair;
  const Buffer mine = pair.a.buffer(64, 0, 0);
  const Buffer theirs = pair.b.buffer(64, 1);
  pair.b.post_recv(pair.qb, 8, {theirs.all()});
  SECTION("a key of another process") {
    pair.a.post_send(pair.qa, request(Opcode::send), {theirs.all()});
  }
  SECTION("past the end") {
    pair.a.post_send(pair.qa, request(Opcode::send), {mine.sge(60, 8)});
  }
  SECTION("reading into what is not writable") {
    pair.a.post_send(pair.qa, remote(Opcode::rdma_read, theirs), {mine.sge(0, 8)});
  }
  pair.fabric.run();
  const auto done = pair.a.poll();
  REQUIRE(done.size() == 1);
  CHECK(done[0].status == Status::local_protection);
  CHECK(pair.b.poll().empty());
  CHECK(pair.b.state(pair.qb) == QpState::rts);
}

TEST_CASE("hca: a message longer than the receive request ends the connection") {
  Pair pair;
  const Buffer mine = pair.a.buffer(64);
  const Buffer theirs = pair.b.buffer(63, 1);
  pair.b.post_recv(pair.qb, 8, {theirs.all()});
  pair.a.post_send(pair.qa, request(Opcode::send), {mine.all()});
  pair.fabric.run();
  const auto received = pair.b.poll();
  REQUIRE(received.size() == 1);
  CHECK(received[0].status == Status::local_length);
  const auto done = pair.a.poll();
  REQUIRE(done.size() == 1);
  CHECK(done[0].status == Status::remote_invalid_request);
  CHECK(theirs.bytes[0] == std::byte{1});
}

TEST_CASE("hca: without a receive request the sender tries again, as often as it may") {
  Way way;
  way.rnr_retries = GENERATE(std::uint8_t{0}, std::uint8_t{3});
  Pair pair(QpType::rc, way);
  const Buffer mine = pair.a.buffer(8);
  pair.a.post_send(pair.qa, request(Opcode::send), {mine.all()});
  pair.fabric.run();
  int waits = 0;
  while (pair.fabric.advance())
    ++waits;
  CHECK(waits == way.rnr_retries);
  const auto done = pair.a.poll();
  REQUIRE(done.size() == 1);
  CHECK(done[0].status == Status::rnr_retry_exceeded);
  CHECK(pair.b.state(pair.qb) == QpState::rts);
}

TEST_CASE("hca: seven retries without a receive request are no end, and one that comes is filled") {
  Pair pair;
  const Buffer mine = pair.a.buffer(8, 4);
  const Buffer theirs = pair.b.buffer(8);
  pair.a.post_send(pair.qa, request(Opcode::send), {mine.all()});
  pair.fabric.run();
  const Moment before = pair.fabric.now;
  for (int i = 0; i < 20; ++i)
    REQUIRE(pair.fabric.advance());
  CHECK(pair.fabric.now - before == 20 * 640'000);  // code 12: 0.64 ms
  CHECK(pair.a.poll().empty());
  pair.b.post_recv(pair.qb, 1, {theirs.all()});
  REQUIRE(pair.fabric.advance());
  CHECK(pair.a.poll().size() == 1);
  CHECK(theirs.bytes[0] == std::byte{4});
  CHECK_FALSE(pair.fabric.advance());
}

TEST_CASE("hca: who speaks to nobody gives up after its retries") {
  Way way;
  way.retries = 2;
  Pair pair(QpType::rc, way);
  const Buffer mine = pair.a.buffer(8);
  SECTION("the queue pair has gone") {
    Ask ask;
    ask.operation = Operation::destroy_qp;
    ask.handle = pair.qb.handle;
    REQUIRE(pair.b.request(ask).error == 0);
  }
  SECTION("the process has gone") {
    pair.b.leave();
  }
  SECTION("it is not ready") {
    QpAttributes value;
    REQUIRE(pair.b.modify(pair.qb, value, attribute::kState) == 0);
  }
  pair.a.post_send(pair.qa, request(Opcode::send), {mine.all()});
  pair.fabric.run();
  const Moment before = pair.fabric.now;
  while (pair.fabric.advance()) {
  }
  CHECK(pair.fabric.now - before == 3 * (4096ULL << 14));
  const auto done = pair.a.poll();
  REQUIRE(done.size() == 1);
  CHECK(done[0].status == Status::retry_exceeded);
}

TEST_CASE("hca: a message of many parts is whole, and others get their turn meanwhile") {
  Pair pair;
  const std::size_t bytes = 3'000'001;
  Buffer mine = pair.a.buffer(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    mine.bytes[i] = static_cast<std::byte>(i * 31 >> 3);
  const Buffer theirs = pair.b.buffer(bytes);
  pair.b.post_recv(pair.qb, 1, {theirs.sge(0, 1'000'000), theirs.sge(1'000'000, 2'000'001)});
  pair.a.post_send(pair.qa, request(Opcode::send),
                   {mine.sge(0, 1'500'000), mine.sge(1'500'000, 1'500'001)});
  CHECK(pair.fabric.engine.run(1));
  pair.fabric.run();
  CHECK(pair.b.poll().size() == 1);
  CHECK(mine.bytes == theirs.bytes);
}

TEST_CASE("hca: a region that goes while a message leaves it ends the message") {
  Pair pair;
  const Buffer mine = pair.a.buffer(8'000'000);
  const Buffer theirs = pair.b.buffer(8'000'000);
  pair.a.post_send(pair.qa, remote(Opcode::rdma_write, theirs), {mine.all()});
  CHECK(pair.fabric.engine.run(1));
  const bool senders = GENERATE(true, false);
  Ask ask;
  ask.operation = Operation::dereg_mr;
  ask.handle = senders ? mine.key : theirs.key;
  REQUIRE((senders ? pair.a : pair.b).request(ask).error == 0);
  pair.fabric.run();
  const auto done = pair.a.poll();
  REQUIRE(done.size() == 1);
  CHECK(done[0].status == (senders ? Status::local_protection : Status::remote_access));
}

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

TEST_CASE(
    "hca: datagrams bring a route header where they have one, and are lost without a receiver") {
  Settings settings;
  settings.gid.bytes[0] = 0xFD;
  Fabric fabric(settings);
  Program a(fabric, 1), b(fabric, 2);
  QueuePair qa = a.make_qp(QpType::ud), qb = b.make_qp(QpType::ud);
  REQUIRE(connect(a, qa, QpType::ud, 0) == 0);
  REQUIRE(connect(b, qb, QpType::ud, 0) == 0);
  const Buffer mine = a.buffer(16, 9);
  const Buffer theirs = b.buffer(64, 1);
  SendRequest send = request(Opcode::send);
  send.destination.qpn = qb.handle;
  send.destination.qkey = 0x1111;
  send.destination.lid = 2;
  a.post_send(qa, send, {mine.all()});
  fabric.run();
  CHECK(a.poll().size() == 1);
  b.post_recv(qb, 1, {theirs.all()});
  send.destination.qkey = 0x1112;
  a.post_send(qa, send, {mine.all()});
  fabric.run();
  CHECK(b.poll().empty());

  send.destination.qkey = 0x1111;
  a.post_send(qa, send, {mine.all()});
  fabric.run();
  auto received = b.poll();
  REQUIRE(received.size() == 1);
  CHECK(received[0].bytes == 56);
  CHECK(received[0].flags == 0);
  CHECK(theirs.bytes[40] == std::byte{9});
  CHECK(theirs.bytes[55] == std::byte{9});
  CHECK(theirs.bytes[56] == std::byte{1});

  b.post_recv(qb, 2, {theirs.all()});
  send.destination.is_global = 1;
  send.destination.gid = settings.gid;
  a.post_send(qa, send, {mine.all()});
  fabric.run();
  received = b.poll();
  REQUIRE(received.size() == 1);
  CHECK(received[0].flags == done_flag::kGrh);
  CHECK(theirs.bytes[0] == std::byte{0x60});
  CHECK(theirs.bytes[8] == std::byte{0xFD});
  CHECK(theirs.bytes[24] == std::byte{0xFD});
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

TEST_CASE("hca: an adapter without ibv_open_qp refuses it, whoever asks, and says so") {
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

TEST_CASE("hca: a shared receive queue says once that it has fallen below its limit") {
  Fabric fabric;
  Program a(fabric, 1), b(fabric, 2);
  Ask ask;
  ask.operation = Operation::create_srq;
  ask.pd = b.pd;
  ask.cap.recv_requests = 8;
  ask.cap.recv_sges = 1;
  ask.cookie = 5;
  const Answer srq = b.request(ask);
  REQUIRE(srq.error == 0);
  Ask make;
  make.srq = srq.handle;
  QueuePair to = b.make_qp(make), from = a.make_qp(QpType::rc);
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
  CHECK(b.poll().size() == 3);  // what stays in the shared queue is not flushed
}

TEST_CASE("hca: management requests wait for completions and release what is held") {
  // A relay of three: b forwards to c what it has not seen yet, with nobody running at b.
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

TEST_CASE(
    "hca: a transfer that fails by the other's memory, or by its end, is not its partner's fault") {
  Pair pair;
  Buffer mine = pair.a.buffer(64, 5);
  Buffer theirs = pair.b.buffer(64, 1);
  const Opcode opcode = GENERATE(Opcode::send, Opcode::rdma_write, Opcode::rdma_read);
  pair.b.post_recv(pair.qb, 1, {theirs.all()});
  SECTION("the requester's memory is gone") {
    pair.fabric.machine.unmap(1, mine.bytes.data());
    pair.a.post_send(pair.qa, remote(opcode, theirs), {mine.all()});
    pair.fabric.run();
    CHECK(pair.a.poll().at(0).status == Status::local_protection);
    CHECK(pair.b.state(pair.qb) == QpState::rts);
  }
  SECTION("the responder's memory is gone") {
    pair.fabric.machine.unmap(2, theirs.bytes.data());
    pair.a.post_send(pair.qa, remote(opcode, theirs), {mine.all()});
    pair.fabric.run();
    CHECK(pair.a.poll().at(0).status == Status::remote_operation);
    CHECK(pair.b.state(pair.qb) == QpState::err);
  }
  SECTION("the responder has ended, and nobody has noticed yet") {
    pair.fabric.machine.unmap(2, theirs.bytes.data());
    pair.fabric.machine.dead.insert(2);
    pair.a.post_send(pair.qa, remote(opcode, theirs), {mine.all()});
    pair.fabric.run();
    while (pair.fabric.advance()) {
    }
    CHECK(pair.a.poll().at(0).status == Status::retry_exceeded);
  }
}

TEST_CASE("hca: an atomic operation is done once, however long the place for its result is") {
  Pair pair;
  const Buffer mine = pair.a.buffer(600 * 1024);
  Buffer theirs = pair.b.buffer(8);
  SendRequest add = remote(Opcode::fetch_add, theirs);
  add.compare_add = 1;
  pair.a.post_send(pair.qa, add, {mine.all()});
  pair.fabric.run();
  CHECK(pair.a.poll().at(0).status == Status::success);
  CHECK(theirs.bytes[0] == std::byte{1});
}

TEST_CASE(
    "hca: a request of a shared queue that a queue pair had begun to fill is filled by another") {
  Fabric fabric;
  Program a(fabric, 1), b(fabric, 2);
  Ask ask;
  ask.operation = Operation::create_srq;
  ask.pd = b.pd;
  ask.cap.recv_requests = 1;
  ask.cap.recv_sges = 1;
  const Answer srq = b.request(ask);
  const std::size_t bytes = 4'000'000;
  const Buffer mine = a.buffer(bytes, 1), theirs = b.buffer(bytes);
  const bool resets = GENERATE(true, false);
  b.post_srq(srq, 7, {theirs.all()});
  Ask make;
  make.srq = srq.handle;
  for (int i = 0; i < 3; ++i) {
    QueuePair to = b.make_qp(make), from = a.make_qp(QpType::rc);
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
  CHECK(destroy(Operation::dealloc_pd, a.pd) == EBUSY);  // the region
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
  pair.a.page().words[pair.qa.made.send_bell / 64] = 1ULL << (pair.qa.made.send_bell % 64);
  pair.a.page().summary = ~0ULL;
  auto* receive = reinterpret_cast<RequestRing*>(pair.qb.made.recv.offset);
  receive->posted.store(~0ULL);
  for (int i = 0; i < 10; ++i)
    pair.fabric.engine.run(pair.fabric.now);
  CHECK(pair.b.state(pair.qb) != QpState::reset);
}

}  // namespace scela::hca::test
