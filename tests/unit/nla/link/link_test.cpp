#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "common/os/asio.h"
#include "common/os/syscall.h"
#include "nla/io/read_buffer.h"
#include "nla/link/factory.h"

namespace link_test {

using namespace scela;
using namespace scela::nla;

namespace {

// Records what a link reports.
struct Probe final : LinkListener {
  void on_frame(LinkId, Frame frame) override {
    CHECK(ended == 0);
    frames.push_back(std::move(frame));
  }
  void on_ended(LinkId, std::string reason) override {
    ++ended;
    why = std::move(reason);
  }
  void on_closed(LinkId) override {
    CHECK(ended == 1);
    ++closed;
  }
  void on_turn_over() override { ++turns; }
  void on_link_frame(LinkId, Frame) override { CHECK(false); }
  std::vector<Frame> frames;
  int ended = 0;
  int closed = 0;
  int turns = 0;
  std::string why;
};

struct Bench {
  Bench() : ends(make_socket_pair(SOCK_STREAM).value()) {}
  std::unique_ptr<Link> link(Probe& probe) { return std::make_unique<Link>(buffer, 1, probe); }
  // Handles all events that are ready.
  void settle() {
    io.restart();
    while (io.poll() > 0) {
    }
  }
  boost::asio::io_context io{1};
  ReadBuffer buffer;
  SocketPair ends;
};

Encoded sized(std::size_t bytes, char fill = 'x') {
  return {frame_header(9, bytes), Chunk(std::string(bytes, fill))};
}

}  // namespace

TEST_CASE("frames sent before the stream is connected arrive, in order") {
  Bench bench;
  Probe a, b;
  auto left = bench.link(a);
  auto right = bench.link(b);
  for (std::size_t i = 0; i < 200; ++i)
    left->send(sized(i, static_cast<char>(i)));
  left->flush();
  CHECK(left->queued_bytes() > 0);
  left->attach(make_fd_transport(bench.io, std::move(bench.ends.ours)));
  right->attach(make_fd_transport(bench.io, std::move(bench.ends.theirs)));
  bench.settle();
  REQUIRE(b.frames.size() == 200);
  for (std::size_t i = 0; i < 200; ++i) {
    CHECK(b.frames[i].payload == std::string(i, static_cast<char>(i)));
  }
  CHECK(left->queued_bytes() == 0);
  CHECK(left->sent_bytes() == 200 * kFrameHeader + 199 * 200 / 2);
}

TEST_CASE("more than the stream holds waits its turn, and its owner is told of progress") {
  Bench bench;
  Probe a, b;
  auto left = bench.link(a);
  auto right = bench.link(b);
  left->attach(make_fd_transport(bench.io, std::move(bench.ends.ours)));
  right->attach(make_fd_transport(bench.io, std::move(bench.ends.theirs)));
  right->set_reading(false);
  bench.settle();
  for (int i = 0; i < 100; ++i)
    left->send(sized(kMaxPiece));
  left->flush();
  bench.settle();
  CHECK(left->queued_bytes() > kHighWater);
  CHECK(b.frames.empty());
  const int turns = a.turns;
  right->set_reading(true);
  bench.settle();
  CHECK(b.frames.size() == 100);
  CHECK(left->queued_bytes() == 0);
  CHECK(a.turns > turns);
}

TEST_CASE(
    "a link tells the end after the last frame, and the close when the peer has no descriptor") {
  Bench bench;
  Probe a;
  auto link = bench.link(a);
  link->attach(make_fd_transport(bench.io, std::move(bench.ends.ours)));
  Fd held(::fcntl(bench.ends.theirs.get(), F_DUPFD_CLOEXEC, 0));
  const Encoded last = sized(10);
  REQUIRE(::write(held.get(), last.head.data(), last.head.size()) > 0);
  REQUIRE(::write(held.get(), last.tail.view().data(), 10) == 10);
  ::shutdown(bench.ends.theirs.get(), SHUT_WR);
  bench.ends.theirs.reset();
  bench.settle();
  CHECK(a.frames.size() == 1);
  CHECK(a.ended == 1);
  CHECK(a.why.empty());
  CHECK(a.closed == 0);
  held.reset();
  bench.settle();
  CHECK(a.ended == 1);
  CHECK(a.closed == 1);
}

TEST_CASE("a stream that ends inside a message, or has no frames, says so") {
  Bench cut;
  Probe a;
  auto first = cut.link(a);
  first->attach(make_fd_transport(cut.io, std::move(cut.ends.ours)));
  const Encoded whole = sized(10);
  REQUIRE(::write(cut.ends.theirs.get(), whole.head.data(), whole.head.size()) > 0);
  cut.ends.theirs.reset();
  cut.settle();
  CHECK(a.ended == 1);
  CHECK(a.why == "it ended inside a message");
  CHECK(a.closed == 1);

  Bench nonsense;
  Probe b;
  auto second = nonsense.link(b);
  second->attach(make_fd_transport(nonsense.io, std::move(nonsense.ends.ours)));
  REQUIRE(::write(nonsense.ends.theirs.get(), "GET / HTTP/1.0\r\n", 16) == 16);
  nonsense.settle();
  CHECK(b.ended == 1);
  CHECK(b.why.find("version") != std::string::npos);
  // The end of the stream tells the peer. The link still sees the peer's own end.
  char byte;
  CHECK(::recv(nonsense.ends.theirs.get(), &byte, 1, MSG_DONTWAIT) == 0);
  REQUIRE(::write(nonsense.ends.theirs.get(), "more", 4) == 4);
  nonsense.settle();
  CHECK(b.closed == 0);
  nonsense.ends.theirs.reset();
  nonsense.settle();
  CHECK(b.ended == 1);
  CHECK(b.closed == 1);
  CHECK(b.frames.empty());
}

TEST_CASE("a link that was given up drops what comes and waits for the peer to go") {
  Bench bench;
  Probe a;
  auto link = bench.link(a);
  link->attach(make_fd_transport(bench.io, std::move(bench.ends.ours)));
  link->send(sized(10));
  link->give_up();
  link->send(sized(10));
  link->flush();
  char byte;
  CHECK(::recv(bench.ends.theirs.get(), &byte, 1, MSG_DONTWAIT) == 0);
  const Encoded late = sized(4);
  REQUIRE(::write(bench.ends.theirs.get(), late.head.data(), late.head.size()) > 0);
  bench.settle();
  CHECK(a.frames.empty());
  CHECK(a.closed == 0);
  bench.ends.theirs.reset();
  bench.settle();
  CHECK(a.closed == 1);
}

TEST_CASE("writing to a peer that is gone breaks nothing") {
  ::signal(SIGPIPE, SIG_IGN);
  Bench bench;
  Probe a;
  auto link = bench.link(a);
  link->attach(make_fd_transport(bench.io, std::move(bench.ends.ours)));
  bench.ends.theirs.reset();
  link->send(sized(kMaxPiece));
  link->flush();
  CHECK(link->queued_bytes() == 0);
  bench.settle();
  CHECK(a.ended == 1);
  CHECK(a.closed == 1);
}

}  // namespace link_test
