// Operation lists of more messages than the adapter's queues hold, in all directions at once. All
// come to their ends with the right bytes, and the counters tell which were not posted whole.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/collectives/engine_job.h"

namespace scela::collectives::test::depths_test {
namespace {

// An operation that takes longer than this is taken for a hang.
constexpr std::chrono::seconds kLimit(30);

std::string run_all(const std::vector<Case>& every, const Rank& here) {
  std::uint32_t tag = 0;
  for (const Case& one : every) {
    Started started(one, here.rank, tag++, *here.engine);
    if (started.refused.empty() && !here.engine->wait(started.run, kLimit)) {
      here.engine->cancel(started.run, {FaultCode::cancelled, -1, "it does not end"});
      here.engine->wait(started.run);
      return cat(text(one), " does not end");
    }
    std::string said = started.wrong();
    if (!said.empty()) return said;
  }
  return {};
}

// One message to each peer in each direction, and hardly a task.
QueueDepths small() {
  return {.messages = 1, .announcements = 8, .tasks = 6, .copies = 2};
}

TEST_CASE("engine: every algorithm gives the same bytes by queues that hold one message a peer") {
  for (const int ranks : {1, 2, 3, 5}) {
    const std::vector<Case> every = cases(ranks, 6);
    EngineJob job(ranks, small());
    REQUIRE(job.run([&](const Rank& here) { return run_all(every, here); }) == "");
  }
}

TEST_CASE("engine: every algorithm comes to its end with more messages than its queues hold") {
  for (const int ranks : {2, 3, 4}) {
    const std::vector<Case> every = long_cases(ranks, 300);
    EngineJob job(ranks);
    REQUIRE(job.run([&](const Rank& here) -> std::string {
      std::string said = run_all(every, here);
      if (!said.empty()) return said;
      const PostedRuns posted = here.engine->contexts().posted(1);
      if (posted.all != every.size()) return cat(posted.all, " were given to the adapter");
      return posted.in_parts > 0 ? "" : "nothing was longer than the queues";
    }) == "");
  }
}

TEST_CASE("engine: where a thread of each process executes tasks, no list is held up either") {
  ::setenv("SCELA_TASKS", "thread", 1);
  for (const int ranks : {2, 3}) {
    const std::vector<Case> every = cases(ranks, 6);
    EngineJob job(ranks, small());
    REQUIRE(job.run([&](const Rank& here) { return run_all(every, here); }) == "");
  }
  ::unsetenv("SCELA_TASKS");
}

// Several operations are under way. Those behind one that does not fit wait with it.
TEST_CASE("engine: operations under way at once come to their ends by queues of any depth") {
  const std::vector<Case> every = cases(3, 4);
  for (const QueueDepths& depths :
       {small(), QueueDepths{.messages = 3, .announcements = 40, .tasks = 32, .copies = 4}}) {
    EngineJob job(3, depths);
    REQUIRE(job.run([&](const Rank& here) -> std::string {
      constexpr std::size_t kAtOnce = 12;
      for (std::size_t first = 0; first < every.size(); first += kAtOnce) {
        const std::size_t count = std::min(kAtOnce, every.size() - first);
        std::vector<std::unique_ptr<Started>> started;
        for (std::size_t i = 0; i < count; ++i)
          started.push_back(std::make_unique<Started>(
              every[first + i], here.rank, static_cast<std::uint32_t>(first + i), *here.engine));
        for (const auto& one : started) {
          if (!here.engine->wait(one->run, kLimit)) return one->member.wrong();
          std::string said = one->wrong();
          if (!said.empty()) return said;
        }
      }
      return {};
    }) == "");
  }
}

// All ranks in one thread, asked in turn.
class InTurn {
 public:
  explicit InTurn(int ranks, const QueueDepths& depths = {}) : network_(ranks, 5) {
    ::setenv("SCELA_CHANNEL_VERBS", "scela", 1);
    network_.deliver_in_waits();
    for (int rank = 0; rank < ranks; ++rank) {
      auto adapter = Adapter::open();
      INFO((adapter ? std::string() : adapter.error().text()));
      REQUIRE(adapter);
      (*adapter)->depths = depths;
      engines_.push_back(make_engine_on(std::move(*adapter), make_polled(network_.transport(rank)),
                                        network_.transport(rank)));
    }
  }
  ~InTurn() { ::unsetenv("SCELA_CHANNEL_VERBS"); }

  // Runs `at_once` operations at the same time. Returns an empty string if all have come to their
  // ends with the right bytes.
  std::string run(const Case& one, int at_once = 1) {
    const auto until = std::chrono::steady_clock::now() + kLimit;
    std::vector<std::vector<std::unique_ptr<Started>>> started(engines_.size());
    for (std::size_t rank = 0; rank < engines_.size(); ++rank)
      for (int i = 0; i < at_once; ++i)
        started[rank].push_back(std::make_unique<Started>(
            one, static_cast<int>(rank), tag_ + static_cast<std::uint32_t>(i), *engines_[rank]));
    tag_ += static_cast<std::uint32_t>(at_once);
    std::string wrong;
    for (bool all = false; !all && wrong.empty();) {
      all = true;
      for (std::size_t rank = 0; rank < engines_.size(); ++rank)
        for (const auto& each : started[rank])
          all = engines_[rank]->test(each->run) && all;
      if (!all && std::chrono::steady_clock::now() > until) wrong = "it does not end";
    }
    for (std::size_t rank = 0; rank < engines_.size(); ++rank) {
      for (const auto& each : started[rank]) {
        if (!each->run.is_over())
          engines_[rank]->cancel(each->run, {FaultCode::cancelled, -1, "it does not end"});
        if (wrong.empty()) wrong = each->wrong();
      }
    }
    return wrong;
  }
  PostedRuns posted(std::size_t rank) const { return engines_[rank]->contexts().posted(1); }

 private:
  MemoryNetwork network_;
  scela::test::Place place_;
  std::vector<std::unique_ptr<Executor>> engines_;
  std::uint32_t tag_ = 0;
};

Case allgather_of(std::string_view name, int ranks, std::uint32_t segments = 1) {
  Case one = of(Operation::allgather, name, ranks,
                std::vector<std::uint64_t>(static_cast<std::size_t>(ranks), 8 * segments));
  one.shape.segments = segments;
  return one;
}

TEST_CASE("engine: a form that posts a receive for each of 130 ranks comes to its end") {
  InTurn job(130);
  for (int i = 0; i < 2; ++i)
    REQUIRE(job.run(allgather_of("rendezvous-ring", 130)) == "");
  CHECK(job.posted(0).in_parts == 2);
}

TEST_CASE("engine: a form that sends a message for each block of 258 ranks comes to its end") {
  InTurn job(258);
  for (int i = 0; i < 2; ++i)
    REQUIRE(job.run(allgather_of("eager-standard-exchange", 258)) == "");
  CHECK(job.posted(0).in_parts == 2);
}

TEST_CASE("engine: operations that were not posted whole are counted, and those behind them") {
  const Case barrier = of(Operation::barrier, "dissemination", 2, {0});
  InTurn job(2, {.messages = 128, .announcements = 8192, .tasks = 64 * 8, .copies = 128});
  const auto counted = [&] {
    const PostedRuns posted = job.posted(0);
    return cat(posted.all, " ", posted.connecting, " ", posted.in_parts);
  };
  // Rank 0 starts while it knows nothing of its peer.
  CHECK(job.run(barrier, 2) == "");
  CHECK(counted() == "2 2 0");
  CHECK(job.run(barrier) == "");
  CHECK(counted() == "3 2 0");
  // The first operation has as many sends as there is room for, the second has one more.
  CHECK(job.run(allgather_of("ring", 2, 128)) == "");
  CHECK(counted() == "4 2 0");
  CHECK(job.run(allgather_of("ring", 2, 129)) == "");
  CHECK(counted() == "5 2 1");
  // The last barriers of a long row need more tasks than there is room for.
  CHECK(job.run(barrier, 8) == "");
  CHECK(counted() == "13 2 1");
  CHECK(job.run(barrier, 200) == "");
  const PostedRuns posted = job.posted(0);
  CHECK(posted.all == 213);
  CHECK(posted.in_parts > 1 + 50);
  CHECK(posted.in_parts < 1 + 150);
}

}  // namespace
}  // namespace scela::collectives::test::depths_test
