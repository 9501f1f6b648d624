// Explores how a process and its engine share out the parts of a message
// (hca/core/model/copy_jobs.h), in every order of their steps.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>

#include "hca/core/model/copy_jobs.h"
#include "tests/support/interleavings.h"

namespace scela::hca::test::copy_jobs_interleavings_test {
namespace {

using scela::test::expect;
using scela::test::explore;
using scela::test::Explored;
using scela::test::Futexes;
using scela::test::Interleavings;
using scela::test::passes;
using scela::test::Turn;

// These types are like those of hca/core/wire/shared_layout.h, but consist of explored values.
struct Part {
  Explored<CopyJobState> state;
  struct {
    Explored<std::uint64_t> bytes;
  } there;
};
struct Board {
  Explored<std::uint32_t> awaited;
  Explored<std::uint32_t> finished;
  Futexes futexes;
};

struct World {
  Part part;
  Board board;
  Explored<std::uint64_t> inside;  // the process is within a transfer
  Explored<std::uint64_t> moved;   // how often the bytes were moved
  // The message is over: its memory may have another use.
  Explored<std::uint64_t> over;
};

// Does what the kernel does for the process: it looks at the length once, then moves the bytes.
bool transfer(World& world) {
  world.inside.store(1);
  const std::uint64_t bytes = world.part.there.bytes.load();
  if (bytes != 0) {
    expect(world.over.load() == 0, "nothing moves once the message is over");
    world.moved.fetch_add(1);
  }
  world.inside.store(0);
  return bytes != 0;
}

void help(World& world) {
  if (!begin(world.part)) return;
  if (finish(world.board, world.part, transfer(world))) world.board.futexes.wake();
}

// The process may be stopped for any time at any place outside of a transfer.
bool stops_in_time(World& world) {
  return withdraw(world.part, [&] { return world.inside.load() == 0; });
}
bool looks_before_it_withdraws(World& world) {
  const bool outside = world.inside.load() == 0;
  return withdraw(world.part, [=] { return outside; });
}
bool withdraws_nothing(World& world) {
  return world.inside.load() == 0;
}

void copy(World& world, bool (*gives_up)(World&), bool patient) {
  world.part.there.bytes.store(1, std::memory_order_relaxed);
  offer(world.part);
  bool mine = take_back(world.part);
  while (!mine) {
    const Turn turn;
    const bool over = await(world.board, world.part, [&](std::uint32_t seen) {
      if (patient) world.board.futexes.wait(world.board.finished, seen);
    });
    if (over) break;
    mine = gives_up(world);
    if (!mine && !patient) turn.pass();
  }
  if (!mine) mine = world.part.state.load() != CopyJobState::done;
  if (mine) world.moved.fetch_add(1);
  expect(world.moved.load() != 0, "the bytes are there");
  world.over.store(1);
}

bool never(World&) {
  return false;
}

// No process is stopped here: the engine sleeps until it is woken.
void runs(Interleavings& run) {
  const auto world = std::make_shared<World>();
  run.thread("engine", [=] { copy(*world, never, true); });
  run.thread("process", [=] { help(*world); });
  run.at_end([=] { expect(world->moved.seen() == 1, "the bytes were moved once"); });
}
void ends(Interleavings& run) {
  const auto world = std::make_shared<World>();
  run.thread("engine", [=] { copy(*world, stops_in_time, false); });
  run.mortal(
      "process", [=] { help(*world); }, [=] { world->inside.set(0); });
}
void stops(Interleavings& run, bool (*gives_up)(World&)) {
  const auto world = std::make_shared<World>();
  run.thread("engine", [=] { copy(*world, gives_up, false); });
  run.thread("process", [=] { help(*world); });
}

}  // namespace

TEST_CASE("hca interleavings: a part is moved by the process or by the engine, in every order") {
  passes(explore(4, runs));
}

TEST_CASE("hca interleavings: a process that ends with a part that it has taken blocks no other") {
  passes(explore(4, ends));
}

TEST_CASE(
    "hca interleavings: a process that is stopped with a part that it has taken moves nothing "
    "later") {
  passes(explore(4, [](Interleavings& run) { stops(run, stops_in_time); }));
  for (const auto wrong : {looks_before_it_withdraws, withdraws_nothing}) {
    const Interleavings::Found found = explore(4, [=](Interleavings& run) { stops(run, wrong); });
    INFO(found.executions << " executions");
    CHECK(found.problem.find("nothing moves once the message is over") != std::string::npos);
  }
}

}  // namespace scela::hca::test::copy_jobs_interleavings_test
