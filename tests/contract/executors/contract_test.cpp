// Tests what every executor promises, over messages of any kind.
#include <sched.h>

#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/executors/thread_placement.h"
#include "common/core/text.h"
#include "common/os/machine_topology.h"
#include "tests/contract/executors/executor_job.h"
#include "tests/support/collective_case.h"

namespace scela::collectives::test::contract_test {
namespace {

constexpr std::array kKinds{ExecutorKind::at_once, ExecutorKind::polled, ExecutorKind::thread};
constexpr std::array kMessages{Messages::memory, Messages::channel};

void each_job(int ranks, const std::function<void(Job&, ExecutorKind)>& act) {
  for (const ExecutorKind kind : kKinds)
    for (const Messages messages : kMessages) {
      INFO(name_of(kind) << " over " << name_of(messages) << ", ranks " << ranks);
      Job job(kind, messages, ranks);
      act(job, kind);
    }
}

// An operation of one rank, from its start to its end.
struct Started {
  Started(const Case& one, int rank, std::uint32_t tag, Executor& executor)
      : member(one, rank, tag) {
    if (const auto bound = run.bind(member.call({1, tag})); !bound)
      refused = bound.error().text();
    else
      executor.start(run);
  }
  std::string wrong() const {
    if (!refused.empty()) return refused;
    if (run.error() != nullptr) return run.error()->text();
    return member.wrong();
  }
  Member member;
  Run run;
  std::string refused;
};

TEST_CASE("contract of executors: every algorithm gives every rank its definition's bytes") {
  for (const int ranks : {1, 2, 3, 5}) {
    const std::vector<Case> every = cases(ranks, 3);
    each_job(ranks, [&](Job& job, ExecutorKind) {
      const std::string wrong = job.run([&](int rank, Executor& executor) -> std::string {
        std::uint32_t tag = 0;
        for (const Case& one : every) {
          Started started(one, rank, tag++, executor);
          if (!started.refused.empty()) return started.refused;
          executor.wait(started.run);
          std::string said = started.wrong();
          if (!said.empty()) return said;
        }
        return {};
      });
      CHECK(wrong == "");
    });
  }
}

// The operations have more messages, both ways, than a queue of an adapter holds.
TEST_CASE("contract of executors: every algorithm comes to its end with many messages a peer") {
  const std::vector<Case> every = long_cases(3, 300);
  each_job(3, [&](Job& job, ExecutorKind) {
    const std::string wrong = job.run([&](int rank, Executor& executor) -> std::string {
      std::uint32_t tag = 0;
      for (const Case& one : every) {
        Started started(one, rank, tag++, executor);
        if (!started.refused.empty()) return started.refused;
        executor.wait(started.run);
        std::string said = started.wrong();
        if (!said.empty()) return said;
      }
      return {};
    });
    CHECK(wrong == "");
  });
}

// Each rank waits for its operations in an order of its own.
TEST_CASE("contract of executors: operations under way at once come to their ends, in any order") {
  const std::vector<Case> every = cases(3, 4);
  each_job(3, [&](Job& job, ExecutorKind kind) {
    if (kind == ExecutorKind::at_once) return;  // it has one operation at a time
    const std::string wrong = job.run([&](int rank, Executor& executor) -> std::string {
      constexpr std::size_t kAtOnce = 9;
      for (std::size_t first = 0; first < every.size(); first += kAtOnce) {
        const std::size_t count = std::min(kAtOnce, every.size() - first);
        std::vector<std::unique_ptr<Started>> started;
        std::vector<Run*> runs;
        for (std::size_t i = 0; i < count; ++i) {
          started.push_back(std::make_unique<Started>(
              every[first + i], rank, static_cast<std::uint32_t>(first + i), executor));
          runs.push_back(&started.back()->run);
        }
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t turned = (i * 4 + static_cast<std::size_t>(rank)) % count;
          if (i % 3 == 0 && runs[turned] != nullptr) {
            executor.wait(*runs[turned]);
            runs[turned] = nullptr;
            continue;
          }
          const std::size_t found = executor.wait_any(runs);
          if (found < count) runs[found] = nullptr;
        }
        for (const auto& one : started) {
          executor.wait(one->run);
          std::string said = one->wrong();
          if (!said.empty()) return said;
        }
      }
      return {};
    });
    CHECK(wrong == "");
  });
}

Case barrier_of(int ranks) {
  Case one;
  one.algorithm = find(Operation::barrier, "dissemination");
  one.shape.operation = Operation::barrier;
  one.shape.ranks = ranks;
  one.sizes = {0};
  return one;
}

TEST_CASE("contract of executors: a wait's limit leaves the operation as it was") {
  each_job(2, [&](Job& job, ExecutorKind kind) {
    if (kind == ExecutorKind::at_once) return;  // an operation is over when it has begun
    std::atomic<bool> looked{false};
    const std::string wrong = job.run([&](int rank, Executor& executor) -> std::string {
      if (rank == 1)
        while (!looked)
          std::this_thread::yield();
      Started started(barrier_of(2), rank, 0, executor);
      if (rank == 0) {
        if (executor.wait(started.run, std::chrono::milliseconds(1))) return "it is over too early";
        if (executor.test(started.run)) return "it is over too early, by test";
        looked = true;
      }
      executor.wait(started.run);
      return started.wrong();
    });
    CHECK(wrong == "");
  });
}

TEST_CASE("contract of executors: an operation that is only tested comes to its end") {
  each_job(3, [&](Job& job, ExecutorKind) {
    const std::string wrong = job.run([&](int rank, Executor& executor) -> std::string {
      Started started(barrier_of(3), rank, 7, executor);
      while (!executor.test(started.run))
        std::this_thread::yield();
      return started.wrong();
    });
    CHECK(wrong == "");
  });
}

TEST_CASE("contract of executors: waits for nothing, and for what is over, return at once") {
  each_job(1, [&](Job& job, ExecutorKind kind) {
    const std::string wrong = job.run([&](int rank, Executor& executor) -> std::string {
      Started started(barrier_of(1), rank, 0, executor);
      executor.wait(started.run);
      if (!executor.wait(started.run)) return "it is not over twice";
      Run* const nothing[] = {nullptr, nullptr};
      if (executor.wait_any(nothing) != 2) return "nothing is something";
      Run* const second[] = {nullptr, &started.run};
      if (executor.wait_any(second) != 1) return "it is another";
      if (executor.name() != name_of(kind)) return "it has another name";
      return executor.describe().empty() ? "it does not say where it runs" : "";
    });
    CHECK(wrong == "");
  });
}

TEST_CASE("contract of executors: an operation that is cancelled is over, and the next one works") {
  each_job(2, [&](Job& job, ExecutorKind kind) {
    if (kind == ExecutorKind::at_once) return;  // an operation is over when it has begun
    const std::string wrong = job.run([&](int rank, Executor& executor) -> std::string {
      if (rank == 0) {
        Started alone(barrier_of(2), 0, 0, executor);
        if (executor.wait(alone.run, std::chrono::milliseconds(1))) return "it is over too early";
        executor.cancel(alone.run, {FaultCode::cancelled, 1, "rank 1 does not come"});
        executor.wait(alone.run);
        if (alone.run.error() == nullptr) return "it has no error";
        if (alone.run.error()->fault.rank != 1) return alone.run.error()->text();
        executor.cancel(alone.run, {FaultCode::other, 0, "it is over"});
        if (alone.run.error()->fault.code != FaultCode::cancelled) return "it has two ends";
      }
      Started both(barrier_of(2), rank, 1, executor);
      executor.wait(both.run);
      return both.wrong();
    });
    CHECK(wrong == "");
  });
}

// One rank makes blocking calls while another waits for an earlier call that does not block.
TEST_CASE("contract of executors: a call that blocks lets the polled ones get on") {
  for (const Messages messages : kMessages) {
    Job job(ExecutorKind::polled, messages, 2);
    Case large;
    large.algorithm = find(Operation::allgather, "ring");
    large.shape.operation = Operation::allgather;
    large.shape.ranks = 2;
    large.sizes = {100'000, 100'000};
    const std::string wrong = job.run([&](int rank, Executor& executor) -> std::string {
      const auto at_once = make_inline(executor);
      Started early(large, rank, 1, executor);
      if (rank == 1) executor.wait(early.run);
      const Started barrier(barrier_of(2), rank, 2, *at_once);
      if (!barrier.run.is_over()) return "the call has not blocked";
      executor.wait(early.run);
      return early.wrong() + barrier.wrong();
    });
    CHECK(wrong == "");
  }
}

// Returns the processors of this process's progress thread; the set is empty if it has none.
CpuSet cpus_of_thread() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != "scela-progress") continue;
    cpu_set_t mask;
    if (::sched_getaffinity(std::stoi(task.path().filename()), sizeof mask, &mask) != 0) return {};
    CpuSet cpus;
    for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &mask)) cpus.add(cpu);
    return cpus;
  }
  return {};
}

TEST_CASE("contract of executors: a thread runs where it says, on the nearest idle core") {
  const Topology machine = read_topology();
  ThreadPlacement placement;
  placement.ranks = {CpuSet::single(machine.processors().front().cpu)};
  const ThreadPlace place = places_of_threads(machine, placement.ranks).front();
  MemoryNetwork network(1, 1);
  const auto made = make_thread(network.transport(0), placement);
  REQUIRE(made);
  CHECK(cpus_of_thread() == place.cpus);
  CHECK((*made)->describe() == cat("a progress thread on ", place.why));
  const auto unbound = make_thread(network.transport(0));
  REQUIRE(unbound);
  CHECK((*unbound)->describe().find("not bound") != std::string::npos);
}

TEST_CASE("contract of executors: a dead rank fails the operation on all others, by name") {
  constexpr int kRanks = 4;
  for (const ExecutorKind kind : kKinds) {
    Job job(kind, Messages::memory, kRanks);
    Case one;
    one.algorithm = find(Operation::allreduce, "rabenseifner");
    one.shape.operation = Operation::allreduce;
    one.shape.ranks = kRanks;
    one.sizes = {4000};
    const std::string wrong = job.run([&](int rank, Executor& executor) -> std::string {
      if (rank == 2) {
        job.kill(2);
        return {};
      }
      Started started(one, rank, 0, executor);
      executor.wait(started.run);
      if (started.run.error() == nullptr) return cat("rank ", rank, " has no error");
      return started.run.error()->fault.rank == 2 ? "" : started.run.error()->text();
    });
    CHECK(wrong == "");
  }
}

}  // namespace
}  // namespace scela::collectives::test::contract_test
