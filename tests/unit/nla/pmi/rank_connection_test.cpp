// Tests one rank's connection over a socket pair, with a server that the test plays.
#include "nla/pmi/rank_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/os/asio.h"
#include "common/os/syscall.h"

namespace rank_connection_test {

using namespace scela;
using namespace scela::nla;

namespace {

struct FakeServer final : pmi::RankServer {
  void receive(std::string_view bytes) override { got += bytes; }
  void answered(RequestId, const Response&) override {}
  void closed() override { ++ends; }
  std::vector<Chunk> take_chunks() override { return std::exchange(answers, {}); }
  bool unfinished() const override { return false; }
  bool broken() const override { return false; }
  void answer(const std::string& text) { answers.emplace_back(text); }

  std::string got;
  std::vector<Chunk> answers;
  int ends = 0;
};

struct Fixture {
  Fixture() {
    auto made = std::make_unique<FakeServer>();
    server = made.get();
    one = std::make_unique<RankConnection>(context, 3, std::move(made));
    one->open(std::move(ends.ours), ::getpid());
  }
  void write(const std::string& text) const {
    REQUIRE(::send(ends.theirs.get(), text.data(), text.size(), 0) ==
            static_cast<ssize_t>(text.size()));
  }
  // Returns the bytes that the rank has got, at most 1 MiB.
  std::string read() const {
    std::string out(std::size_t{1} << 20, '\0');
    const ssize_t got = ::recv(ends.theirs.get(), out.data(), out.size(), MSG_DONTWAIT);
    out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return out;
  }

  boost::asio::io_context io{1};
  ReadBuffer buffer;
  Tracer tracer;
  int segments = 0;  // number of times that the segment was asked for
  std::vector<Event> events;
  RanksHost host{io,
                 buffer,
                 tracer,
                 [] { return std::uint64_t{0}; },
                 [this](Event event) { events.push_back(std::move(event)); },
                 [] {},
                 [this] {
                   ++segments;
                   return STDIN_FILENO;
                 },
                 nullptr,
                 nullptr};
  std::optional<Poller> poller{Poller::create().value()};
  ConnectionContext context{host, poller, {}, nullptr, true};
  SocketPair ends = make_socket_pair(SOCK_STREAM).value();
  FakeServer* server = nullptr;
  std::unique_ptr<RankConnection> one;
};

}  // namespace

TEST_CASE("a rank's bytes reach its server, and the answers go back") {
  Fixture f;
  f.write("asks");
  f.server->answer("an");
  f.server->answer("swer");
  f.poller->dispatch();
  CHECK(f.server->got == "asks");
  CHECK(f.read() == "answer");
}

TEST_CASE("a rank is not read while reading is off, or while it leaves its answers") {
  Fixture f;
  SECTION("off") {
    f.context.reading = false;
    f.one->watch();
    f.write("asks");
    f.poller->dispatch();
    CHECK(f.server->got.empty());
    f.context.reading = true;
    f.one->watch();
  }
  SECTION("answers left") {
    f.server->answer(std::string(std::size_t{4} << 20, 'x'));
    f.one->flush();
    f.write("asks");
    f.poller->dispatch();
    CHECK(f.server->got.empty());
    for (int i = 0; i < 1000 && f.server->got.empty(); ++i) {
      while (!f.read().empty()) {
      }
      f.poller->dispatch();
    }
  }
  f.poller->dispatch();
  CHECK(f.server->got == "asks");
}

TEST_CASE("a rank's last requests are served when it has ended, once") {
  Fixture f;
  f.write("last");
  f.one->close();
  f.one->close();
  CHECK(f.server->got == "last");
  CHECK(f.server->ends == 1);
}

TEST_CASE("the segment is offered once, and memory only to the process of the rank after that") {
  Fixture f;
  CHECK_FALSE(f.one->lend_ring());  // the kernel does not name the sender yet
  CHECK(f.one->offer_segment());
  CHECK(f.segments == 1);
  f.server->answer("a");
  f.one->flush();
  CHECK(f.read() == "a");
  CHECK_FALSE(f.one->offer_segment());
  CHECK(f.segments == 1);
  CHECK_FALSE(f.one->lend_ring());
  f.write("asks");
  f.poller->dispatch();
  CHECK(f.one->lend_ring());
  CHECK_FALSE(f.one->lend_ring());
}

}  // namespace rank_connection_test
