// Tests the memory that a program and its engine share, with a thread on each side: a program that
// posts, arms, sleeps and polls, and an engine that sleeps. It runs under the thread sanitizer,
// too.
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/unit/hca/core/fabric_model.h"

namespace scela::hca::test::model_threads_test {
namespace {

// Does what the engine's process does: it says that it sleeps, looks once more, and waits for the
// eventfd, which is a counter here.
class EngineThread {
 public:
  explicit EngineThread(Fabric& fabric) : fabric_(fabric), thread_([this] { run(); }) {}
  ~EngineThread() {
    over_ = true;
    wake();
    thread_.join();
  }
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;
  void wake() {
    eventfd_.fetch_add(1);
    eventfd_.notify_one();
  }
  EnginePage page;

 private:
  void run() {
    while (!over_) {
      const std::uint64_t seen = eventfd_;
      while (fabric_.engine.run(1)) {
      }
      page.asleep.store(1, std::memory_order_seq_cst);
      if (!fabric_.engine.wanted() && !over_) eventfd_.wait(seen);
      page.asleep.store(0, std::memory_order_seq_cst);
    }
  }
  Fabric& fabric_;
  std::atomic<std::uint64_t> eventfd_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace

TEST_CASE(
    "hca threads: no completion is lost between a program that sleeps and an engine that does") {
  constexpr std::uint64_t kRounds = 3000;
  Fabric fabric;
  Program a(fabric, 1);
  const QueuePair qp = a.make_qp(QpType::rc);
  REQUIRE(connect(a, qp, QpType::rc, qp.handle) == 0);  // it is connected to itself
  const Buffer mine = a.buffer(64, 1);
  fabric.machine.doorbell_of(1, &a.page());
  const bool events = GENERATE(false, true);
  std::uint64_t received = 0;
  {
    EngineThread engine(fabric);
    auto& ring_of_completions = a.completions();
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      a.post_recv(qp, i, {mine.sge(32, 32)});
      const std::uint64_t heard = fabric.machine.heard;
      if (events) ring_of_completions.armed.store(static_cast<std::uint32_t>(Armed::any));
      if (a.post_and_ring(qp, request(Opcode::send, i), {mine.sge(0, 32)}, engine.page))
        engine.wake();
      for (std::size_t got = 0; got < 2;) {
        const std::size_t came = a.poll().size();
        got += came;
        received += came;
        if (came != 0) continue;
        // An event comes for the first one. The second one is polled for.
        if (events) {
          if (got == 0) fabric.machine.heard.wait(heard);
          continue;
        }
        // This does what hca/library/objects/poll_sleeper.cpp does.
        ring_of_completions.watched.store(1, std::memory_order_seq_cst);
        a.page().waiters.fetch_add(1, std::memory_order_seq_cst);
        const std::uint32_t seen = a.page().doorbell.load(std::memory_order_seq_cst);
        if (ring_of_completions.watched.load(std::memory_order_seq_cst) != 0 &&
            ring_of_completions.produced.load() == ring_of_completions.consumed.load())
          a.page().doorbell.wait(seen);
        a.page().waiters.fetch_sub(1, std::memory_order_relaxed);
      }
    }
  }
  CHECK(received == 2 * kRounds);
}

}  // namespace scela::hca::test::model_threads_test
