// Operation lists that the adapter's engine runs give the same bytes as those of any executor.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/communicator/maker.h"
#include "tests/e2e/collectives/engine_job.h"

namespace scela::collectives::test::engine_test {
namespace {

CommunicatorMaker maker_of(EngineJob& job, const Rank& here, int ranks) {
  CommunicatorMaker maker;
  maker.transport = [&job, rank = here.rank] { return job.network.transport(rank); };
  maker.by_engine = make_engine;
  maker.rank = here.rank;
  maker.nodes.assign(static_cast<std::size_t>(ranks), 0);
  maker.options.progress = ProgressMode::engine;
  return maker;
}

void run_every_algorithm(std::initializer_list<int> several) {
  for (const int ranks : several) {
    const std::vector<Case> every = cases(ranks, 3);
    EngineJob job(ranks);
    CHECK(job.run([&](const Rank& here) -> std::string {
      std::uint32_t tag = 0;
      int in_order = 0;
      for (const Case& one : every) {
        Started started(one, here.rank, tag++, *here.engine);
        if (started.refused.empty()) here.engine->wait(started.run);
        std::string said = started.wrong();
        if (!said.empty()) return said;
        if (!one.shape.commutes) ++in_order;
      }
      // The adapter does not multiply matrices: those operations alone went another way.
      return here.others.started == in_order ? "" : cat(here.others.started, " by others");
    }) == "");
  }
}

TEST_CASE("engine: every algorithm gives every rank its definition's bytes") {
  run_every_algorithm({1, 2, 3, 5});
}

// Makes a thread of each process execute tasks, as on a device that knows no tasks.
struct ByThread {
  ByThread() { ::setenv("SCELA_TASKS", "thread", 1); }
  ~ByThread() { ::unsetenv("SCELA_TASKS"); }
};

TEST_CASE("engine: where a thread of each process executes tasks, bytes are the same") {
  const ByThread by_thread;
  run_every_algorithm({1, 2, 3});
}

TEST_CASE("engine: operations under way at once come to their ends, in any order") {
  const std::vector<Case> every = cases(3, 4);
  EngineJob job(3);
  CHECK(job.run([&](const Rank& here) -> std::string {
    constexpr std::size_t kAtOnce = 16;
    for (std::size_t first = 0; first < every.size(); first += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, every.size() - first);
      std::vector<std::unique_ptr<Started>> started;
      std::vector<Run*> runs;
      for (std::size_t i = 0; i < count; ++i) {
        started.push_back(std::make_unique<Started>(
            every[first + i], here.rank, static_cast<std::uint32_t>(first + i), *here.engine));
        runs.push_back(&started.back()->run);
      }
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t found = here.engine->wait_any(runs);
        if (found < count) runs[found] = nullptr;
      }
      for (const auto& one : started) {
        here.engine->wait(one->run);
        std::string said = one->wrong();
        if (!said.empty()) return said;
      }
    }
    return {};
  }) == "");
}

TEST_CASE("engine: a list of more messages than its queues hold is posted as they go") {
  Case one = of(Operation::bcast, "chain", 3, {100'000});
  one.shape.segments = 1000;
  EngineJob job(3);
  CHECK(job.run([&](const Rank& here) -> std::string {
    for (std::uint32_t tag = 0; tag < 2; ++tag) {
      Started started(one, here.rank, tag, *here.engine);
      here.engine->wait(started.run);
      std::string said = started.wrong();
      if (!said.empty()) return said;
    }
    return {};
  }) == "");
}

TEST_CASE("engine: a wait's limit leaves the operation as it was") {
  EngineJob job(2);
  const Case barrier = of(Operation::barrier, "dissemination", 2, {0});
  std::atomic<bool> looked{false};
  CHECK(job.run([&](const Rank& here) -> std::string {
    {
      Started first(barrier, here.rank, 0, *here.engine);
      here.engine->wait(first.run);
    }
    if (here.rank == 1)
      while (!looked)
        std::this_thread::yield();
    Started started(barrier, here.rank, 1, *here.engine);
    if (here.rank == 0) {
      if (here.engine->wait(started.run, std::chrono::milliseconds(1))) return "too early";
      if (here.engine->test(started.run)) return "too early, by test";
      looked = true;
    }
    while (!here.engine->test(started.run))
      std::this_thread::yield();
    return started.wrong();
  }) == "");
}

void fail_by_the_dead() {
  constexpr int kRanks = 4;
  for (const bool connected : {false, true}) {
    EngineJob job(kRanks);
    std::atomic<int> are_connected{0};
    const Case one = of(Operation::allreduce, "recursive-doubling", kRanks, {4000});
    CHECK(job.run([&](const Rank& here) -> std::string {
      if (connected) {
        Started before(one, here.rank, 0, *here.engine);
        here.engine->wait(before.run);
        std::string said = before.wrong();
        ++are_connected;
        if (!said.empty()) return said;
        while (are_connected < kRanks)
          std::this_thread::yield();
      }
      if (here.rank == 2) {
        job.network.kill(2);
        return {};
      }
      Started started(one, here.rank, 1, *here.engine);
      here.engine->wait(started.run);
      if (started.run.error() == nullptr) return "it has no error";
      if (started.run.error()->fault.rank != 2) return started.run.error()->text();
      // The next operation fails in the same way.
      Started again(one, here.rank, 2, *here.engine);
      here.engine->wait(again.run);
      if (again.run.error() == nullptr) return "the next one has no error";
      return again.run.error()->fault.rank == 2 ? "" : again.run.error()->text();
    }) == "");
  }
}

TEST_CASE("engine: a dead rank fails the operation on all others, by name") {
  fail_by_the_dead();
}

TEST_CASE("engine: where a thread of each process executes tasks, the dead are named") {
  const ByThread by_thread;
  fail_by_the_dead();
}

// The queue pairs of rank 2 are gone, so that sends to it fail, but no process says that it is
// dead. Rank 3 exchanges with it first, and then with rank 1. Rank 3 does not pass on data that it
// has not got.
TEST_CASE("engine: a rank that waits for a rank with destroyed queue pairs passes no data on") {
  constexpr int kRanks = 4;
  EngineJob job(kRanks);
  const Case one = of(Operation::allreduce, "recursive-doubling", kRanks, {4000});
  std::atomic<bool> gone{false};
  CHECK(job.run([&](Rank& here) -> std::string {
    Started before(one, here.rank, 0, *here.engine);
    here.engine->wait(before.run);
    std::string said = before.wrong();
    if (!said.empty()) return said;
    if (here.rank == 2) {
      here.engine.reset();
      gone = true;
      return {};
    }
    while (!gone)
      std::this_thread::yield();
    Started started(one, here.rank, 1, *here.engine);
    here.engine->wait(started.run);
    if (started.run.error() == nullptr) return "it has no error";
    return started.run.error()->fault.rank == 2 ? "" : started.run.error()->text();
  }) == "");
}

// The sender of one message takes it for longer, or shorter, than its receiver does.
TEST_CASE("engine: a message of another size than expected fails the operation, by name") {
  for (const std::uint64_t wrong : {400u, 40'000u}) {
    EngineJob job(2);
    CHECK(job.run([&](const Rank& here) -> std::string {
      const Case one = of(Operation::bcast, "flat", 2, {here.rank == 0 ? wrong : 4000});
      Started started(one, here.rank, 1, *here.engine);
      here.engine->wait(started.run);
      // The sender of a shorter message sees no error.
      if (here.rank == 0 && wrong < 4000 && started.run.error() == nullptr) return {};
      if (started.run.error() == nullptr) return "it has no error";
      const Fault& fault = started.run.error()->fault;
      return fault.code == FaultCode::mismatch && fault.rank == 0 ? "" : fault.words;
    }) == "");
  }
}

TEST_CASE("engine: an operation that is cancelled fails at those that need it") {
  EngineJob job(2);
  const Case barrier = of(Operation::barrier, "dissemination", 2, {0});
  std::atomic<bool> cancelled{false};
  CHECK(job.run([&](const Rank& here) -> std::string {
    Started first(barrier, here.rank, 0, *here.engine);
    here.engine->wait(first.run);
    if (here.rank == 1)
      while (!cancelled)
        std::this_thread::yield();
    Started second(barrier, here.rank, 1, *here.engine);
    if (here.rank == 0) {
      here.engine->cancel(second.run, {FaultCode::cancelled, -1, "it was given up"});
      if (!second.run.is_over()) return "it is not over";
      cancelled = true;
    }
    here.engine->wait(second.run);
    if (second.run.error() == nullptr) return "it has no error";
    return second.run.error()->fault.rank == 0 ? "" : second.run.error()->text();
  }) == "");
}

TEST_CASE("engine: an adapter's engine that dies fails the operation everywhere") {
  ::setenv("SCELA_HCA_FAULTS", "dies-after=300", 1);
  EngineJob job(3);
  const Case one = of(Operation::allgather, "ring", 3, {4000, 4000, 4000});
  CHECK(job.run([&](Rank& here) -> std::string {
    for (std::uint32_t tag = 0; tag < 1000; ++tag) {
      Started started(one, here.rank, tag, *here.engine);
      here.engine->wait(started.run);
      if (started.run.error() == nullptr) {
        std::string said = started.wrong();
        if (!said.empty()) return said;
        continue;
      }
      const Fault& fault = started.run.error()->fault;
      const bool is_said =
          fault.words.find("its adapter's engine has ended") != std::string::npos ||
          fault.words.find(" says so") != std::string::npos;
      return fault.code == FaultCode::other && is_said ? "" : fault.words;
    }
    return "a thousand operations by an engine that is dead";
  }) == "");
  ::unsetenv("SCELA_HCA_FAULTS");
}

// The list is the same each time. The sizes are more than are remembered, and then the first ones
// again.
TEST_CASE("engine: a list that was posted before is posted with the sizes of each call") {
  constexpr int kRanks = 2;
  EngineJob job(kRanks);
  CHECK(job.run([&](Rank& here) -> std::string {
    Communicator world = maker_of(job, here, kRanks).make();
    if (!world) return world.status().message();
    std::vector<double> mine(200, here.rank + 0.5);
    for (int turn = 0; turn < 2; ++turn) {
      for (std::size_t count = 1; count <= mine.size(); count += 2) {
        std::vector<double> sum(mine.size());
        const Status status =
            world.run(Collective::allreduce(std::span<const double>(mine).first(count),
                                            std::span<double>(sum).first(count), ReduceOp::sum));
        if (!status.ok()) return status.message();
        for (std::size_t i = 0; i < sum.size(); ++i)
          if (sum[i] != (i < count ? 2 : 0)) return cat("of ", count, ", number ", i);
      }
    }
    return {};
  }) == "");
}

TEST_CASE("engine: communicators run their operations on the adapter's engine") {
  constexpr int kRanks = 4;
  EngineJob job(kRanks);
  CHECK(job.run([&](Rank& here) -> std::string {
    Communicator world = maker_of(job, here, kRanks).make();
    if (!world) return world.status().message();
    std::vector<double> mine(1000, here.rank + 0.5);
    std::vector<double> sum(1000);
    const Collective allreduce = Collective::allreduce(mine, sum, ReduceOp::sum);
    Request again = world.prepare(allreduce);
    for (int i = 0; i < 3; ++i) {
      std::fill(sum.begin(), sum.end(), 0);
      if (const Status status = again.start(); !status.ok()) return status.message();
      if (const Status status = again.wait(); !status.ok()) return status.message();
      if (sum != std::vector<double>(1000, 8)) return "another sum";
    }
    // An operation that the adapter cannot compute is run by the process itself.
    std::vector<double> product(1000);
    const Status multiplied = world.run(Collective::allreduce(mine, product, ReduceOp::product));
    if (!multiplied.ok()) return multiplied.message();
    if (product != std::vector<double>(1000, 0.5 * 1.5 * 2.5 * 3.5)) return "another product";
    // Several communicators are in use at once, and one of them is freed meanwhile.
    Communicator half = world.split(here.rank % 2, 0);
    if (!half) return half.status().message();
    std::vector<int> all(2);
    const std::vector<int> own{here.rank};
    Request first = half.start(Collective::allgather(own, all));
    Request second = world.start(allreduce);
    half.free();
    if (const Status status = second.wait(); !status.ok()) return status.message();
    if (const Status status = first.wait(); !status.ok()) return status.message();
    if (all != std::vector<int>{here.rank % 2, here.rank % 2 + 2}) return "others' numbers";
    // A rank that goes on with a communicator is told which rank has freed it.
    Communicator copy = world.dup();
    if (here.rank == 3) {
      copy.free();
    } else {
      Status status;
      while (status.ok())
        status = copy.run(allreduce);
      if (status.code() != Code::mismatch || status.rank() != 3) return status.message();
    }
    if (const Status status = world.barrier(); !status.ok()) return status.message();
    return {};
  }) == "");
}

}  // namespace
}  // namespace scela::collectives::test::engine_test
