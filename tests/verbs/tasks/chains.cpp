// Judges lists of tasks that run by themselves: the barrier of the thesis, relays, and several
// threads.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/verbs/tasks/tasks_world.h"

namespace semantics {
namespace {

// "Offloading collective communication", Table 2.2: a barrier among 2^m ranks by recursive
// doubling. For each peer a rank has a receive and a held send. Its management queue has, in turn,
// the release of a send and the wait for its peer's message.
constexpr uint32_t kRounds = 3, kRanks = 1U << kRounds;
struct Rank {
  ibv_cq* done = nullptr;
  ibv_qp* manager = nullptr;
  ibv_cq* arrivals[kRounds] = {};
  ibv_qp* peers[kRounds] = {};

  void enter(uint64_t barrier) {
    for (ibv_qp* const peer : peers) {
      post_receive(peer, 0);
      post_send(peer, 0);
    }
    for (uint32_t i = 0; i < kRounds; ++i) {
      const bool is_last = i + 1 == kRounds;
      post(manager, enable(peers[i], 1));
      post(manager, wait(arrivals[i], 1, true, barrier, is_last ? unsigned{IBV_SEND_SIGNALED} : 0));
    }
  }
};

void barrier() {
  World world;
  std::vector<Rank> ranks(kRanks);
  for (Rank& rank : ranks) {
    rank.done = world.cq();
    rank.manager = world.mq(rank.done);
    for (uint32_t i = 0; i < kRounds; ++i) {
      rank.arrivals[i] = world.cq();
      rank.peers[i] = world.rc(rank.done, rank.arrivals[i], SCELA_QP_MANAGED_SEND);
    }
  }
  for (uint32_t r = 0; r < kRanks; ++r)
    for (uint32_t i = 0; i < kRounds; ++i)
      world.connect_one(ranks[r].peers[i], ranks[r ^ (1U << i)].peers[i]->qp_num);
  // The barrier runs twice, each time with another late rank. No rank passes before that rank
  // enters, and all pass after it.
  for (const uint64_t number : {1U, 2U}) {
    const uint32_t late = number == 1 ? 5 : 2;
    for (uint32_t r = 0; r < kRanks; ++r)
      if (r != late) ranks[r].enter(number);
    for (Rank& rank : ranks)
      expect_empty("a rank is missing", rank.done);
    ranks[late].enter(number);
    for (Rank& rank : ranks) {
      expect_task("the barrier", rank.done, number, SCELA_TASK_WAIT);
      for (ibv_cq* const arrivals : rank.arrivals)
        expect_next("a peer's message", arrivals, 0);
    }
  }
}

// A chain of relays. Each relay waits for messages and releases messages to the next one.
struct Relays {
  explicit Relays(World& the_world, uint32_t count, uint32_t links) : world(the_world) {
    ibv_cq* const quiet = world.cq(512);
    head = world.rc(world.cq(256), quiet, 0, links);
    ibv_qp* before = head;
    for (uint32_t i = 0; i < count; ++i) {
      ibv_cq* const arrivals = world.cq(static_cast<int>(links));
      ibv_qp* const in = world.rc(quiet, arrivals, 0, links);
      world.connect(before, in);
      ibv_qp* const out = world.rc(quiet, quiet, SCELA_QP_MANAGED_SEND, links);
      ibv_qp* const manager = world.mq(quiet, 2 * links);
      for (uint32_t link = 0; link < links; ++link) {
        post_receive(in, link);
        held.push_back(out);
        post(manager, wait(arrivals, 1));
        post(manager, enable(out, 1));
      }
      before = out;
    }
    tail = before;
  }
  World& world;
  std::vector<ibv_qp*> held;  // each one as often as it has links
  ibv_qp *head = nullptr, *tail = nullptr;
};

void relays() {
  World world;
  constexpr uint32_t kRelays = 10, kLinks = 33;
  Relays chain(world, kRelays, kLinks);
  ibv_cq* const came = world.cq(kLinks);
  ibv_qp* const end = world.rc(world.cq(), came, 0, kLinks);
  world.connect(chain.tail, end);
  for (ibv_qp* const out : chain.held)
    post_send(out, 0);
  for (uint64_t link = 0; link < kLinks; ++link)
    post_receive(end, link);
  expect_empty("nothing was sent", came);
  for (uint32_t link = 0; link < kLinks; ++link)
    post_send(chain.head, link);
  for (uint64_t link = 0; link < kLinks; ++link)
    expect_next("through all relays", came, link);
}

// The program only looks at memory. It polls no completion queue.
void nobody_polls() {
  World world;
  constexpr uint32_t kRelays = 4, kLinks = 8;
  Relays chain(world, kRelays, kLinks);
  ibv_qp* const end = world.rc(world.cq(), world.cq(), 0, kLinks);
  world.connect(chain.tail, end);
  world.memory()[0] = 0;
  for (uint32_t link = 0; link < kLinks; ++link)
    world.memory(64)[link] = static_cast<uint8_t>(link + 1);
  for (size_t i = 0; i < chain.held.size(); ++i) {
    if (chain.held[i] == chain.tail)
      post_write(world, chain.held[i], 0, world.piece(64 + i % kLinks, 1), 0);
    else
      post_send(chain.held[i], 0);
  }
  for (uint32_t link = 0; link < kLinks; ++link) {
    post_send(chain.head, link, {}, IBV_SEND_SIGNALED);
    await_byte("link " + std::to_string(link) + " of a chain that nobody polls", world.memory(),
               static_cast<uint8_t>(link + 1));
  }
}

// Each thread has a chain of its own, with all objects in one context.
void threads() {
  constexpr int kThreads = 4, kRounds2 = 50;
  World world;
  struct Own {
    ibv_cq *sent, *arrivals, *done;
    ibv_qp *from, *to, *manager;
  };
  std::vector<Own> owns(kThreads);
  for (Own& own : owns) {
    own.sent = world.cq();
    own.arrivals = world.cq();
    own.done = world.cq();
    own.from = world.rc(own.sent, own.sent, SCELA_QP_MANAGED_SEND);
    own.to = world.rc(own.sent, own.arrivals);
    world.connect(own.from, own.to);
    own.manager = world.mq(own.done);
  }
  std::atomic<int> failures{0};
  std::string first;
  std::vector<std::thread> running;
  waiting_for("threads with chains of their own");
  for (Own& own : owns) {
    running.emplace_back([&] {
      try {
        for (uint64_t round = 0; round < kRounds2; ++round) {
          post_receive(own.to, round);
          post_send(own.from, round, {}, IBV_SEND_SIGNALED);
          post(own.manager, enable(own.from, 1));
          post(own.manager, wait(own.arrivals, 1, true, round, IBV_SEND_SIGNALED));
          expect_task("a thread's wait", own.done, round, SCELA_TASK_WAIT);
          expect_next("a thread's arrival", own.arrivals, round);
          expect_next("a thread's send", own.sent, round);
        }
      } catch (const Failed& failed) {
        if (failures.fetch_add(1) == 0) first = failed.text;
      }
    });
  }
  for (std::thread& thread : running)
    thread.join();
  expect(failures == 0, first);
}

int threads_that_execute() {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream name(entry.path() / "comm");
    std::string line;
    found += std::getline(name, line) && line == "scela-tasks" ? 1 : 0;
  }
  return found;
}

// The runner of the cases says by VERBS_TASKS_THREADS how many threads are to execute tasks.
void who_executes() {
  const char* const said = std::getenv("VERBS_TASKS_THREADS");
  expect_equal("threads before", 0, threads_that_execute());
  {
    World world;
    world.mq(world.cq());
    world.mq(world.cq());
    if (said != nullptr)
      expect_equal("threads that execute tasks", std::atoi(said), threads_that_execute());
  }
  // A thread that was joined may still be listed: the kernel wakes the joiner before it lets it go.
  waiting_for("no thread that executes tasks, after the last queue");
  while (threads_that_execute() != 0)
    std::this_thread::yield();
}

constexpr Case kCases[] = {
    {"tasks.who-executes", who_executes}, {"tasks.barrier", barrier}, {"tasks.relays", relays},
    {"tasks.nobody-polls", nobody_polls}, {"tasks.threads", threads},
};

}  // namespace

std::span<const Case> chain_cases() {
  return kCases;
}

}  // namespace semantics
