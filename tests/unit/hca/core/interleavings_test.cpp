// Explores the steps that programs and their engine take without a lock (hca/core/wire/doorbells.h,
// hca/library/objects/sleeper_set.h), in every order. If a step is wrong on purpose, the
// exploration finds the order in which a process sleeps for ever.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "hca/core/wire/doorbells.h"
#include "hca/library/objects/sleeper_set.h"
#include "tests/support/interleavings.h"

namespace scela::hca::test::interleavings_test {
namespace {

using scela::test::expect;
using scela::test::explore;
using scela::test::Explored;
using scela::test::ExploredLock;
using scela::test::fails;
using scela::test::Futexes;
using scela::test::Interleavings;
using scela::test::passes;
using scela::test::step;
using scela::test::Turn;
using scela::test::wait_until;

// These types are like those of hca/core/wire/shared_layout.h, but consist of explored values.
struct Page {
  Explored<std::uint64_t> summary;
  std::array<Explored<std::uint64_t>, 2> words;
  Explored<std::uint32_t> doorbell;
  Explored<std::uint32_t> waiters;
  Futexes futexes;
};
struct Asleep {
  Explored<std::uint32_t> asleep;
};
struct Requests {
  Explored<std::uint64_t> entry;  // the first one
  Explored<std::uint64_t> posted;
  Explored<std::uint32_t> ring_on_post;
};
struct Completions {
  Explored<std::uint64_t> produced;
  Explored<std::uint64_t> consumed;
  Explored<std::uint32_t> armed;
  Explored<std::uint32_t> watched;
};

// The descriptors that wake the engine's process: eventfds, and connections that end.
struct Descriptors {
  Explored<std::uint64_t> ready;
  void write() { ready.fetch_add(1); }
  void wait() {
    wait_until([this] { return ready.seen() != 0; });
    ready.set(0);
  }
};

// ---- doorbells: programs that post, and an engine that sleeps if no program has posted ----

struct Node {
  std::array<Page, 2> pages;
  std::array<Requests, 2> requests;
  std::array<Explored<std::uint64_t>, 2> done;
  std::array<Explored<std::uint64_t>, 2> gone;  // the program's connection has ended
  Asleep engine;
  Descriptors descriptors;
};

bool any_has_rung(const Node& node) {
  return has_rung(node.pages[0]) || has_rung(node.pages[1]);
}
bool sleeps_as_it_should(Node& node) {
  return may_sleep(node.engine, [&] { return any_has_rung(node); });
}
bool looks_before_it_says_so(Node& node) {
  const bool wanted = any_has_rung(node);
  node.engine.asleep.store(1, std::memory_order_seq_cst);
  return !wanted;
}
bool says_so_too_softly(Node& node) {
  node.engine.asleep.store(1, std::memory_order_release);
  return !any_has_rung(node);
}

// Does what Server::run and Engine::run do.
void serve(Node& node, bool (*falls_asleep)(Node&)) {
  for (;;) {
    for (std::size_t i = 0; i < 2; ++i)
      take_doorbells(node.pages[i], [&](std::uint32_t) {
        const std::uint64_t posted = posted_to(node.requests[i]);
        // An entry that is published must be whole.
        if (posted != 0) expect(node.requests[i].entry.load() == 7, "an entry is whole");
        node.done[i].store(posted);
      });
    if (falls_asleep(node)) node.descriptors.wait();
    wake_up(node.engine);
  }
}

void post(Node& node, std::size_t program, std::uint64_t count) {
  Requests& requests = node.requests[program];
  if (count == 1) requests.entry.store(7, std::memory_order_relaxed);
  requests.posted.store(count, std::memory_order_release);
  if (ring(node.pages[program], node.engine, static_cast<std::uint32_t>(count % 2 * 64)))
    node.descriptors.write();
}

void one_program(Interleavings& run, bool (*falls_asleep)(Node&)) {
  const auto node = std::make_shared<Node>();
  run.daemon("engine", [=] { serve(*node, falls_asleep); });
  run.thread("program", [=] {
    for (std::uint64_t i = 1; i <= 2; ++i) {
      post(*node, 0, i);
      wait_until([=] { return node->done[0].seen() == i; });
    }
  });
}

void two_programs(Interleavings& run) {
  const auto node = std::make_shared<Node>();
  run.daemon("engine", [=] { serve(*node, sleeps_as_it_should); });
  for (std::size_t i = 0; i < 2; ++i)
    run.thread(i == 0 ? "first" : "second", [=] {
      post(*node, i, 1);
      wait_until([=] { return node->done[i].seen() == 1; });
    });
}

// One program is killed at any step. It may not have written its entry, or not have published it.
// It may also have set the engine awake without waking it.
void one_is_killed(Interleavings& run, bool connection_ends) {
  const auto node = std::make_shared<Node>();
  run.daemon("engine", [=] { serve(*node, sleeps_as_it_should); });
  run.mortal(
      "killed", [=] { post(*node, 0, 1); },
      [=] {
        if (connection_ends) node->descriptors.ready.set(1);
      });
  run.thread("other", [=] {
    post(*node, 1, 1);
    wait_until([=] { return node->done[1].seen() == 1; });
  });
}

// ---- receives that are posted while their queue pair goes to an error; held sends that are
// posted while they are enabled ----

template <class Post>
void flushed(Interleavings& run, Post post_receive) {
  struct World {
    Requests receives;
    Explored<std::uint64_t> flushed;
    Explored<std::uint64_t> doorbells;
  };
  const auto world = std::make_shared<World>();
  run.daemon("engine", [=] {
    want_doorbells(world->receives);
    world->flushed.store(posted_to(world->receives));
    for (;;) {
      wait_until([=] { return world->doorbells.seen() != 0; });
      world->doorbells.set(0);
      world->flushed.store(posted_to(world->receives));
    }
  });
  run.thread("program", [=] {
    for (std::uint64_t i = 1; i <= 3; ++i)
      if (post_receive(world->receives, i)) world->doorbells.fetch_add(1);
    wait_until([=] { return world->flushed.seen() == 3; });
  });
}

bool looks_before_it_posts(Requests& ring, std::uint64_t end) {
  const bool doorbell = ring.ring_on_post.load() != 0;
  ring.posted.store(end, std::memory_order_seq_cst);
  return doorbell;
}
bool posts_too_softly(Requests& ring, std::uint64_t end) {
  ring.posted.store(end, std::memory_order_release);
  return ring.ring_on_post.load() != 0;
}

// ---- completion events: a program that arms, polls once more and waits ----

template <class Arm>
void events(Interleavings& run, bool solicited, Arm arms) {
  struct World {
    Completions ring;
    Descriptors channel;
  };
  const auto world = std::make_shared<World>();
  run.thread("engine", [=] {
    for (std::uint64_t i = 1; i <= 2; ++i) {
      show_completions(world->ring, i);
      if (take_arming(world->ring, true)) world->channel.write();
    }
  });
  run.thread("program", [=] {
    std::uint64_t taken = 0;
    const auto poll = [&] {
      const std::uint64_t before = taken;
      taken = world->ring.produced.load(std::memory_order_acquire);
      world->ring.consumed.store(taken, std::memory_order_release);
      return taken != before;
    };
    while (taken < 2) {
      if (poll()) continue;
      if (arms(world->ring, solicited, poll)) continue;
      world->channel.wait();
    }
  });
}

// Returns true if a completion has come meanwhile.
const auto kArmsAndPolls = [](Completions& ring, bool solicited, const auto& poll) {
  arm(ring, solicited);
  return poll();
};
const auto kArmsWithoutPolling = [](Completions& ring, bool solicited, const auto&) {
  arm(ring, solicited);
  return false;
};

// ---- polls that sleep, and queues that are resized under them ----

using SleeperSet = library::SleeperSet<Explored<int>, ExploredLock>;

struct Queue {
  // The library's own lock, for threads that poll or resize.
  ExploredLock lock;
  std::array<Completions, 2> rings;
  std::size_t ring = 0;
  std::uint64_t taken = 0;
};

struct Polled {
  Page page;
  std::array<Queue, 2> queues;
  SleeperSet sleepers;
  std::uint64_t taken() const { return queues[0].taken + queues[1].taken; }
};

// Does what poll_cq does: it counts completions under the queue's lock.
bool poll(Polled& world, std::size_t number) {
  Queue& queue = world.queues[number];
  const std::lock_guard alone(queue.lock);
  Completions& ring = queue.rings[queue.ring];
  const std::uint64_t produced = ring.produced.load(std::memory_order_acquire);
  if (produced == queue.taken) return false;
  queue.taken = produced;
  ring.consumed.store(produced, std::memory_order_release);
  return true;
}

const auto kSleepsAsTheLibrary = [](Polled& world, const std::vector<std::size_t>& watched) {
  const auto rings = [&] {
    std::vector<Completions*> found;
    for (const std::size_t number : watched)
      found.push_back(&world.queues[number].rings[world.queues[number].ring]);
    return found;
  };
  world.sleepers.sleep(world.page, rings, [&](const auto& doorbell, std::uint32_t seen) {
    world.page.futexes.wait(doorbell, seen);
  });
};
const auto kLooksBeforeItWatches = [](Polled& world, const std::vector<std::size_t>& watched) {
  const std::uint32_t seen = world.page.doorbell.load();
  Completions& ring = world.queues[watched[0]].rings[0];
  const bool quiet = ring.produced.load() == ring.consumed.load();
  ring.watched.store(1);
  if (quiet) world.page.futexes.wait(world.page.doorbell, seen);
};
const auto kWatchesTooSoftly = [](Polled& world, const std::vector<std::size_t>& watched) {
  const std::uint32_t seen = world.page.doorbell.load();
  Completions& ring = world.queues[watched[0]].rings[0];
  ring.watched.store(1, std::memory_order_release);
  if (ring.produced.load() == ring.consumed.load())
    world.page.futexes.wait(world.page.doorbell, seen);
};

// Does what CompletionWriter::write and Machine::wake do.
void tell(Polled& world, Completions& ring, std::uint64_t end) {
  show_completions(ring, end);
  if (!take_watch(ring)) return;
  world.page.doorbell.fetch_add(1, std::memory_order_seq_cst);
  world.page.futexes.wake();
}

template <class Sleep>
void one_poller(Interleavings& run, Sleep sleeps) {
  const auto world = std::make_shared<Polled>();
  run.thread("engine", [=] {
    for (std::uint64_t i = 1; i <= 2; ++i)
      tell(*world, world->queues[0].rings[0], i);
  });
  run.thread("poller", [=] {
    for (Turn turn; world->queues[0].taken < 2; turn = Turn())
      if (!poll(*world, 0)) {
        sleeps(*world, {0});
        turn.pass();
      }
  });
}

// Both threads look at both queues, as the threads of a program may.
void two_pollers(Interleavings& run) {
  const auto world = std::make_shared<Polled>();
  run.thread("engine", [=] {
    for (std::size_t i = 0; i < 2; ++i)
      tell(*world, world->queues[i].rings[0], 1);
  });
  for (std::size_t mine = 0; mine < 2; ++mine)
    run.thread(mine == 0 ? "first" : "second", [=] {
      for (Turn turn; world->queues[mine].taken == 0; turn = Turn())
        if (!poll(*world, mine)) {
          kSleepsAsTheLibrary(*world, {0, 1});
          turn.pass();
        }
    });
}

// The engine answers the request between two completions. There is a new ring, with the contents of
// the old one.
void resize(Queue& queue) {
  Completions& from = queue.rings[0];
  Completions& to = queue.rings[1];
  to.consumed.set(from.consumed.seen());
  to.armed.set(from.armed.seen());
  to.produced.set(from.produced.seen());
  // A thread that looks at the old ring from now on would look at memory that has another use.
  from.produced.set(~0ULL);
}

template <class Without>
void resized(Interleavings& run, Without without) {
  struct World : Polled {
    Explored<std::uint64_t> asked;
    Explored<std::uint64_t> answered;
    std::size_t of_engine = 0;
  };
  const auto world = std::make_shared<World>();
  run.thread("engine", [=] {
    // The request comes before, between or after the completions. The completions come in any case.
    std::uint64_t told = 0;
    while (told < 2 || world->answered.seen() == 0) {
      step();
      if (world->asked.seen() != 0 && world->answered.seen() == 0) {
        resize(world->queues[0]);
        world->of_engine = 1;
        world->answered.set(1);
      } else if (told < 2 && (told == 0 || world->answered.seen() != 0)) {
        tell(*world, world->queues[0].rings[world->of_engine], ++told);
      } else {
        wait_until([=] { return world->asked.seen() != 0; });
      }
    }
  });
  run.thread("poller", [=] {
    for (Turn turn; world->queues[0].taken < 2; turn = Turn())
      if (!poll(*world, 0)) {
        kSleepsAsTheLibrary(*world, {0});
        turn.pass();
      }
    expect(world->queues[0].taken == 2, "each completion is taken once");
  });
  run.thread("owner", [=] {
    const std::lock_guard alone(world->queues[0].lock);
    without(*world, [&] {
      world->asked.set(1);
      wait_until([=] { return world->answered.seen() != 0; });
      world->queues[0].ring = 1;
    });
  });
}

const auto kNobodySleeps = [](auto& world, const auto& then) {
  const auto alone =
      world.sleepers.without(&world.page, [&](const auto&) { world.page.futexes.wake(); });
  then();
};
const auto kWhoeverSleeps = [](auto&, const auto& then) { then(); };
const auto kWakesNobody = [](auto& world, const auto& then) {
  const auto alone = world.sleepers.without(static_cast<Page*>(nullptr), [](const auto&) {});
  then();
};

}  // namespace

TEST_CASE("hca interleavings: a sleeping engine is woken by a post, in every order") {
  passes(explore(3, [](Interleavings& run) { one_program(run, sleeps_as_it_should); }));
  passes(explore(1, two_programs));
}

TEST_CASE("hca interleavings: an engine that would miss a doorbell is seen to") {
  for (const auto wrong : {looks_before_it_says_so, says_so_too_softly})
    fails(explore(3, [=](Interleavings& run) { one_program(run, wrong); }),
          "program waits for ever");
}

TEST_CASE("hca interleavings: a process killed at any step of a post blocks no other") {
  passes(explore(1, [](Interleavings& run) { one_is_killed(run, true); }));
  // Without the end of its connection, which wakes the engine, the other program would wait.
  fails(explore(2, [](Interleavings& run) { one_is_killed(run, false); }), "other waits for ever");
}

TEST_CASE(
    "hca interleavings: receives are flushed, and held sends begun, whenever they are posted") {
  const auto right = [](Requests& ring, std::uint64_t end) { return post_silently(ring, end); };
  passes(explore(5, [=](Interleavings& run) { flushed(run, right); }));
  for (const auto wrong : {looks_before_it_posts, posts_too_softly})
    fails(explore(3, [=](Interleavings& run) { flushed(run, wrong); }), "program waits for ever");
}

TEST_CASE("hca interleavings: an event comes for what came after arming, or a poll finds it") {
  for (const bool solicited : {false, true}) {
    passes(explore(5, [=](Interleavings& run) { events(run, solicited, kArmsAndPolls); }));
    fails(explore(5, [=](Interleavings& run) { events(run, solicited, kArmsWithoutPolling); }),
          "program waits for ever");
  }
}

TEST_CASE("hca interleavings: a poll that sleeps is woken by what comes, in every order") {
  passes(explore(4, [](Interleavings& run) { one_poller(run, kSleepsAsTheLibrary); }));
  passes(explore(2, two_pollers));
  fails(explore(3, [](Interleavings& run) { one_poller(run, kLooksBeforeItWatches); }),
        "poller waits for ever");
  fails(explore(3, [](Interleavings& run) { one_poller(run, kWatchesTooSoftly); }),
        "poller waits for ever");
}

TEST_CASE("hca interleavings: no completion is missed if a queue is resized while it is polled") {
  passes(explore(2, [](Interleavings& run) { resized(run, kNobodySleeps); }));
  fails(explore(2, [](Interleavings& run) { resized(run, kWhoeverSleeps); }), "");
  fails(explore(2, [](Interleavings& run) { resized(run, kWakesNobody); }), "waits for ever");
}

}  // namespace scela::hca::test::interleavings_test
