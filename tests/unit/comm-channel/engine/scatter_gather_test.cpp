// Tests messages of several pieces, and what an operation keeps for them.
#include "comm-channel/engine/scatter_gather.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tests/unit/comm-channel/channel_ranks.h"

// The sanitizers call these. Without the option, they end the process if there is no memory.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming)
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming)

namespace scela::channel::test::scatter_gather_test {
namespace {

using Pieces = std::vector<std::span<std::byte>>;
using ConstPieces = std::vector<std::span<const std::byte>>;

// Memory that is not there, for pieces that are long enough to be checked.
class Hole {
 public:
  static constexpr std::size_t kBytes = 65'536;
  Hole() : memory_(::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(memory_ != MAP_FAILED);
  }
  Hole(const Hole&) = delete;
  Hole& operator=(const Hole&) = delete;
  ~Hole() { ::munmap(memory_, kBytes); }
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(memory_), kBytes}; }

 private:
  void* memory_;
};

Operation& send(Ranks& ranks, int from, int to, const ConstPieces& pieces, std::size_t bytes) {
  auto whole = ScatterGather::of(std::span(pieces), bytes);
  REQUIRE(whole);
  Operation& operation = ranks[from].send_operation(to, 1, whole->whole(), kWorld);
  operation.set_pieces(std::move(whole));
  ranks[from].begin(operation);
  return operation;
}

Operation& receive(Ranks& ranks, int rank, int source, const Pieces& pieces, std::size_t bytes) {
  auto whole = ScatterGather::of(std::span(pieces), bytes);
  REQUIRE(whole);
  Operation& operation = ranks[rank].receive_operation(source, 1, whole->whole(), kWorld);
  operation.set_pieces(std::move(whole));
  ranks[rank].begin(operation);
  return operation;
}

TEST_CASE("channel pieces: a message of some pieces arrives in others") {
  const std::size_t length = GENERATE(0U, 5U, 4096U, 9000U, 100'000U);
  const bool is_early = GENERATE(true, false);
  const int to = GENERATE(0, 1);  // also to the rank itself
  CAPTURE(length, is_early, to);
  Ranks ranks(2);
  const Data mine = data_of(length, 3);
  const std::size_t cut = length / 3;
  const Data first(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(cut));
  const Data second(mine.begin() + static_cast<std::ptrdiff_t>(cut), mine.end());
  Data head(length / 2), tail(length - length / 2 + 7);
  const ConstPieces sent{second.empty() ? std::span<const std::byte>() : first, {}, second};
  const Pieces room{head, {}, tail};
  Operation* got = is_early ? &receive(ranks, to, 0, room, length + 7) : nullptr;
  Operation& away = send(ranks, 0, to, sent, length);
  ranks.settle();
  if (got == nullptr) got = &receive(ranks, to, 0, room, length + 7);
  ranks.settle();
  REQUIRE(away.complete());
  REQUIRE(got->complete());
  CHECK(away.status.ok());
  CHECK(got->status.ok());
  CHECK(got->status.bytes() == length);
  head.insert(head.end(), tail.begin(), tail.end());
  head.resize(length);
  CHECK(head == mine);
  ranks[0].release(away);
  ranks[to].release(*got);
  CHECK(got->pieces == nullptr);
}

TEST_CASE("channel pieces: a long piece that is not there is an error of its own side") {
  Ranks ranks(2);
  const Hole hole;
  const Data some = data_of(10, 1);
  Operation& bad = send(ranks, 0, 1, {some, hole.bytes()}, Hole::kBytes + 10);
  REQUIRE(bad.complete());
  CHECK(bad.status.code() == Code::bad_buffer);
  CHECK(bad.status.rank() == 1);
  // The next message is received as if nothing had been.
  const Data mine = data_of(Hole::kBytes + 10, 2);
  std::array<std::byte, 10> room;
  Operation& lost = receive(ranks, 1, 0, {room, hole.bytes()}, mine.size());
  Operation& good = ranks.send(0, 1, 1, mine);
  ranks.settle();
  REQUIRE(lost.complete());
  CHECK(lost.status.code() == Code::bad_buffer);
  CHECK(lost.status.rank() == 0);
  CHECK(good.complete());
}

TEST_CASE("channel pieces: a message that is longer than its pieces fills them") {
  Ranks ranks(2);
  const Data mine = data_of(100, 4);
  Data head(20), tail(30);
  Operation& got = receive(ranks, 1, 0, {head, tail}, 50);
  ranks.send(0, 1, 1, mine);
  ranks.settle();
  REQUIRE(got.complete());
  CHECK(got.status.code() == Code::truncated);
  CHECK(got.status.bytes() == 100);
  head.insert(head.end(), tail.begin(), tail.end());
  CHECK(head == Data(mine.begin(), mine.begin() + 50));
}

TEST_CASE("channel pieces: a message fails without memory for the whole") {
  const std::array<std::byte, 4> some{};
  const ConstPieces pieces{some, some};
  CHECK(ScatterGather::of(std::span(pieces), std::size_t{1} << 60) == nullptr);
}

}  // namespace
}  // namespace scela::channel::test::scatter_gather_test
