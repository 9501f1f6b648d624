// Ranks with operations that an adapter's engine runs: threads of the test, each with a device of
// its own.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/offload/factory.h"
#include "collectives/offload/queue_set.h"
#include "common/core/text.h"
#include "tests/e2e/hca/verbs_program.h"
#include "tests/support/collective_case.h"
#include "tests/support/memory_network.h"

namespace scela::collectives::test {

// Runs the operations that the engine has not taken, and counts them.
class Others final : public Executor {
 public:
  explicit Others(std::unique_ptr<Executor> polled) : polled_(std::move(polled)) {}
  std::string_view name() const override { return "others"; }
  void start(Run& run) override {
    ++started;
    polled_->start(run);
  }
  bool test(Run& run) override { return polled_->test(run); }
  std::size_t wait_any(std::span<Run* const> runs, Timeout limit) override {
    return polled_->wait_any(runs, limit);
  }
  void progress() override { polled_->progress(); }
  void cancel(Run& run, Fault why) override { polled_->cancel(run, std::move(why)); }
  RunContexts& contexts() override { return polled_->contexts(); }
  std::string describe() const override { return polled_->describe(); }

  int started = 0;

 private:
  std::unique_ptr<Executor> polled_;
};

struct Rank {
  int rank = 0;
  std::unique_ptr<Executor> engine;
  const Others& others;
};

// Ranks are threads, each with a device of its own.
class EngineJob {
 public:
  explicit EngineJob(int ranks, const QueueDepths& depths = {})
      : network(ranks, 23), ranks_(ranks), depths_(depths) {
    ::setenv("SCELA_CHANNEL_VERBS", "scela", 1);
    network.deliver_in_waits();
  }
  ~EngineJob() { ::unsetenv("SCELA_CHANNEL_VERBS"); }

  // Runs `body` on all ranks. It returns what went wrong on its rank. Returns the first such text,
  // or an empty one.
  std::string run(const std::function<std::string(Rank&)>& body) {
    std::mutex mutex;
    std::string wrong;
    std::atomic<int> there = 0;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks_; ++rank) {
      threads.emplace_back([&, rank] {
        auto others = std::make_unique<Others>(make_polled(network.transport(rank)));
        const Others& counted = *others;
        auto adapter = Adapter::open();
        std::optional<Rank> here;
        if (adapter) {
          (*adapter)->depths = depths_;
          here.emplace(Rank{
              rank, make_engine_on(std::move(*adapter), std::move(others), network.transport(rank)),
              counted});
        }
        std::string said = adapter ? body(*here) : cat("no engine: ", adapter.error().text());
        // A rank keeps its queues until all ranks are done with them.
        ++there;
        while (there < ranks_)
          std::this_thread::yield();
        const std::lock_guard lock(mutex);
        if (wrong.empty() && !said.empty()) wrong = cat("rank ", rank, ": ", said);
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    return wrong;
  }

  MemoryNetwork network;

 private:
  scela::test::Place place_;
  int ranks_;
  QueueDepths depths_;
};

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
    if (run.error() != nullptr) return cat(text(member.operation()), ": ", run.error()->text());
    return member.wrong();
  }
  Member member;
  Run run;
  std::string refused;
};

inline Case of(Operation operation, std::string_view algorithm, int ranks,
               std::vector<std::uint64_t> sizes) {
  Case one;
  one.algorithm = find(operation, algorithm);
  one.shape.operation = operation;
  one.shape.ranks = ranks;
  one.sizes = std::move(sizes);
  return one;
}

}  // namespace scela::collectives::test
