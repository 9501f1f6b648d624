#include "hca/core/wire/port_address.h"

#include <catch2/catch.hpp>

#include "common/core/random.h"
#include "tests/unit/hca/core/nodes.h"
#include "tests/unit/hca/core/pair.h"

namespace scela::hca::test::port_address_test {

TEST_CASE("hca address: a GID says which node of which job it is, and where") {
  const NodeAddress address{0x01020304, {10, 1, 2, 3}, 0xABCD, 300, 1};
  const Gid gid = gid_of(address);
  const Gid expected{{0xFD, 0x5C, 0xE1, 0xA1, 1, 2, 3, 4, 10, 1, 2, 3, 0xAB, 0xCD, 2, 88}};
  CHECK(gid == expected);
  CHECK(address_of(gid) == address);
  CHECK_FALSE(address.by_number());
}

TEST_CASE("hca address: every node and port has a GID of its own, the second port's one further") {
  Random random(1);
  for (std::uint32_t node = 0; node < kMaxNodes; ++node) {
    NodeAddress address;
    address.node = node;
    address.tag = static_cast<std::uint32_t>(random.next());
    Gid gid = gid_of(address);
    CHECK(address_of(gid) == address);
    REQUIRE(gid.bytes[15] < 0xFF);
    ++gid.bytes[15];
    address.port = 2;
    CHECK(address_of(gid) == address);
    CHECK(gid == gid_of(address));
    CHECK(node_of_lid(first_lid_of(node)) == node);
    CHECK(node_of_lid(static_cast<std::uint16_t>(first_lid_of(node) + 1)) == node);
  }
}

TEST_CASE("hca address: a foreign address leads nowhere") {
  CHECK_FALSE(address_of(Gid{}));
  Gid link_local{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 2}};
  CHECK_FALSE(address_of(link_local));
  for (std::size_t byte = 0; byte < 4; ++byte) {
    Gid gid = gid_of({1, {127, 0, 0, 1}, 7, 3, 1});
    gid.bytes[byte] ^= 1;
    CHECK_FALSE(address_of(gid));
  }
  Gid beyond = gid_of({1, {127, 0, 0, 1}, 7, 3, 1});
  beyond.bytes[14] = 0xFF;
  CHECK_FALSE(address_of(beyond));
  CHECK_FALSE(node_of_lid(0));
  CHECK_FALSE(node_of_lid(0xC000));
  CHECK(NodeAddress{1, {}, 7, 3, 1}.by_number());
  CHECK(NodeAddress{1, {127, 0, 0, 1}, 0, 3, 1}.by_number());
}

TEST_CASE("hca address: a queue pair hears what is sent to its own port, and nothing else") {
  const auto port = GENERATE(std::uint16_t{1}, std::uint16_t{2});
  const bool is_there = port == 1;  // connect() puts queue pairs there
  Way way;
  way.lid = port;
  Pair pair(QpType::rc, way);
  const Buffer mine = pair.a.buffer(8, 1), theirs = pair.b.buffer(48);
  pair.a.post_send(pair.qa, remote(Opcode::rdma_write, theirs), {mine.all()});
  pair.fabric.run();
  while (pair.fabric.advance()) {
  }
  const auto done = pair.a.poll();
  REQUIRE(done.size() == 1);
  CHECK(done[0].status == (is_there ? Status::success : Status::retry_exceeded));
  CHECK(theirs.bytes[0] == std::byte{static_cast<unsigned char>(is_there ? 1 : 0)});

  QueuePair from = pair.a.make_qp(QpType::ud), to = pair.b.make_qp(QpType::ud);
  REQUIRE(connect(pair.a, from, QpType::ud, 0) == 0);
  REQUIRE(connect(pair.b, to, QpType::ud, 0) == 0);
  pair.b.post_recv(to, 1, {theirs.all()});
  SendRequest send = request(Opcode::send);
  send.destination = {{}, port, 1, 0, to.handle, 0x1111, 0};
  pair.a.post_send(from, send, {mine.all()});
  pair.fabric.run();
  CHECK(pair.a.poll().at(0).status == Status::success);
  CHECK(pair.b.poll().size() == (is_there ? 1 : 0));
}

TEST_CASE("hca address: a queue pair hears its own port only, from another node too") {
  const auto lid = GENERATE(std::uint16_t{11}, std::uint16_t{12});
  Nodes nodes;
  nodes.left.machine.nodes[12] = 2;
  QueuePair from = nodes.a.make_qp(QpType::rc), to = nodes.b.make_qp(QpType::rc);
  Way there, back;
  there.lid = lid;
  REQUIRE(connect(nodes.a, from, QpType::rc, to.handle, there) == 0);
  REQUIRE(connect(nodes.b, to, QpType::rc, from.handle, back) == 0);
  const Buffer mine = nodes.a.buffer(8, 1), theirs = nodes.b.buffer(8);
  nodes.a.post_send(from, remote(Opcode::rdma_write, theirs), {mine.all()});
  nodes.run();
  while (nodes.advance()) {
  }
  const auto done = nodes.a.poll();
  REQUIRE(done.size() == 1);
  CHECK(done[0].status == (lid == 11 ? Status::success : Status::retry_exceeded));
  CHECK(theirs.bytes[0] == std::byte{static_cast<unsigned char>(lid == 11 ? 1 : 0)});
}

}  // namespace scela::hca::test::port_address_test
