// Tests engines that ask their agents where the other engines are. The test plays the agents.
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>

#include "common/core/text.h"
#include "common/os/syscall.h"
#include "tests/unit/hca/engine/net/fabric_node.h"

namespace directory_test {

using namespace scela;
using namespace scela::hca;
using namespace scela::hca::testing;

namespace {

// A node with an agent that the test plays.
struct Asking {
  explicit Asking(std::uint32_t number,
                  SocketPair pair = std::move(*make_socket_pair(SOCK_SEQPACKET)))
      : agent(std::move(pair.ours)), node(record(number), Directory(std::move(pair.theirs))) {}

  Fd agent;
  Node node;

  // Returns one line that the engine has said, or an empty string.
  std::string said() const {
    char text[256];
    const ssize_t got = ::recv(agent.get(), text, sizeof text, MSG_DONTWAIT);
    return got <= 0 ? std::string() : std::string(text, static_cast<std::size_t>(got));
  }
  void tell(const std::string& text) const {
    REQUIRE(::send(agent.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  }
  bool knows_lid_of(std::uint32_t number) {
    return node.fabric.node_of({}, false, first_lid_of(number)) == number + 1;
  }
};

}  // namespace

TEST_CASE("an engine announces its address and asks for no other by itself") {
  Asking a(0);
  CHECK(a.said() == "listening " + a.node.says("listens"));
  REQUIRE(a.knows_lid_of(3));
  CHECK(a.node.fabric.ready(4));
  CHECK(a.said().empty());
  CHECK(Asking(0).node.says("nodes") == "8");
}

TEST_CASE("a LID alone is looked up in the directory once, and frames sent meanwhile arrive") {
  Asking a(0);
  Node b(record(1));
  a.said();
  REQUIRE(a.knows_lid_of(1));
  REQUIRE(a.node.send(b));
  REQUIRE(a.node.send(b, 50'000));
  CHECK(a.said() == "where 1");
  CHECK(a.said().empty());
  a.tell(cat("peer 1 ", b.says("listens")));
  CHECK(run_until([&] { return b.count("frames received") == 2; }, a.node, b));
  CHECK(a.node.count("nodes lost") == 0);
  CHECK(a.said().empty());
}

TEST_CASE("a node without an engine loses its messages and is asked for again") {
  Asking a(0);
  Node b(record(1));
  a.said();
  REQUIRE(a.knows_lid_of(1));
  REQUIRE(a.node.send(b));
  CHECK(a.said() == "where 1");
  a.tell("nobody 1");
  REQUIRE(run_until([&] { return a.node.count("nodes lost") == 1; }, a.node));
  CHECK(a.node.count("frame bytes waiting") == 0);
  // The engine asks again later: it leaves the node alone for a while.
  REQUIRE(run_until([&] { return a.node.send(b); }, a.node));
  CHECK(a.said() == "where 1");
  a.tell(cat("peer 1 ", b.says("listens")));
  CHECK(run_until([&] { return b.count("frames received") == 1; }, a.node, b));
}

TEST_CASE("an answer that does not come is asked for again, and is given up in the end") {
  Asking a(0);
  Node b(record(1));
  a.said();
  REQUIRE(a.knows_lid_of(1));
  const Moment start = monotonic_ns();
  REQUIRE(a.node.send(b));
  CHECK(a.said() == "where 1");
  // The fabric takes the time that it is told.
  int asked = 0;
  for (Moment later = 0; a.node.count("nodes lost") == 0; later += 100'000'000) {
    REQUIRE(later < 60'000'000'000);
    a.node.fabric.send_waiting(start + later);
    asked += a.said() == "where 1" ? 1 : 0;
  }
  CHECK(asked >= 5);
  CHECK(asked <= 15);
  CHECK(a.node.count("frame bytes waiting") == 0);
}

TEST_CASE("an engine's successor, which listens elsewhere, is asked for") {
  Asking a(0);
  auto b = std::make_unique<Node>(record(1));
  a.said();
  REQUIRE(a.knows_lid_of(1));
  REQUIRE(a.node.send(*b));
  a.tell(cat("peer 1 ", b->says("listens")));
  REQUIRE(run_until([&] { return b->count("frames received") == 1; }, a.node, *b));
  CHECK(a.said() == "where 1");
  b = std::make_unique<Node>(record(1));
  REQUIRE(run_until([&] { return a.node.count("nodes lost") == 1; }, a.node));
  REQUIRE(run_until([&] { return a.node.send(*b); }, a.node));
  CHECK(a.said() == "where 1");
  a.tell(cat("peer 1 ", b->says("listens")));
  CHECK(run_until([&] { return b->count("frames received") == 1; }, a.node, *b));
}

TEST_CASE("answers without sense or without a question lead nowhere") {
  Asking a(0);
  Node b(record(1)), stranger(record(1, 'x'));
  a.said();
  for (const char* const text :
       {"peer", "peer ", "peer 1", "peer 1 ", "peer 1 nowhere", "peer 1 127.0.0.1:0",
        "peer x 127.0.0.1:1", "nobody", "nobody ", "nobody 1 2", "yes"})
    a.tell(text);
  a.tell(std::string(1000, 'x'));
  a.tell(cat("peer 1 ", stranger.says("listens")));  // before the engine asks for it
  while (a.node.step()) {
  }
  REQUIRE(a.knows_lid_of(1));
  REQUIRE(a.node.send(b));
  CHECK(a.said() == "where 1");
  a.tell(cat("peer 1 ", b.says("listens")));
  CHECK(run_until([&] { return b.count("frames received") == 1; }, a.node, b));
}

TEST_CASE("an engine that has a key of its own alone asks for those of other nodes") {
  const auto own = [](std::uint32_t node) {
    FabricRecord made = record(node);
    made.key_is_own = true;
    made.key = std::string(kEngineKeyBytes, static_cast<char>('0' + node));
    return made;
  };
  SocketPair pair = std::move(*make_socket_pair(SOCK_SEQPACKET));
  Node a(own(0), Directory(std::move(pair.theirs))), b(own(1));
  const auto said = [&] {
    char text[256];
    const ssize_t got = ::recv(pair.ours.get(), text, sizeof text, MSG_DONTWAIT);
    return got <= 0 ? std::string() : std::string(text, static_cast<std::size_t>(got));
  };
  const auto tell = [&](const std::string& key) {
    std::string text = cat("peer 1 ", b.says("listens"));
    if (!key.empty()) text += ' ';
    for (const char byte : key)
      text += cat("0123456789abcdef"[static_cast<unsigned char>(byte) >> 4],
                  "0123456789abcdef"[static_cast<unsigned char>(byte) & 15]);
    REQUIRE(::send(pair.ours.get(), text.data(), text.size(), 0) > 0);
  };
  said();
  // The engine knows the node's address by its GID.
  REQUIRE(a.knows(b));
  REQUIRE(a.send(b));
  CHECK(said() == "where 1");
  const std::string key = connection_key(own(1).key, 0);
  SECTION("which it is told") {
    tell(key);
    CHECK(run_until([&] { return b.count("frames received") == 1; }, a, b));
    CHECK(a.count("nodes lost") == 0);
  }
  SECTION("and is no other node with any other key") {
    tell(GENERATE_COPY(connection_key(own(1).key, 2), connection_key(own(0).key, 1), own(0).key));
    CHECK(run_until([&] { return a.count("nodes lost") == 1; }, a, b));
    CHECK(b.count("connections refused") == 1);
    CHECK(b.count("frames received") == 0);
  }
  SECTION("and loses what was sent if it is told none") {
    tell("");
    while (a.step() || b.step()) {
    }
    CHECK(a.count("nodes lost") == 1);
    CHECK(b.count("connections refused") == 0);
  }
}

TEST_CASE("the end of the directory is the engine's end") {
  Asking a(0);
  CHECK(a.node.fabric.hear(monotonic_ns()));
  a.agent.reset();
  CHECK_FALSE(a.node.fabric.hear(monotonic_ns()));
}

}  // namespace directory_test
