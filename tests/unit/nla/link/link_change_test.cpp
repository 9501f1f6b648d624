// Tests links that change from one stream to another, over streams that the test plays. Bytes
// arrive in pieces of any size, at any time, and in any order between the streams.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <deque>
#include <memory>
#include <vector>

#include "common/core/bytes.h"
#include "common/core/random.h"
#include "nla/io/read_buffer.h"
#include "nla/link/factory.h"

namespace link_change_test {

using namespace scela;
using namespace scela::nla;

namespace {

// One direction of a stream.
struct Pipe {
  std::string bytes;
  std::size_t arrived = 0;  // bytes that can be read
  std::size_t room = 0;     // bytes that may be written until a grant
  bool ended = false;       // the writer has ended it
  bool end_arrived = false;
};

struct FakeEnd final : Transport {
  FakeEnd(std::shared_ptr<Pipe> from, std::shared_ptr<Pipe> to)
      : in(std::move(from)), out(std::move(to)) {}
  ssize_t read(char* to, std::size_t size) override {
    const std::size_t got = std::min(size, in->arrived);
    if (got == 0 && in->end_arrived) return 0;
    if (got == 0) return errno = EAGAIN, -1;
    std::copy_n(in->bytes.data(), got, to);
    in->bytes.erase(0, got);
    in->arrived -= got;
    return static_cast<ssize_t>(got);
  }
  ssize_t write(const iovec* parts, int count) override {
    std::size_t total = 0;
    for (int i = 0; i < count && out->room > 0; ++i) {
      const std::size_t piece = std::min(parts[i].iov_len, out->room);
      out->bytes.append(static_cast<const char*>(parts[i].iov_base), piece);
      out->room -= piece;
      total += piece;
      if (piece < parts[i].iov_len) break;
    }
    if (total == 0) return errno = EAGAIN, -1;
    return static_cast<ssize_t>(total);
  }
  void wait_readable(Handler handler) override { reader = std::move(handler); }
  void wait_writable(Handler handler) override { writer = std::move(handler); }
  void wait_closed(Handler handler) override { closer = std::move(handler); }
  void end_writing() override { out->ended = true; }
  void close() override {
    open = false;
    out->ended = true;
    reader = writer = closer = nullptr;
  }
  bool is_open() const override { return open; }

  // The event loop would read or write in these cases.
  bool can_read() const { return reader && (in->arrived > 0 || in->end_arrived); }
  bool can_write() const { return writer && out->room > 0; }

  std::shared_ptr<Pipe> in, out;
  Handler reader, writer, closer;
  bool open = true;
};

struct Stream {
  std::shared_ptr<Pipe> down = std::make_shared<Pipe>(), up = std::make_shared<Pipe>();
  std::unique_ptr<FakeEnd> parent = std::make_unique<FakeEnd>(up, down);
  std::unique_ptr<FakeEnd> child = std::make_unique<FakeEnd>(down, up);
  FakeEnd* parent_end = parent.get();  // for use once the links own the ends
  FakeEnd* child_end = child.get();
};

struct Listener final : LinkListener {
  void on_frame(LinkId, Frame frame) override {
    ByteReader in(frame.payload);
    got.push_back(in.u32());
    CHECK(frame.payload.size() >= 4);
  }
  void on_ended(LinkId, std::string reason) override {
    ++ended;
    why = std::move(reason);
  }
  void on_closed(LinkId) override {
    CHECK(ended == 1);
    ++closed;
  }
  void on_turn_over() override { link->flush(); }
  void on_link_frame(LinkId, Frame frame) override { link_frames.push_back(frame.kind); }
  Link* link = nullptr;
  std::vector<std::uint32_t> got;
  std::vector<std::uint8_t> link_frames;
  int ended = 0;
  int closed = 0;
  std::string why;
};

Encoded numbered(std::uint32_t number, std::size_t padding) {
  ByteWriter out;
  out.u32(number);
  return {frame_header(7, 4 + padding) + out.bytes(), Chunk(std::string(padding, '.'))};
}

struct Bench {
  Bench() {
    parent = std::make_unique<Link>(buffer, 1, above);
    child = std::make_unique<Link>(buffer, kParentLink, below);
    above.link = parent.get();
    below.link = child.get();
  }
  void attach() {
    parent->attach(std::move(first.parent));
    child->attach(std::move(first.child));
  }
  void send(Link& link, std::uint32_t& count, std::size_t padding) {
    link.send(numbered(count++, padding));
    link.flush();
  }
  // Does one random thing at one of the four ends.
  void step(Random& random) {
    FakeEnd* ends[] = {first.parent_end, first.child_end, second.parent_end, second.child_end};
    FakeEnd& end = *ends[random.below(4)];
    switch (random.below(4)) {
      case 0:
        end.out->room += random.below(random.below(2) == 0 ? 20 : 3000);
        break;
      case 1: {
        Pipe& pipe = *end.in;
        pipe.arrived += random.below(pipe.bytes.size() - pipe.arrived + 1);
        if (pipe.arrived == pipe.bytes.size() && pipe.ended) pipe.end_arrived = true;
        break;
      }
      case 2:
        if (end.can_read()) std::exchange(end.reader, nullptr)();
        break;
      default:
        if (end.can_write()) std::exchange(end.writer, nullptr)();
    }
  }
  void settle() {
    for (int round = 0; round < 100; ++round) {
      for (FakeEnd* end :
           {first.parent_end, first.child_end, second.parent_end, second.child_end}) {
        end->out->room = 1u << 30;
        end->in->arrived = end->in->bytes.size();
        end->in->end_arrived = end->in->ended;
        if (end->can_write()) std::exchange(end->writer, nullptr)();
        if (end->can_read()) std::exchange(end->reader, nullptr)();
      }
    }
  }

  ReadBuffer buffer;
  Listener above, below;  // of the parent and of the child
  Stream first, second;
  std::unique_ptr<Link> parent, child;
  std::uint32_t sent_down = 0, sent_up = 0;
};

void check_in_order(const std::vector<std::uint32_t>& got, std::uint32_t sent) {
  REQUIRE(got.size() == sent);
  for (std::uint32_t i = 0; i < sent; ++i)
    REQUIRE(got[i] == i);
}

}  // namespace

TEST_CASE("a link changes its stream without losing, doubling or reordering a frame") {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    Bench bench;
    const bool holds = random.below(4) == 0;
    if (holds) bench.parent->hold();
    bench.attach();
    const std::uint64_t parent_at = random.below(300), child_at = random.below(300);
    for (std::uint64_t time = 0; time < 600; ++time) {
      // The parent has its end before the child can be sure that both have one.
      if (time == parent_at) bench.parent->change_to(std::move(bench.second.parent), false);
      if (time == std::max(parent_at + 1, child_at)) {
        bench.child->change_to(std::move(bench.second.child), true);
      }
      const std::size_t padding = random.below(50) == 0 ? kMaxPiece : random.below(40);
      if (random.below(3) == 0) bench.send(*bench.parent, bench.sent_down, padding);
      if (random.below(3) == 0) bench.send(*bench.child, bench.sent_up, padding);
      if (random.below(20) == 0) bench.parent->beat();
      if (random.below(40) == 0) bench.child->set_reading(random.below(2) == 0);
      if (random.below(40) == 0) bench.parent->set_reading(random.below(2) == 0);
      for (int i = 0; i < 4; ++i)
        bench.step(random);
    }
    bench.child->set_reading(true);
    bench.parent->set_reading(true);
    bench.settle();
    INFO("seed " << seed);
    check_in_order(bench.below.got, bench.sent_down);
    check_in_order(bench.above.got, bench.sent_up);
    const std::vector<std::uint8_t> changed{static_cast<std::uint8_t>(LinkFrame::change)};
    CHECK(bench.above.link_frames == changed);
    CHECK(bench.below.link_frames == changed);
    CHECK(bench.above.ended + bench.below.ended == 0);
    CHECK(bench.parent->queued_bytes() + bench.child->queued_bytes() == 0);
    // A message that is sent now goes over the second stream.
    bench.send(*bench.child, bench.sent_up, 0);
    CHECK(bench.second.up->bytes.size() == kFrameHeader + 4);
    CHECK(bench.first.up->bytes.empty());
  }
}

namespace {

struct Changed : Bench {
  Changed() {
    attach();
    parent->change_to(std::move(second.parent), false);
    child->change_to(std::move(second.child), true);
    settle();
    REQUIRE(above.link_frames.size() == 1);
    REQUIRE(below.link_frames.size() == 1);
  }
};

}  // namespace

TEST_CASE("messages that are held leave only over the new stream") {
  Bench bench;
  bench.parent->hold();
  bench.send(*bench.parent, bench.sent_down, 10);
  bench.parent->send_link_frame(link_frame(LinkFrame::ask));
  bench.attach();
  bench.settle();
  CHECK(bench.below.got.empty());
  CHECK(bench.below.link_frames.size() == 1);
  CHECK(bench.parent->queued_bytes() > 0);
  bench.parent->change_to(std::move(bench.second.parent), false);
  bench.child->change_to(std::move(bench.second.child), true);
  bench.settle();
  CHECK(bench.below.got.size() == 1);
  CHECK(bench.parent->queued_bytes() == 0);
}

TEST_CASE("the last message before leaving arrives, and only then may the agent leave") {
  Changed bench;
  bench.second.up->room = 0;
  bench.send(*bench.child, bench.sent_up, 100);
  CHECK_FALSE(bench.child->finish());
  bench.second.up->room = 1000;
  std::exchange(bench.second.child_end->writer, nullptr)();
  // The peer has not read the last message. A close now, while a beat is on its way here, would
  // destroy that message.
  CHECK_FALSE(bench.child->finish());
  bench.parent->beat();
  bench.settle();
  CHECK(bench.above.got.size() == 1);
  CHECK(bench.above.ended == 1);
  CHECK(bench.above.closed == 0);
  CHECK(bench.child->finish());
}

TEST_CASE("a changed link has ended with its second stream, and is closed with its first") {
  Changed bench;
  bench.second.child_end->close();  // the agent is gone, its guardian cleans the node
  bench.settle();
  CHECK(bench.above.ended == 1);
  CHECK(bench.above.why.empty());
  CHECK(bench.above.closed == 0);
  CHECK(bench.first.down->ended);
  bench.first.child_end->close();
  bench.settle();
  REQUIRE(bench.first.parent_end->closer);
  bench.first.parent_end->closer();
  CHECK(bench.above.closed == 1);
}

TEST_CASE("a first stream that ends too early leaves what is on its way on the second") {
  Changed bench;
  bench.second.up->arrived = 0;
  bench.send(*bench.child, bench.sent_up, 0);
  bench.first.child_end->close();
  bench.first.up->end_arrived = true;
  std::exchange(bench.first.parent_end->reader, nullptr)();
  REQUIRE(bench.first.parent_end->closer);
  std::exchange(bench.first.parent_end->closer, nullptr)();
  CHECK(bench.above.ended == 0);
  bench.second.child_end->close();
  bench.settle();
  CHECK(bench.above.got.size() == 1);
  CHECK(bench.above.ended == 1);
  CHECK(bench.above.closed == 1);
}

TEST_CASE("a child has lost its parent if its first stream ends") {
  Changed bench;
  bench.first.parent_end->close();
  bench.settle();
  CHECK(bench.below.ended == 1);
  CHECK(bench.below.why.find("ended") != std::string::npos);
}

TEST_CASE("a peer that changes without agreement, or goes on after it, is refused") {
  {
    Bench bench;
    bench.attach();
    bench.child->change_to(std::move(bench.second.child), true);
    bench.settle();
    CHECK(bench.above.ended == 1);
    CHECK(bench.above.why.find("not agreed") != std::string::npos);
  }
  {
    Changed bench;
    bench.first.up->bytes += link_frame(LinkFrame::beat);
    bench.settle();
    CHECK(bench.above.ended == 1);
    CHECK(bench.above.why.find("follows") != std::string::npos);
  }
  {
    Changed bench;
    bench.second.up->bytes += link_frame(LinkFrame::change);
    bench.settle();
    CHECK(bench.above.ended == 1);
  }
  {
    Bench bench;
    bench.attach();
    bench.parent->change_to(std::move(bench.second.parent), false);
    bench.first.up->bytes += link_frame(LinkFrame::change) + link_frame(LinkFrame::beat);
    bench.settle();
    CHECK(bench.above.ended == 1);
  }
}

TEST_CASE("a link that is abandoned says no more") {
  Changed bench;
  bench.parent->close_now();
  bench.parent->send(numbered(1, 1));
  bench.parent->beat();
  bench.parent->flush();
  bench.settle();
  CHECK(bench.above.ended + bench.above.closed == 0);
  CHECK(bench.parent->queued_bytes() == 0);
  CHECK(bench.parent->finish());
  CHECK(bench.below.ended == 1);
}

}  // namespace link_change_test
