// Tests the agent's end of a rank's memory, and the doorbells, against the client's end.
#include "nla/pmi/rank_ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "nla/pmi/rank_doorbells.h"

namespace rank_ring_test {

using namespace scela;
using namespace scela::nla;
namespace layout = scela::pmi::ring;

namespace {

// A rank that has mapped the memory that it was lent.
class Client {
 public:
  explicit Client(const RankRing& lent)
      : base_(::mmap(nullptr, layout::kTotalBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                     lent.descriptor(), 0)),
        end_(layout::SharedMemory(base_)) {
    REQUIRE(base_ != MAP_FAILED);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { ::munmap(base_, layout::kTotalBytes); }

  layout::ClientEnd& end() { return end_; }
  layout::SharedMemory memory() { return layout::SharedMemory(base_); }
  // Returns true if the rank must ring afterwards.
  bool write(const std::string& bytes) {
    bool rings = false;
    REQUIRE(end_.write(bytes, rings) == bytes.size());
    return rings;
  }
  std::string read() {
    std::string out(layout::kCapacity, '\0');
    bool rings = false;
    out.resize(end_.read(out.data(), out.size(), rings).value());
    return out;
  }

 private:
  void* base_;
  layout::ClientEnd end_;
};

std::string read(RankRing& ring) {
  std::string out(layout::kCapacity, '\0');
  const auto got = ring.read(out.data(), out.size());
  REQUIRE(got.has_value());
  out.resize(*got);
  return out;
}

struct Counter final : DoorbellListener {
  void rung() override { ++times; }
  int times = 0;
};

}  // namespace

TEST_CASE("lent memory calls once the rank has taken it, and then for requests and for room") {
  const auto ring = RankRing::make();
  REQUIRE(ring);
  Client client(*ring);
  CHECK(ring->state() == RankRing::State::lent);
  CHECK_FALSE(ring->calls(true));
  client.end().take();
  CHECK(ring->is_taken());
  CHECK(ring->calls(true));
  ring->begin_use();
  CHECK_FALSE(ring->calls(true));

  CHECK(client.write("cmd=init\n"));
  CHECK(ring->calls(true));
  CHECK_FALSE(ring->calls(false));
  CHECK(read(*ring) == "cmd=init\n");
  CHECK_FALSE(ring->arm());
  CHECK_FALSE(ring->calls(true));

  AnswerQueue answers;
  answers.add(Chunk(std::string(layout::kCapacity + 10, 'x')));
  CHECK(ring->write(answers));
  CHECK(answers.bytes() == 10);
  CHECK_FALSE(ring->calls(false));
  CHECK(client.read() == std::string(layout::kCapacity, 'x'));
  CHECK(ring->calls(false));
  CHECK(ring->has_room());
  CHECK(ring->write(answers));
  CHECK(answers.empty());
  CHECK(client.read() == std::string(10, 'x'));

  ring->close();
  CHECK(client.end().is_closed());
}

TEST_CASE("memory with a position that cannot be is spoilt, and calls no more") {
  const auto ring = RankRing::make();
  REQUIRE(ring);
  Client client(*ring);
  client.end().take();
  ring->begin_use();
  SECTION("of requests") {
    client.memory().store(layout::request_tail, layout::kCapacity + 1);
    char byte = 0;
    CHECK_FALSE(ring->read(&byte, 1).has_value());
  }
  SECTION("of answers") {
    client.memory().store(layout::answer_head, 1);
    AnswerQueue answers;
    answers.add(Chunk(std::string("x")));
    CHECK_FALSE(ring->write(answers));
  }
  CHECK(ring->state() == RankRing::State::spoilt);
  CHECK_FALSE(ring->calls(true));
}

TEST_CASE("a doorbell calls every listener, in a later turn") {
  Result<Poller> poller = Poller::create();
  REQUIRE(poller);
  RankDoorbells doorbells;
  Counter first;
  Counter second;
  doorbells.ring();  // there is none yet
  REQUIRE(doorbells.hang(*poller));
  const int descriptor = doorbells.descriptor();
  REQUIRE(doorbells.hang(*poller));
  CHECK(doorbells.descriptor() == descriptor);
  doorbells.add(first);
  doorbells.add(second);

  const std::uint64_t one = 1;
  REQUIRE(::write(descriptor, &one, sizeof one) == sizeof one);
  CHECK(first.times == 0);
  poller->dispatch();
  poller->dispatch();
  CHECK(first.times == 1);
  CHECK(second.times == 1);

  doorbells.remove(first);
  doorbells.ring();
  poller->dispatch();
  CHECK(first.times == 1);
  CHECK(second.times == 2);
}

}  // namespace rank_ring_test
