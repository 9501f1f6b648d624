// Tests a node's ranks as processes: how they find their memory, copy, sleep, and hear of deaths;
// and what they report if the system refuses something.
#include <sys/resource.h>
#include <sys/syscall.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "comm-channel/shm/factory.h"
#include "tests/unit/comm-channel/shm/shm_ranks.h"

namespace scela::channel::shm::test::node_test {
namespace {

using Catch::Matchers::Contains;
using namespace std::chrono_literals;

struct Board {
  std::atomic<std::uint32_t> joined, settled, stage;
  std::atomic<std::uint64_t> address;
  std::array<char, 1000> text;
};

void say(Board& board, const std::string& words) {
  std::strncpy(board.text.data(), words.c_str(), board.text.size() - 1);
}

// Joins the node and waits until all `ranks` processes have joined.
std::unique_ptr<NodeLink> meet(const SharedSegment& segment, std::uint32_t rank, Board& board) {
  auto link = join_node(segment, rank);
  if (!link) std::_Exit(3);
  board.joined.fetch_add(1);
  await(board.joined, segment->shape().ranks);
  (*link)->settle();
  board.settled.fetch_add(1);
  await(board.settled, segment->shape().ranks);
  return std::move(*link);
}

template <class Handle>
void poll_until(NodeLink& link, const std::function<bool()>& enough, Handle handle) {
  while (!enough())
    if (link.poll(handle) == 0) link.wait();
}

const Shape kTwo = shape_for(2, 1024);

}  // namespace

TEST_CASE("shm segment: a rank opens the segment of its place, and a wrong place is refused") {
  auto made = make_segment(kTwo);
  REQUIRE(made);
  const Place place = (*made)->place();
  const auto again = place_of(text_of(place));
  REQUIRE(again);
  CHECK(*again == place);
  Child other([&] {
    auto opened = open_segment(*again, kTwo);
    if (!opened) return 1;
    (*opened)->deaths().store(7);
    return 0;
  });
  CHECK(other.wait() == 0);
  CHECK((*made)->deaths().load() == 7);

  Place wrong = place;
  ++wrong.nonce;
  auto refused = open_segment(wrong, kTwo);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().text(), Contains("not of this job"));
  wrong = place;
  wrong.fd = 9999;
  refused = open_segment(wrong, kTwo);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().text(), Contains("has ended, or runs where this one does not see it"));
  refused = open_segment(place, shape_for(3, 1024));
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().text(), Contains("other sizes") && Contains("SCELA_CHANNEL_"));
  for (const char* text : {"", "1 2", "1 2 3 4", "-1 2 3", "x 2 3"})
    CHECK_FALSE(place_of(text));
}

TEST_CASE("shm segment: a segment of another version is refused with the reason") {
  auto made = make_segment(kTwo);
  REQUIRE(made);
  // The version is the second word of the memory that all ranks map.
  auto* const front = reinterpret_cast<std::byte*>(&(*made)->deaths()) - 64;
  const std::uint32_t other = 77;
  std::memcpy(front + 8, &other, sizeof other);
  const auto refused = open_segment((*made)->place(), kTwo);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().text(),
             Contains("of version 77, this library's is 4") && Contains("one version of libscela"));
}

TEST_CASE("shm segment: a segment of another user is refused with the reason") {
  REQUIRE(::geteuid() == 0);  // only root can become another user
  auto made = make_segment(kTwo);
  REQUIRE(made);
  const Shared<Board> board;
  Child other([&] {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 2;
    auto opened = open_segment((*made)->place(), kTwo);
    if (opened) return 1;
    say(*board, opened.error().text());
    return 0;
  });
  CHECK(other.wait() == 0);
  CHECK_THAT(std::string(board->text.data()), Contains("of another user"));
}

TEST_CASE("shm segment: a rank's part does not grow with the number of ranks") {
  std::uint64_t before = 0;
  for (const std::uint32_t ranks : {10u, 20u, 30u}) {
    auto made = make_segment(shape_for(ranks, 4096));
    REQUIRE(made);
    const std::uint64_t all = (*made)->bytes();
    if (before != 0) CHECK(all - before == 10 * Segment::bytes_of_rank((*made)->shape(), true));
    before = all;
    // A rank that has been given no box costs no more memory than this.
    CHECK(Segment::bytes_of_rank((*made)->shape(), false) <= 160u * 1024);
  }
}

TEST_CASE("shm segment: memory that is exhausted is an error that says what to do") {
  const Shared<Board> board;
  Child no_space([&] {
    auto made = make_segment(kTwo);
    if (!made || !refuse({SYS_madvise}, ENOMEM)) return 2;
    auto link = join_node(*made, 0);
    if (link) return 1;
    say(*board, link.error().text());
    return 0;
  });
  CHECK(no_space.wait() == 0);
  CHECK_THAT(std::string(board->text.data()),
             Contains("memory.max") && Contains("run fewer ranks") && Contains("ENOMEM"));
  Child no_descriptor([&] {
    if (!refuse({SYS_memfd_create}, EMFILE)) return 2;
    auto made = make_segment(kTwo);
    if (made) return 1;
    say(*board, made.error().text());
    return 0;
  });
  CHECK(no_descriptor.wait() == 0);
  CHECK_THAT(std::string(board->text.data()), Contains("make the shared memory of this node") &&
                                                  Contains("EMFILE") && Contains("ulimit"));
}

TEST_CASE("shm segment: messages arrive without the boxes for which there is no memory") {
  const Shared<Board> board;
  auto segment = make_segment(kTwo);
  REQUIRE(segment);
  Child other([&] {
    auto link = meet(*segment, 1, *board);
    for (std::uint64_t i = 0; i < 100; ++i)
      while (!link->send_small(0, Header{{i, 0, 0}}, {}))
        link->wait();
    return link->describe().empty() ? 1 : 0;
  });
  Child reader([&] {
    auto link = meet(*segment, 0, *board);
    if (!refuse({SYS_madvise}, ENOMEM)) return 2;
    std::uint64_t got = 0;
    poll_until(
        *link, [&] { return got == 100; },
        [&](std::uint32_t, const Header& header, auto) {
          got += header.words[0] == got ? 1 : 1000;
        });
    return link->boxes_given() == 0 && got == 100 ? 0 : 1;
  });
  CHECK(other.wait() == 0);
  CHECK(reader.wait() == 0);
}

TEST_CASE("shm copy: the receiver copies at once, and names missing buffers and ended ranks") {
  const Shared<Board> board;
  auto segment = make_segment(kTwo);
  REQUIRE(segment);
  std::vector<std::byte> bytes(3'000'001);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i * 31);
  Child other([&] {
    auto link = meet(*segment, 1, *board);
    board->address = reinterpret_cast<std::uint64_t>(bytes.data());
    board->stage = 1;
    await(board->stage, 2);
    return 0;
  });
  auto link = meet(*segment, 0, *board);
  REQUIRE(link->copies().work());
  await(board->stage, 1);
  std::vector<std::byte> got(bytes.size());
  CHECK(link->copies().read_from(1, board->address, got));
  CHECK(got == bytes);
  const Copied fault = link->copies().read_from(1, 4096, got);
  CHECK(fault.why == Copied::Why::fault);
  CHECK_THAT(fault.error.text(), Contains("rank 1") && Contains("a buffer was freed"));
  board->stage = 2;
  other.await_end();
  CHECK(link->copies().read_from(1, board->address, got).why == Copied::Why::ended);
  other.wait();
  const Copied ended = link->copies().read_from(1, board->address, got);
  CHECK(ended.why == Copied::Why::ended);
  CHECK_THAT(ended.error.text(), Contains("has ended"));
}

// This rank is about to end: its memory is gone, and its process still exists.
TEST_CASE("shm copy: a rank that has no memory any more has ended, and freed no buffer") {
  const Shared<Board> board;
  auto segment = make_segment(kTwo);
  REQUIRE(segment);
  std::vector<std::byte> bytes(3'000'001), got(bytes.size());
  const Child other([&] {
    auto link = meet(*segment, 1, *board);
    board->address = reinterpret_cast<std::uint64_t>(bytes.data());
    board->stage = 1;
    ::execlp("sleep", "sleep", "100", nullptr);
    return 4;
  });
  auto link = meet(*segment, 0, *board);
  await(board->stage, 1);
  Copied copied;
  while ((copied = link->copies().read_from(1, board->address, got)))
    ::sched_yield();
  CHECK(copied.why == Copied::Why::ended);
  CHECK_THAT(copied.error.text(), Contains("rank 1") && Contains("has ended"));
  CHECK_FALSE(link->deaths().find_out(1));
}

TEST_CASE("shm copy: a refusal of the kernel is found at the start, and reported") {
  const Shared<Board> board;
  auto segment = make_segment(kTwo);
  REQUIRE(segment);
  Child other([&] {
    if (!refuse({SYS_process_vm_readv}, EPERM)) return 2;
    auto link = meet(*segment, 1, *board);
    if (link->copies().work()) return 1;
    say(*board, link->describe());
    // This rank may not copy, so the bytes come in pieces.
    std::vector<std::byte> whole;
    poll_until(
        *link, [&] { return whole.size() >= 100'000; },
        [&](std::uint32_t, const Header&, std::span<const std::byte> piece) {
          whole.insert(whole.end(), piece.begin(), piece.end());
        });
    for (std::size_t i = 0; i < whole.size(); ++i)
      if (whole[i] != static_cast<std::byte>(i % 251)) return 3;
    return 0;
  });
  auto link = meet(*segment, 0, *board);
  CHECK(link->copies().work());
  std::vector<std::byte> whole(100'000);
  for (std::size_t i = 0; i < whole.size(); ++i)
    whole[i] = static_cast<std::byte>(i % 251);
  for (std::span<const std::byte> rest = whole; !rest.empty();) {
    const auto piece = rest.first(std::min(rest.size(), link->most()));
    if (link->send_small(1, {}, piece))
      rest = rest.subspan(piece.size());
    else if (link->poll([](auto&&...) {}) == 0)
      link->wait();
  }
  CHECK(other.wait() == 0);
  CHECK_THAT(std::string(board->text.data()),
             Contains("in fragments") && Contains("process_vm_readv") && Contains("EPERM"));
}

TEST_CASE("shm copy: a neighbour that has left at once says nothing about the kernel") {
  const Shape three = shape_for(3, 1024);
  auto segment = make_segment(three);
  REQUIRE(segment);
  auto first = join_node(*segment, 0), next = join_node(*segment, 1), last = join_node(*segment, 2);
  REQUIRE((first && next && last));
  next->reset();
  // Other data may stand in its memory by now.
  const std::vector<std::string> others(100, std::string(64, 'x'));
  (*first)->settle();
  CHECK((*first)->copies().work());
  last->reset();
  (*first)->settle();
  CHECK((*first)->copies().work());
  CHECK_FALSE((*first)->copies().is_to_say_why_not());
}

TEST_CASE("shm copy: exactly one of the ranks that may not copy reports it") {
  auto segment = make_segment(kTwo);
  REQUIRE(segment);
  Child alone([&] {
    if (!refuse({SYS_process_vm_readv}, EPERM)) return 2;
    auto one = join_node(*segment, 0), other = join_node(*segment, 1);
    if (!one || !other) return 3;
    (*one)->settle();
    (*other)->settle();
    const int told = ((*one)->copies().is_to_say_why_not() ? 1 : 0) +
                     ((*other)->copies().is_to_say_why_not() ? 1 : 0);
    return told == 1 && !(*one)->copies().is_to_say_why_not() ? 0 : 1;
  });
  CHECK(alone.wait() == 0);
}

TEST_CASE("shm sleep: a sleeping rank is woken by a message, by free room or by its limit") {
  const Shared<Board> board;
  Shape few = kTwo;
  few.cells = 4;
  few.boxes = 0;
  // The test runs without membarrier too.
  const bool barrier = GENERATE(true, false);
  auto segment = make_segment(few);
  REQUIRE(segment);
  constexpr std::uint64_t kCount = 500;
  Child other([&] {
    if (!barrier && !refuse({SYS_membarrier}, ENOSYS)) return 2;
    auto link = meet(*segment, 1, *board);
    // This rank only sleeps. It never looks again by itself.
    std::uint64_t got = 0;
    while (got < kCount)
      if (link->poll([&](auto&&...) { ++got; }) == 0) link->sleep(60s);
    return link->sleeping().sleeps() > 0 && link->deaths().is_known(0) ? 1 : 0;
  });
  auto link = meet(*segment, 0, *board);
  for (std::uint64_t i = 0; i < kCount; ++i)
    while (!link->send_small(1, {}, {}))
      link->sleep(60s);
  CHECK(other.wait() == 0);
  CHECK(link->poll([](auto&&...) {}) == 0);
  const std::uint64_t slept = link->sleeping().sleeps();
  link->sleep(1ms);
  CHECK(link->sleeping().sleeps() == slept + 1);
  CHECK((link->describe().find("membarrier") != std::string::npos) == !barrier);
}

TEST_CASE("shm sleep: another thread of the process wakes a dozing thread") {
  auto segment = make_segment(shape_for(1, 64));
  REQUIRE(segment);
  auto link = std::move(*join_node(*segment, 0));
  link->settle();
  REQUIRE(link->sleeping().arm());
  link->sleeping().wake_self();
  link->sleeping().doze(60s);  // ends at once
  link->sleeping().disarm(WokenBy::node);
  CHECK(link->sleeping().sleeps() == 1);
}

TEST_CASE("shm deaths: a sleeping rank hears of a death, with and without pidfds") {
  const bool descriptors = GENERATE(true, false);
  const Shared<Board> board;
  auto segment = make_segment(shape_for(3, 1024));
  REQUIRE(segment);
  Child dies([&] {
    auto link = meet(*segment, 1, *board);
    for (std::uint64_t i = 0; i < 5; ++i)
      link->send_small(0, Header{{i, 0, 0}}, {});
    return 0;
  });
  Child hears([&] {
    auto link = meet(*segment, 2, *board);
    while (link->deaths().count() == 0)
      link->sleep();
    return link->deaths().is_known(1) && !link->deaths().is_known(0) ? 0 : 1;
  });
  Child reads([&] {
    if (!descriptors && !refuse({SYS_pidfd_open}, EPERM)) return 2;
    auto link = meet(*segment, 0, *board);
    while (!link->deaths().is_known(1))
      link->sleep();
    // The messages that it had sent are there all the same.
    std::uint64_t got = 0;
    while (link->poll([&](auto&&...) { ++got; }) != 0) {
    }
    return got == 5 ? 0 : 1;
  });
  CHECK(hears.wait() == 0);
  CHECK(reads.wait() == 0);
  CHECK(dies.wait() == 0);
}

}  // namespace scela::channel::shm::test::node_test
