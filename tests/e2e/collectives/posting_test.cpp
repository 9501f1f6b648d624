// The cost of an operation by the engine for the process that posts it. A post allocates no memory
// if an operation like it was posted before. After the post the process makes no call until the
// operation is over (O16).
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/executors/run/run_pool.h"
#include "collectives/offload/queue_set.h"
#include "tests/e2e/collectives/engine_job.h"

// ---- memory, also that of libraries ----

namespace {
thread_local bool is_counted = false;
std::size_t allocations = 0;

void note_allocation() {
  if (is_counted) ++allocations;
}
}  // namespace

// NOLINTBEGIN: the C library's own names
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) noexcept {
  note_allocation();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t each, std::size_t bytes) noexcept {
  note_allocation();
  return __libc_calloc(each, bytes);
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  note_allocation();
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  note_allocation();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  note_allocation();
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
}
// NOLINTEND

namespace scela::collectives::test {
namespace {

// ---- posting ----

// One rank's part of an operation on numbers, in pages of its own. Memory that stays registered is
// watched by whole pages, and by one device alone.
class Part {
 public:
  static constexpr std::uint64_t kNumbers = 8;  // of each block

  Part(const Algorithm& algorithm, const Shape& shape, int rank) : rank_(rank) {
    auto plan = Plan::of(algorithm.build(shape, rank));
    REQUIRE(plan);
    plan_ = *plan;
    for (std::size_t space = 0; space < 3; ++space) {
      const std::uint32_t blocks = plan_->list().blocks[space];
      layout_.spaces[space] = BlockSizes::equal(blocks, kNumbers * sizeof(std::uint64_t));
      const std::uint64_t bytes = layout_.spaces[space].end();
      pages_[space].reset(std::aligned_alloc(kPage, (bytes / kPage + 1) * kPage));
      REQUIRE(pages_[space]);
    }
    std::fill_n(numbers(0), plan_->list().blocks[0] * kNumbers, rank + 1);
  }
  Call call(std::uint32_t tag) const {
    Call call;
    call.plan = plan_;
    call.layout = &layout_;
    call.input = static_cast<std::byte*>(pages_[0].get());
    call.output = static_cast<std::byte*>(pages_[1].get());
    call.scratch = static_cast<std::byte*>(pages_[2].get());
    call.reduction = {combine, nullptr, sizeof(std::uint64_t),
                      Calculation{Calculation::Op::sum, Calculation::Type::uint64}};
    call.route = {1, tag};
    call.rank = rank_;
    return call;
  }
  std::uint64_t* numbers(std::size_t space) const {
    return static_cast<std::uint64_t*>(pages_[space].get());
  }

 private:
  static constexpr std::size_t kPage = 1 << 16;
  struct Free {
    void operator()(void* memory) const { std::free(memory); }  // NOLINT: of aligned_alloc
  };
  // The engine computes by itself, so this is never called.
  static void combine(const void*, const std::byte*, const std::byte*, std::byte*, std::size_t) {
    std::abort();
  }

  int rank_;
  std::shared_ptr<const Plan> plan_;
  Layout layout_;
  std::unique_ptr<void, Free> pages_[3];
};

// All ranks of an operation, asked in turn by this thread. Each has a device of its own.
class InTurn {
 public:
  explicit InTurn(int ranks) : network_(ranks, 31) {
    ::setenv("SCELA_CHANNEL_VERBS", "scela", 1);
    network_.deliver_in_waits();
    for (int rank = 0; rank < ranks; ++rank) {
      auto adapter = Adapter::open();
      INFO((adapter ? std::string() : adapter.error().text()));
      REQUIRE(adapter);
      caches_.push_back((*adapter)->registrations->why().empty());
      engines_.push_back(make_engine_on(std::move(*adapter), make_polled(network_.transport(rank)),
                                        network_.transport(rank)));
    }
  }
  ~InTurn() { ::unsetenv("SCELA_CHANNEL_VERBS"); }
  // Returns the number of allocations of all ranks to bind and post the operation. If the operation
  // moves bytes, a rank counts only if the kernel tells it of changes to its memory. The others
  // register the memory each time, and with so many devices in one process there are some of them.
  std::size_t run(const std::vector<std::unique_ptr<Part>>& parts, std::uint32_t tag,
                  bool moves_bytes) {
    std::vector<Run*> runs;
    for (std::size_t i = 0; i < engines_.size(); ++i)
      runs.push_back(&pool_.take());
    allocations = 0;
    bool good = true;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      is_counted = caches_[i] || !moves_bytes;
      const bool bound = runs[i]->bind(parts[i]->call(tag)).has_value();
      if (bound) engines_[i]->start(*runs[i]);
      is_counted = false;
      good = good && bound;
    }
    REQUIRE(good);
    for (bool all = false; !all;) {
      all = true;
      for (std::size_t i = 0; i < runs.size(); ++i)
        all = engines_[i]->test(*runs[i]) && all;
    }
    for (Run* const run : runs) {
      good = good && run->error() == nullptr;
      pool_.give_back(*run);
    }
    REQUIRE(good);
    return allocations;
  }

 private:
  MemoryNetwork network_;
  scela::test::Place place_;
  RunPool pool_;
  std::vector<std::unique_ptr<Executor>> engines_;
  std::vector<bool> caches_;
};

TEST_CASE("engine: posting an operation of 64 ranks a second time needs no memory") {
  constexpr int kRanks = 64;
  InTurn job(kRanks);
  std::uint32_t tag = 0;
  // The parts stay allocated, because memory that was given back may no longer be watched.
  std::vector<std::vector<std::unique_ptr<Part>>> all;
  for (const Case& one : {of(Operation::barrier, "recursive-doubling", kRanks, {}),
                          of(Operation::allreduce, "recursive-doubling", kRanks, {}),
                          of(Operation::allgather, "ring", kRanks, {})}) {
    INFO(text(one));
    std::vector<std::unique_ptr<Part>>& parts = all.emplace_back();
    for (int rank = 0; rank < kRanks; ++rank)
      parts.push_back(std::make_unique<Part>(*one.algorithm, one.shape, rank));
    for (int turn = 0; turn < 4; ++turn) {
      const std::size_t allocated =
          job.run(parts, tag++, one.shape.operation != Operation::barrier);
      // The first operation is planned, connects its queues, and is posted later.
      if (turn > 1) CHECK(allocated == 0);
    }
    for (const auto& part : parts) {
      if (one.shape.operation == Operation::allreduce) {
        REQUIRE(part->numbers(1)[Part::kNumbers - 1] == kRanks * (kRanks + 1) / 2);
      } else if (one.shape.operation == Operation::allgather) {
        for (std::uint64_t i = 0; i < kRanks * Part::kNumbers; ++i)
          REQUIRE(part->numbers(1)[i] == i / Part::kNumbers + 1);
      }
    }
  }
}

// ---- what is called afterwards ----

// The calls of one device's program, whichever thread makes them.
struct HostCalls {
  std::mutex mutex;
  std::vector<std::string> made;
  ibv_context_ops own{};
  channel::verbs::TaskSymbols tasks;

  void note(const char* what) {
    const std::lock_guard lock(mutex);
    made.emplace_back(what);
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(made, {});
  }
};
HostCalls* traced = nullptr;
const channel::verbs::TaskSymbols* own_tasks = nullptr;

int note_poll(ibv_cq* cq, int count, ibv_wc* completions) {
  traced->note("poll");
  return traced->own.poll_cq(cq, count, completions);
}
int note_arm(ibv_cq* cq, int solicited_only) {
  traced->note("arm");
  return traced->own.req_notify_cq(cq, solicited_only);
}
int note_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad) {
  traced->note("send");
  return traced->own.post_send(qp, request, bad);
}
int note_receive(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad) {
  traced->note("receive");
  return traced->own.post_recv(qp, request, bad);
}
int note_task(ibv_qp* qp, scela_task* task, scela_task** bad) {
  traced->note("task");
  return own_tasks->scela_post_task(qp, task, bad);
}

// Every request and every look of its device is noted from here on.
void trace(Adapter& adapter, HostCalls& calls) {
  ibv_context_ops& ops = adapter.device.context->ops;
  calls.own = ops;
  own_tasks = adapter.device.capability.tasks;
  calls.tasks = *own_tasks;
  calls.tasks.scela_post_task = note_task;
  traced = &calls;
  ops.poll_cq = note_poll;
  ops.req_notify_cq = note_arm;
  ops.post_send = note_send;
  ops.post_recv = note_receive;
  adapter.device.capability.tasks = &calls.tasks;
}

std::size_t count(const std::vector<std::string>& calls, std::string_view what) {
  return static_cast<std::size_t>(std::ranges::count(calls, what));
}

std::vector<Case> cases_to_trace(int ranks) {
  const auto all = static_cast<std::size_t>(ranks);
  return {of(Operation::barrier, "dissemination", ranks, {0}),
          of(Operation::bcast, "binomial", ranks, {300'000}),
          of(Operation::allgather, "ring", ranks, std::vector<std::uint64_t>(all, 100'000)),
          of(Operation::allgather, "bruck", ranks, std::vector<std::uint64_t>(all, 1000)),
          of(Operation::alltoall, "pairwise", ranks, std::vector<std::uint64_t>(all * all, 50'000)),
          of(Operation::allreduce, "recursive-doubling", ranks, {40'000}),
          of(Operation::allreduce, "ring", ranks, {400'000})};
}

// Rank 1 posts, and then calls nothing until its result is there. The others begin only after its
// post.
TEST_CASE("engine: from the post of an operation to its end its process calls nothing") {
  constexpr int kRanks = 4;
  constexpr int kTraced = 1;
  EngineJob job(kRanks);
  HostCalls calls;
  std::atomic<std::uint32_t> posted{0};
  std::atomic<std::uint32_t> ended{0};  // runs of the others
  std::atomic<bool> failed{false};
  CHECK(job.run([&](Rank& here) -> std::string {
    const auto fails = [&](std::string why) {
      failed = true;
      return why;
    };
    if (here.rank == kTraced) {
      auto adapter = Adapter::open();
      if (!adapter) return fails(adapter.error().text());
      trace(**adapter, calls);
      here.engine = make_engine_on(std::move(*adapter), make_polled(job.network.transport(kTraced)),
                                   job.network.transport(kTraced));
    }
    std::uint32_t tag = 0;
    std::uint32_t all_ended = 0;
    for (const Case& one : cases_to_trace(kRanks)) {
      all_ended += kRanks - 1;
      {  // Queues are connected.
        Started before(one, here.rank, tag++, *here.engine);
        here.engine->wait(before.run);
        if (std::string wrong = before.wrong(); !wrong.empty()) return fails(wrong);
      }
      if (here.rank != kTraced) {
        while (posted < tag && !failed)
          std::this_thread::yield();
        if (failed) return {};
        Started started(one, here.rank, tag++, *here.engine);
        here.engine->wait(started.run);
        if (std::string wrong = started.wrong(); !wrong.empty()) return fails(wrong);
        ++ended;
        continue;
      }
      calls.take();
      Started started(one, here.rank, tag, *here.engine);
      const std::vector<std::string> to_post = calls.take();
      if (count(to_post, "task") == 0) return fails("nothing was posted");
      posted = tag++;
      const bool all = scela::test::eventually(
          [&] { return failed || (ended == all_ended && started.member.wrong().empty()); });
      if (failed) return {};
      if (!all) return fails(cat(text(one), ": it has not come to its end by itself"));
      if (const std::vector<std::string> since = calls.take(); !since.empty())
        return fails(cat(text(one), ": ", since.size(), " calls, of them ", since.front()));
      if (!here.engine->test(started.run)) here.engine->wait(started.run);
      if (std::string wrong = started.wrong(); !wrong.empty()) return fails(wrong);
      const std::vector<std::string> to_end = calls.take();
      if (count(to_end, "poll") + count(to_end, "arm") != to_end.size())
        return fails(cat(text(one), ": something was posted at its end"));
    }
    return {};
  }) == "");
}

}  // namespace
}  // namespace scela::collectives::test
