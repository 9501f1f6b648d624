// Tests messages between queue pairs of a node: which bytes arrive, which requests complete, and
// with which status.
#include "hca/core/model/engine.h"

#include <catch2/catch.hpp>

#include "tests/unit/hca/core/pair.h"

namespace scela::hca::test::engine_test {

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
  swap.compare_add = 1;  // this value is not there any more
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
  // Requests that are posted to a queue pair in error are flushed as well.
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

TEST_CASE("hca: a sender without a receiver gives up after its retries") {
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
  send.destination.lid = 1;
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
  SECTION("the responder has ended, which the engine has not noticed yet") {
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

}  // namespace scela::hca::test::engine_test
