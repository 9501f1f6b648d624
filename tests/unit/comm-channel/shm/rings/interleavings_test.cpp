// Explores the steps of a node's ranks on the memory that they share
// (comm-channel/shm/rings/exchange.h), in every order. Stores may become visible late, and ranks
// may be killed at any step. If a step is wrong on purpose, the exploration finds the order in
// which it fails.
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "comm-channel/shm/rings/exchange.h"
#include "tests/support/interleavings.h"

namespace scela::channel::shm::interleavings_test {
namespace {

using scela::test::expect;
using scela::test::explore;
using scela::test::Explored;
using scela::test::fails;
using scela::test::Futexes;
using scela::test::Interleavings;
using scela::test::passes;
using scela::test::Turn;

// Says what the system does right or wrong.
struct Ways {
  bool barrier = true;  // membarrier does what it should
  bool fences = false;  // senders fence
  bool asks = true;     // a rank that has ended is found out
};

constexpr std::uint32_t kRanks = 3;
constexpr Shape kShape{kRanks, 2, 64, 1, 4, 512};

// The shared memory of one rank.
struct Things {
  Mailbox<Explored> mailbox;
  std::array<Line<Explored>, 2> cells;
  std::array<std::byte, 2 * 64> payload;
  std::array<BoxControl<Explored>, 1> boxes;
  std::array<Line<Explored>, 4> lines;
  std::array<std::byte, 512> bytes;

  Area<Explored> area() {
    return {&mailbox, cells.data(), payload.data(), boxes.data(), lines.data(), bytes.data()};
  }
};

struct World {
  explicit World(Ways which) : ways(which) {}
  Ways ways;
  std::array<Things, kRanks> ranks;
  std::array<bool, kRanks> killed{};
  std::map<const void*, Futexes> futexes;

  std::vector<Area<Explored>> areas() {
    std::vector<Area<Explored>> all;
    for (Things& one : ranks)
      all.push_back(one.area());
    return all;
  }
  // Returns the words that change when a sender to the rank may get room.
  std::vector<std::uint64_t> room_at(std::uint32_t rank) const {
    const Things& things = ranks[rank];
    return {things.cells[0].word.seen(), things.cells[1].word.seen(), things.boxes[0].given.seen(),
            things.boxes[0].consumed_lines.seen()};
  }
  // A rank sleeps only for a moment before it looks again. So a death wakes all, as if time had
  // passed.
  void kill(std::uint32_t rank) {
    killed[rank] = true;
    for (Things& one : ranks)
      futexes[&one.mailbox.asleep].wake();
  }
};

struct System {
  World& world;
  bool gone(std::uint32_t rank, std::uint32_t) { return world.ways.asks && world.killed[rank]; }
  void everybody_sees() {
    if (world.ways.barrier) scela::test::everybody_sees();
  }
  void wake(std::uint32_t, Explored<std::uint32_t>& word) { world.futexes[&word].wake(); }
  static bool make_box(std::uint32_t) { return true; }
  static void point() {}
};

struct Rank {
  Rank(const std::shared_ptr<World>& shared, std::uint32_t number, FastBoxPolicy habits)
      : world(shared), system{*shared}, exchange(kShape, number, shared->areas(), system, habits) {
    for (std::uint32_t i = 0; i < kRanks && !shared->ways.fences; ++i)
      exchange.trust_barrier(i);
    if (!shared->ways.fences) exchange.trust_all_barriers();
  }

  bool send(std::uint32_t peer, std::uint64_t value) {
    return exchange.send(peer, Header{{value, ~value, value}}, {});
  }
  void send_surely(std::uint32_t peer, std::uint64_t value) {
    for (;;) {
      const auto seen = world->room_at(peer);
      if (send(peer, value)) return;
      scela::test::wait_until([&, seen] { return world->room_at(peer) != seen; });
    }
  }
  // The messages of each sender are numbered 1, 2, 3...
  std::uint32_t poll() {
    return exchange.poll(
        [&](std::uint32_t peer, const Header& header, std::span<const std::byte> payload) {
          expect(header.words[1] == ~header.words[0] && header.words[2] == header.words[0] &&
                     payload.empty(),
                 "a message is whole");
          expect(header.words[0] == ++got[peer], "messages of a pair come in their order, once");
        });
  }
  void sleep() {
    if (!exchange.arm()) return;
    world->futexes[&exchange.asleep()].wait(exchange.asleep(), 1u);
    exchange.disarm();
  }

  std::shared_ptr<World> world;
  System system;
  Exchange<Explored, System> exchange;
  std::array<std::uint64_t, kRanks> got{};
};

constexpr FastBoxPolicy kNoBoxes{100, 1000};
constexpr FastBoxPolicy kBoxAtOnce{1, 1000};
constexpr FastBoxPolicy kBoxesChange{1, 2};

void poll_until(Rank& rank, const std::function<bool()>& enough) {
  for (Turn turn; !enough(); turn = Turn())
    if (rank.poll() == 0 && !enough()) turn.pass();
}

// ---- the inbox ----

// Ranks 1 and 2 send `first` and `second` messages to rank 0. If `mortal` is true, rank 2 may be
// killed at any step.
void two_senders(Interleavings& run, std::uint64_t first, std::uint64_t second, bool mortal,
                 Ways ways, FastBoxPolicy habits) {
  const auto world = std::make_shared<World>(ways);
  const auto sends = [=](std::uint32_t number, std::uint64_t count) {
    return [=] {
      Rank rank(world, number, habits);
      for (std::uint64_t i = 1; i <= count; ++i)
        rank.send_surely(0, i);
    };
  };
  run.thread("reader", [=] {
    Rank rank(world, 0, habits);
    poll_until(rank,
               [&] { return rank.got[1] == first && (rank.got[2] == second || world->killed[2]); });
  });
  run.thread("first", sends(1, first));
  if (mortal)
    run.mortal("second", sends(2, second), [=] { world->kill(2); });
  else
    run.thread("second", sends(2, second));
}

// Rank 1 has the only box. If `knows` is false, it does not know that yet. If `taken_back` is true,
// the next messages of rank 2 make the reader take the box back.
void with_a_box(Interleavings& run, bool knows, bool taken_back, std::uint64_t first,
                std::uint64_t second, Ways ways) {
  const auto world = std::make_shared<World>(ways);
  const FastBoxPolicy habits{1, taken_back ? 3u : 1000u};
  std::array<std::shared_ptr<Rank>, kRanks> ranks;
  for (std::uint32_t i = 0; i < kRanks; ++i)
    ranks[i] = std::make_shared<Rank>(world, i, habits);
  const std::uint64_t before = knows ? 2 : 1;
  for (std::uint64_t i = 1; i <= before; ++i) {
    ranks[1]->send(0, i);
    ranks[0]->poll();
  }
  run.thread("reader", [=] {
    poll_until(*ranks[0],
               [&] { return ranks[0]->got[1] == before + first && ranks[0]->got[2] == second; });
  });
  run.thread("first", [=] {
    for (std::uint64_t i = before + 1; i <= before + first; ++i)
      ranks[1]->send_surely(0, i);
  });
  run.thread("second", [=] {
    for (std::uint64_t i = 1; i <= second; ++i)
      ranks[2]->send_surely(0, i);
  });
}

// ---- sleeping ----

void sleeper(Interleavings& run, std::uint64_t count, Ways ways, FastBoxPolicy habits) {
  const auto world = std::make_shared<World>(ways);
  run.thread("sleeper", [=] {
    Rank rank(world, 0, habits);
    while (rank.got[1] < count)
      if (rank.poll() == 0) rank.sleep();
  });
  run.thread("sender", [=] {
    Rank rank(world, 1, habits);
    for (std::uint64_t i = 1; i <= count; ++i)
      rank.send_surely(0, i);
  });
}

// The sender sleeps too, until there is room.
void sleeps_for_room(Interleavings& run, std::uint64_t count, Ways ways, FastBoxPolicy habits) {
  const auto world = std::make_shared<World>(ways);
  run.thread("reader", [=] {
    Rank rank(world, 0, habits);
    poll_until(rank, [&] { return rank.got[1] == count; });
  });
  run.thread("sender", [=] {
    Rank rank(world, 1, habits);
    for (std::uint64_t i = 1; i <= count; ++i)
      while (!rank.send(0, i))
        rank.sleep();
  });
}

}  // namespace

TEST_CASE("shm interleavings: messages of several ranks arrive once and in each sender's order") {
  passes(explore(1, [](Interleavings& run) { two_senders(run, 2, 2, false, {}, kNoBoxes); }));
  // There are more messages than cells.
  passes(explore(1, [](Interleavings& run) { two_senders(run, 3, 2, false, {}, kNoBoxes); }));
}

TEST_CASE("shm interleavings: a sender that is killed anywhere blocks no other") {
  passes(explore(1, [](Interleavings& run) { two_senders(run, 2, 1, true, {}, kNoBoxes); }));
  passes(explore(0, [](Interleavings& run) { two_senders(run, 2, 3, true, {}, kBoxesChange); }));
  // The exploration fails if the reader does not find out that the sender has ended.
  Ways nobody_asks;
  nobody_asks.asks = false;
  fails(
      explore(1, [=](Interleavings& run) { two_senders(run, 1, 1, true, nobody_asks, kNoBoxes); }),
      "wait");
}

TEST_CASE("shm interleavings: boxes and the inbox have one order, for any owners of the boxes") {
  passes(explore(0, [](Interleavings& run) { two_senders(run, 3, 2, false, {}, kBoxAtOnce); }), 10);
  passes(explore(0, [](Interleavings& run) { with_a_box(run, false, false, 3, 3, {}); }), 10);
}

TEST_CASE("shm interleavings: a box is taken back from a sender that may be writing to it") {
  passes(explore(1, [](Interleavings& run) { with_a_box(run, true, true, 1, 2, {}); }));
}

TEST_CASE("shm interleavings: a box is taken back by fences where there is no barrier") {
  const Ways fences{false, true, true};
  passes(explore(1, [=](Interleavings& run) { with_a_box(run, true, true, 1, 2, fences); }));
}

TEST_CASE("shm interleavings: without a barrier on either side a box has two owners") {
  const Ways neither{false, false, true};
  const auto found =
      explore(1, [=](Interleavings& run) { with_a_box(run, true, true, 1, 4, neither); });
  CHECK(found.problem != "");
}

TEST_CASE("shm interleavings: a sleeping rank is woken by a message") {
  passes(explore(2, [=](Interleavings& run) { sleeper(run, 2, {}, kNoBoxes); }));
  passes(explore(1, [=](Interleavings& run) { sleeper(run, 2, {}, kBoxAtOnce); }));
}

TEST_CASE("shm interleavings: a sleeping rank is woken by a sender that fences") {
  const Ways fences{false, true, true};
  passes(explore(2, [=](Interleavings& run) { sleeper(run, 2, fences, kNoBoxes); }));
  passes(explore(1, [=](Interleavings& run) { sleeper(run, 2, fences, kBoxAtOnce); }));
}

TEST_CASE("shm interleavings: without a barrier on either side a sleeper is missed") {
  const Ways neither{false, false, true};
  fails(explore(3, [=](Interleavings& run) { sleeper(run, 2, neither, kNoBoxes); }),
        "sleeper waits for ever");
  fails(explore(3, [=](Interleavings& run) { sleeper(run, 3, neither, kBoxAtOnce); }),
        "sleeper waits for ever");
}

TEST_CASE("shm interleavings: a sender that sleeps for want of room is woken when there is some") {
  passes(explore(2, [](Interleavings& run) { sleeps_for_room(run, 4, {}, kNoBoxes); }));
  passes(explore(1, [](Interleavings& run) { sleeps_for_room(run, 6, {}, kBoxAtOnce); }));
}

TEST_CASE("shm interleavings: without a barrier a sender that sleeps for want of room is missed") {
  const Ways neither{false, false, true};
  fails(explore(2, [=](Interleavings& run) { sleeps_for_room(run, 4, neither, kNoBoxes); }),
        "waits for ever");
}

}  // namespace scela::channel::shm::interleavings_test
