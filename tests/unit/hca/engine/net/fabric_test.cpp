// Tests the connections of two and three nodes in one process: which node connects, which
// connection stays, and what is lost with one.
#include "hca/engine/net/fabric.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "common/core/random.h"
#include "common/core/text.h"
#include "common/os/clock.h"
#include "tests/support/eventually.h"
#include "tests/unit/hca/engine/net/fabric_node.h"

namespace fabric_test {

using namespace scela;
using namespace scela::hca;
using namespace scela::hca::testing;
using scela::test::eventually;

namespace {

FabricRecord encrypting(std::uint32_t node, bool encrypt) {
  FabricRecord made = record(node);
  made.encrypt = encrypt;
  return made;
}

// Stands between a node and its peer. It passes bytes on, keeps a copy of them, and changes one
// byte if it is told to.
class Middle {
 public:
  explicit Middle(const Endpoint& to) : to_(to), listening_(socket()) {
    const Endpoint mine = *Endpoint::parse("127.0.0.1:0");
    sockaddr_storage address{};
    const socklen_t size = mine.fill(address);
    REQUIRE(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listening_.get(), 1) == 0);
  }
  Endpoint endpoint() const { return *Endpoint::of_socket(listening_.get()); }
  void step() {
    if (!ends_[0]) {
      ends_[0] = Fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!ends_[0]) return;
      ends_[1] = socket();
      sockaddr_storage address{};
      const socklen_t size = to_.fill(address);
      static_cast<void>(::connect(ends_[1].get(), reinterpret_cast<sockaddr*>(&address), size));
    }
    for (std::size_t from : {0u, 1u}) {
      char bytes[65536];
      while (waits_[from].size() < sizeof bytes) {
        const ssize_t got = ::recv(ends_[from].get(), bytes, sizeof bytes, 0);
        if (got == 0) ::shutdown(ends_[1 - from].get(), SHUT_WR);
        if (got <= 0) break;
        seen.append(bytes, static_cast<std::size_t>(got));
        if (change_next && from == 0) bytes[got / 2] = static_cast<char>(bytes[got / 2] ^ 1);
        if (from == 0) change_next = false;
        waits_[from].append(bytes, static_cast<std::size_t>(got));
      }
      const ssize_t sent =
          ::send(ends_[1 - from].get(), waits_[from].data(), waits_[from].size(), MSG_NOSIGNAL);
      if (sent > 0) waits_[from].erase(0, static_cast<std::size_t>(sent));
    }
  }
  bool is_empty() const { return waits_[0].empty() && waits_[1].empty(); }
  std::string seen;
  bool change_next = false;

 private:
  static Fd socket() {
    return Fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  }
  Endpoint to_;
  Fd listening_;
  Fd ends_[2];
  std::string waits_[2];
};

// Returns what is written to standard error while `run` runs.
template <class Run>
std::string standard_error(Run run) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
  const Fd read(ends[0]);
  const Fd before(::dup(STDERR_FILENO));
  ::dup2(ends[1], STDERR_FILENO);
  ::close(ends[1]);
  run();
  ::dup2(before.get(), STDERR_FILENO);
  char text[4096];
  const ssize_t got = ::read(read.get(), text, sizeof text);
  return std::string(text, got > 0 ? static_cast<std::size_t>(got) : 0);
}

}  // namespace

TEST_CASE("the first frame makes the connection, and both ways use it") {
  Node a(record(0)), b(record(1));
  REQUIRE(a.knows(b));
  REQUIRE(a.send(b));
  CHECK(run_until([&] { return b.count("frames received") == 1; }, a, b));
  REQUIRE(b.knows(a));
  REQUIRE(b.send(a));
  CHECK(run_until([&] { return a.count("frames received") == 1; }, a, b));
  for (Node* node : {&a, &b}) {
    CHECK(node->count("nodes connected") == 1);
    CHECK(node->count("connections not proved") == 0);
    CHECK(node->count("nodes lost") == 0);
  }
}

TEST_CASE("when both connect at once one connection stays, and no frame is lost or comes twice") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Node a(record(0)), b(record(1));
    REQUIRE(a.knows(b));
    REQUIRE(b.knows(a));
    std::uint64_t from_a = 1, from_b = 1;
    REQUIRE(a.send(b));
    // The two sends range from simultaneous to one after the other.
    for (std::uint64_t lead = random.below(8); lead > 0; --lead)
      (random.chance(1, 2) ? a : b).step();
    REQUIRE(b.send(a));
    REQUIRE(eventually([&] {
      if (random.chance(1, 4) && from_a < 9) from_a += a.send(b, 30'000 * random.below(2)) ? 1 : 0;
      if (random.chance(1, 4) && from_b < 9) from_b += b.send(a, 30'000 * random.below(2)) ? 1 : 0;
      (random.chance(1, 2) ? a : b).step();
      return from_a == 9 && from_b == 9 && a.count("frames received") == from_b &&
             b.count("frames received") == from_a && a.count("connections not proved") == 0 &&
             b.count("connections not proved") == 0;
    }));
    for (Node* node : {&a, &b}) {
      CHECK(node->count("nodes connected") == 1);
      CHECK(node->count("nodes lost") == 0);
      CHECK(node->count("frame bytes waiting") == 0);
      CHECK(node->count("connections refused") == 0);
    }
  }
}

TEST_CASE("a node that has ended is lost at once, and its successor is spoken to") {
  Node a(record(0));
  auto b = std::make_unique<Node>(record(1));
  REQUIRE(a.knows(*b));
  REQUIRE(a.send(*b));
  REQUIRE(run_until([&] { return b->count("frames received") == 1; }, a, *b));
  b.reset();
  CHECK(run_until([&] { return a.count("nodes lost") == 1; }, a));
  CHECK(a.count("nodes connected") == 0);
  Node again(record(1));
  REQUIRE(a.knows(again));
  SECTION("which connects itself") {
    REQUIRE(again.knows(a));
    REQUIRE(again.send(a));
    CHECK(run_until([&] { return a.count("frames received") == 1; }, a, again));
  }
  SECTION("which is connected to, where it listens now") {
    REQUIRE(a.send(again));
    CHECK(run_until([&] { return again.count("frames received") == 1; }, a, again));
  }
}

TEST_CASE("a node that refuses connections loses the frames for it, and is let alone for a while") {
  Node a(record(0));
  auto b = std::make_unique<Node>(record(1));
  REQUIRE(a.knows(*b));
  const std::uint32_t number = b->number;
  b.reset();
  FrameHeader header;
  const auto send = [&](Moment now) {
    return a.fabric.send(number, std::as_bytes(std::span(&header, 1)), {}, now);
  };
  const Moment now = monotonic_ns();
  if (send(now)) {
    REQUIRE(run_until([&] { return a.count("nodes lost") == 1; }, a));
  }
  CHECK_FALSE(send(now));
  CHECK(a.count("frame bytes waiting") == 0);
}

TEST_CASE("a sender is told of a node that never answered, not of one that has ended") {
  Node a(record(0));
  auto b = std::make_unique<Node>(record(1));
  REQUIRE(a.knows(*b));
  const bool has_spoken = GENERATE(true, false);
  if (has_spoken) {
    REQUIRE(a.send(*b));
    REQUIRE(run_until([&] { return b->count("frames received") == 1; }, a, *b));
  }
  const std::uint32_t number = b->number;
  b.reset();
  const std::uint64_t lost = has_spoken ? 1 : 0;
  REQUIRE(run_until([&] { return a.count("nodes lost") == lost; }, a));
  FrameHeader header;
  const std::string said = standard_error([&] {
    if (a.fabric.send(number, std::as_bytes(std::span(&header, 1)), {}, monotonic_ns()))
      run_until([&] { return a.count("nodes lost") == lost + 1; }, a);
  });
  CHECK(a.count("nodes lost") == lost + 1);
  CHECK((said.find("cannot speak to node 1") == std::string::npos) == has_spoken);
}

TEST_CASE("a full connection says so, and says when it has room again") {
  Node a(record(0)), b(record(1));
  REQUIRE(a.knows(b));
  std::uint64_t sent = 0;
  for (; a.fabric.ready(b.number); ++sent) {
    REQUIRE(a.send(b, kMaxPayload));
    REQUIRE(sent < 1000);
  }
  CHECK(a.count("frame bytes waiting") >= Fabric::kFull);
  CHECK(a.count("frame bytes waiting") < Fabric::kFull + kLongestFrame + kLengthBytes);
  bool woken = false;
  CHECK(eventually([&] {
    b.step();
    for (const TaggedPoller::Ready& ready : a.poller.wait(0))
      a.fabric.take(ready.tag.id, ready.events, monotonic_ns());
    woken = a.fabric.send_waiting(monotonic_ns()) || woken;
    return woken;
  }));
  CHECK(a.fabric.ready(b.number));
  CHECK(run_until([&] { return b.count("frames received") == sent; }, a, b));
}

TEST_CASE(
    "another job's addresses lead nowhere, nor do those of no node of the job, or of itself") {
  Node a(record(0)), other(record(1, 'o'));
  CHECK_FALSE(a.fabric.node_of(other.gid(), true, 0));
  CHECK_FALSE(a.fabric.node_of(a.gid(), true, 0));
  CHECK_FALSE(a.fabric.node_of({}, false, 3));  // no node has said where it is
  CHECK_FALSE(a.fabric.node_of({}, false, 0));
  NodeAddress beyond = *address_of(a.gid());
  beyond.node = 8;
  CHECK_FALSE(a.fabric.node_of(gid_of(beyond), true, 0));
}

TEST_CASE("a peer without the key gets no frames, by LID neither") {
  Node b(record(1, 'o'));
  FabricRecord told = record(0);
  told.directory[1] = *Endpoint::parse(cat("127.0.0.1:", address_of(b.gid())->tcp_port));
  Node a(told);
  REQUIRE(a.fabric.node_of({}, false, 3) == b.number);
  REQUIRE(a.send(b));
  CHECK(run_until([&] { return a.count("nodes lost") == 1; }, a, b));
  CHECK(run_until([&] { return b.count("connections refused") == 1; }, a, b));
  CHECK(b.count("frames received") == 0);
  CHECK(b.count("nodes connected") == 0);
}

TEST_CASE("a directory counts more than what a program says") {
  Node b(record(1));
  FabricRecord told = record(0);
  told.directory[1] = *Endpoint::parse(cat("127.0.0.1:", address_of(b.gid())->tcp_port));
  Node a(told);
  NodeAddress wrong = *address_of(b.gid());
  wrong.tcp_port = 1;
  REQUIRE(a.fabric.node_of(gid_of(wrong), true, 0) == b.number);
  REQUIRE(a.send(b));
  CHECK(run_until([&] { return b.count("frames received") == 1; }, a, b));
}

TEST_CASE("an address made up by a program is not used once the node has proved its own") {
  Node a(record(0)), b(record(1));
  REQUIRE(a.knows(b));
  REQUIRE(a.send(b));
  REQUIRE(run_until([&] { return b.count("frames received") == 1; }, a, b));
  NodeAddress wrong = *address_of(b.gid());
  for (wrong.tcp_port = 1; wrong.tcp_port < 20; ++wrong.tcp_port)
    REQUIRE(a.fabric.node_of(gid_of(wrong), true, 0) == b.number);
  // The connection ends. The next one goes to the address of the last one.
  FrameHeader nonsense;
  nonsense.kind = static_cast<FrameKind>(77);
  REQUIRE(a.fabric.send(b.number, std::as_bytes(std::span(&nonsense, 1)), {}, monotonic_ns()));
  REQUIRE(run_until([&] { return a.count("nodes lost") == 1; }, a, b));
  REQUIRE(a.send(b));
  CHECK(run_until([&] { return b.count("frames received") == 3; }, a, b));
  CHECK(a.count("nodes lost") == 1);
}

TEST_CASE(
    "of several addresses the one is found where the node proves itself, and no frame is lost") {
  Node a(record(0)), b(record(1)), c(record(2));
  NodeAddress nobody = *address_of(b.gid()), another = nobody;
  nobody.tcp_port = 1;
  another.tcp_port = address_of(c.gid())->tcp_port;
  std::vector<Gid> said{b.gid(), gid_of(nobody), gid_of(another)};
  std::rotate(said.begin(), said.begin() + GENERATE(0, 1, 2), said.end());
  for (const Gid& gid : said)
    REQUIRE(a.fabric.node_of(gid, true, 0) == b.number);
  REQUIRE(a.send(b));
  REQUIRE(a.send(b, 1000));
  CHECK(run_until([&] { return b.count("frames received") == 2; }, a, b, c));
  CHECK(a.count("nodes lost") == 0);
  CHECK(c.count("frames received") == 0);
}

TEST_CASE("a node without an IPv4 address is found by its number, over IPv6") {
  FabricRecord told = record(1);
  told.listen = told.reached = *Endpoint::parse("[::1]:0");
  auto made = Fabric::listen(told);
  INFO((made ? "" : made.error().text()));
  REQUIRE(made);
  Node b(told);
  CHECK(address_of(b.gid())->by_number());
  Node stranger(record(2));
  CHECK_FALSE(stranger.fabric.node_of(b.gid(), true, 0));
  FabricRecord mine = record(0);
  mine.directory[1] = *Endpoint::parse(b.says("listens"));
  Node a(mine);
  REQUIRE(a.knows(b));
  REQUIRE(a.send(b));
  CHECK(run_until([&] { return b.count("frames received") == 1; }, a, b));
}

TEST_CASE("frames that are left at the end are sent") {
  auto a = std::make_unique<Node>(record(0));
  Node b(record(1));
  REQUIRE(a->knows(b));
  REQUIRE(a->send(b));
  REQUIRE(run_until([&] { return b.count("frames received") == 1; }, *a, b));
  for (int i = 0; i < 10; ++i)
    REQUIRE(a->send(b, 1000));
  a->fabric.finish();
  a.reset();
  CHECK(run_until([&] { return b.count("nodes lost") == 1; }, b));
  CHECK(b.count("frames received") == 11);
}

TEST_CASE("an engine ends though another sends to it without end, and does not hear it") {
  auto a = std::make_unique<Node>(record(0));
  Node b(record(1));
  REQUIRE(b.knows(*a));
  REQUIRE(b.send(*a));
  REQUIRE(run_until([&] { return a->count("frames received") == 1; }, *a, b));
  const std::uint32_t number = a->number;
  std::atomic<bool> over{false};
  std::thread sender([&] {
    FrameHeader header;
    header.kind = FrameKind::data;
    header.total = header.count = kMaxPayload;
    const std::vector<std::byte> payload(kMaxPayload);
    while (!over.load()) {
      if (b.fabric.ready(number))
        b.fabric.send(number, std::as_bytes(std::span(&header, 1)), payload, monotonic_ns());
      for (const TaggedPoller::Ready& ready : b.poller.wait(0))
        b.fabric.take(ready.tag.id, ready.events & EPOLLOUT, monotonic_ns());
      b.fabric.send_waiting(monotonic_ns());
    }
  });
  a->fabric.finish();
  a.reset();
  over.store(true);
  sender.join();
}

TEST_CASE("frames of every size go encrypted both ways if either end asks for it") {
  const auto [left, right] = GENERATE(std::pair{false, false}, std::pair{true, false},
                                      std::pair{false, true}, std::pair{true, true});
  Node a(encrypting(0, left)), b(encrypting(1, right));
  REQUIRE(a.knows(b));
  REQUIRE(b.knows(a));
  std::uint64_t from_a = 0, from_b = 0;
  CHECK(run_until(
      [&] {
        // The last frames fill the connection.
        const std::size_t size = from_a % 5 * (kMaxPayload / 4);
        if (from_a < 60) from_a += a.send(b, size) ? 1 : 0;
        if (from_a > 5 && from_b < 60) from_b += b.send(a, kMaxPayload) ? 1 : 0;
        return b.count("frames received") == 60 && a.count("frames received") == 60;
      },
      a, b));
  for (Node* node : {&a, &b}) {
    CHECK(node->count("nodes lost") == 0);
    CHECK(node->count("nodes connected") == 1);
    CHECK(node->count("of these encrypted") == (left || right ? 1 : 0));
    CHECK(node->count("connections changed on their way") == 0);
  }
  CHECK(a.says("asks for encryption") == (left ? "yes" : "no"));
}

TEST_CASE("a node may wish for encryption until it has spoken with another, and not after") {
  Node a(record(0)), b(record(1)), late(record(2));
  // A stranger that has not proved itself is not another node.
  const auto listens = *Endpoint::parse(a.says("listens"));
  sockaddr_storage address{};
  const socklen_t size = listens.fill(address);
  const Fd stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(stranger.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
  REQUIRE(run_until([&] { return a.count("connections not proved") == 1; }, a));
  CHECK(a.fabric.encrypt());
  CHECK(a.fabric.encrypt());
  CHECK(a.count("connections not proved") == 0);
  for (Node* node : {&b, &late})
    REQUIRE(node->knows(a));
  REQUIRE(b.knows(late));
  REQUIRE(b.send(late));
  REQUIRE(run_until([&] { return late.count("frames received") == 1; }, b, late));
  CHECK_FALSE(b.fabric.encrypt());
  CHECK(b.says("asks for encryption") == "no");
  REQUIRE(b.send(a));
  REQUIRE(run_until([&] { return a.count("frames received") == 1; }, a, b));
  CHECK(a.count("of these encrypted") == 1);
  CHECK(b.count("of these encrypted") == 1);
}

TEST_CASE("a relay between two nodes can read nothing of encrypted frames") {
  const bool encrypt = GENERATE(true, false);
  Node b(record(1));
  Middle middle(*Endpoint::parse(b.says("listens")));
  FabricRecord told = encrypting(0, encrypt);
  told.directory[1] = middle.endpoint();
  Node a(told);
  REQUIRE(a.knows(b));
  REQUIRE(a.send(b, kMaxPayload));
  REQUIRE(run_until([&] { return b.count("frames received") == 1; }, a, b, middle));
  REQUIRE(b.knows(a));
  REQUIRE(b.send(a, 300));
  REQUIRE(run_until([&] { return a.count("frames received") == 1; }, a, b, middle));
  const std::string pattern(24, static_cast<char>(kSent));
  CHECK((middle.seen.find(pattern) == std::string::npos) == encrypt);
}

TEST_CASE("a byte that is changed between two nodes ends the connection and is not delivered") {
  Node b(encrypting(1, true));
  Middle middle(*Endpoint::parse(b.says("listens")));
  FabricRecord told = record(0);
  told.directory[1] = middle.endpoint();
  Node a(told);
  REQUIRE(a.knows(b));
  REQUIRE(a.send(b, 1000));
  REQUIRE(run_until([&] { return b.count("frames received") == 1; }, a, b, middle));
  middle.change_next = true;
  // The changed byte is in the only record, or behind a good record that comes with it.
  REQUIRE(a.send(b, GENERATE(1000, 60000)));
  CHECK(run_until([&] { return b.count("nodes lost") == 1; }, a, b, middle));
  CHECK(b.count("connections changed on their way") == 1);
  CHECK(b.count("frames received") == 1);
  CHECK(run_until([&] { return a.count("nodes lost") == 1; }, a, b, middle));
}

TEST_CASE("frames that come with the answer to a greeting count, though the connection has ended") {
  const bool encrypts = GENERATE(true, false);
  Node a(encrypting(0, encrypts));
  auto b = std::make_unique<Node>(record(1));
  REQUIRE(a.knows(*b));
  REQUIRE(b->knows(a));
  REQUIRE(a.send(*b));
  // The node that accepts answers, sends and ends before the other one runs.
  while (b->count("nodes connected") == 0) {
    a.step();
    b->step();
  }
  REQUIRE(b->send(a, 1000));
  b->fabric.finish();
  b.reset();
  CHECK(run_until([&] { return a.count("nodes lost") == 1; }, a));
  CHECK(a.count("frames received") == 1);
}

TEST_CASE("a byte that was changed is told though the connection ends behind it") {
  Node b(encrypting(1, true));
  std::optional<Middle> middle(*Endpoint::parse(b.says("listens")));
  FabricRecord told = record(0);
  told.directory[1] = middle->endpoint();
  Node a(told);
  REQUIRE(a.knows(b));
  REQUIRE(a.send(b, 1000));
  REQUIRE(run_until([&] { return b.count("frames received") == 1; }, a, b, *middle));
  middle->change_next = true;
  REQUIRE(a.send(b, 60000));
  REQUIRE(run_until([&] { return !middle->change_next && middle->is_empty(); }, a, *middle));
  middle.reset();
  CHECK(run_until([&] { return b.count("nodes lost") == 1; }, b));
  CHECK(b.count("connections changed on their way") == 1);
}

TEST_CASE("an encrypted connection that is cut is told from one that its engine has ended") {
  const bool is_cut = GENERATE(true, false);
  auto a = std::make_unique<Node>(encrypting(0, true));
  Node b(record(1));
  REQUIRE(a->knows(b));
  REQUIRE(a->send(b));
  REQUIRE(run_until([&] { return b.count("frames received") == 1; }, *a, b));
  const std::string said = standard_error([&] {
    if (!is_cut) a->fabric.finish();
    a.reset();
    run_until([&] { return b.count("nodes lost") == 1; }, b);
  });
  CHECK(b.count("nodes lost") == 1);
  CHECK((said.find("the connection to node 0 has ended: its engine was killed, or") !=
         std::string::npos) == is_cut);
}

TEST_CASE("encrypted frames that are left at the end are sent") {
  auto a = std::make_unique<Node>(encrypting(0, true));
  Node b(record(1));
  REQUIRE(a->knows(b));
  REQUIRE(a->send(b));
  REQUIRE(run_until([&] { return b.count("frames received") == 1; }, *a, b));
  for (int i = 0; i < 10; ++i)
    REQUIRE(a->send(b, 1000));
  a->fabric.finish();
  a.reset();
  CHECK(run_until([&] { return b.count("nodes lost") == 1; }, b));
  CHECK(b.count("frames received") == 11);
}

}  // namespace fabric_test
