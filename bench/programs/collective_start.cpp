// Measures what it costs to post a collective operation of 64 ranks if its plan is cached: the
// operation is bound to bytes, and begun up to where it waits first. Messages cost nothing here, so
// the result is what lists add to them.
//
// The same run measures the operation with list and plan made anew each time, and a system call,
// which the ratio is to. Times are medians of batches, in nanoseconds.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/executors/factory.h"
#include "collectives/executors/run/run_pool.h"
#include "common/os/clock.h"

namespace {

using namespace scela::collectives;  // NOLINT: a program of one file
using scela::monotonic_ns;

constexpr int kRanks = 64;
constexpr int kRank = 5;
constexpr std::uint64_t kBytes = 1024;
constexpr int kBatches = 201;
constexpr int kEach = 100;

// A transport on which either all messages are over, or no message is.
class Valve final : public Transport {
 public:
  void open(bool opened) { opened_ = opened; }
  Ticket send(int, Route, std::span<const std::byte>) override { return 0; }
  Ticket receive(int, Route, std::span<std::byte> bytes) override {
    room_ = bytes.size();
    return 0;
  }
  Outcome test(Ticket) override {
    Outcome outcome;
    outcome.over = opened_;
    outcome.bytes = room_ == kSlot ? 0 : room_;
    return outcome;
  }
  bool wait_any(std::span<const Ticket>, Timeout) override { return true; }
  void wake() override {}
  void cancel(Ticket) override {}
  std::uint32_t tags() const override { return 1; }

 private:
  static constexpr std::size_t kSlot = 32;  // a barrier's messages have no bytes
  bool opened_ = true;
  std::uint64_t room_ = 0;
};

void nothing(const void*, const std::byte*, const std::byte*, std::byte*, std::size_t) {}

template <class Work>
double median_ns(Work work) {
  std::vector<double> times;
  for (int batch = 0; batch < kBatches; ++batch)
    times.push_back(work());
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

std::shared_ptr<const Plan> plan_of(const Algorithm& algorithm, const Shape& shape) {
  auto plan = Plan::of(algorithm.build(shape, kRank));
  if (!plan) {
    std::fprintf(stderr, "collective_start: %s\n", plan.error().text().c_str());
    std::exit(1);
  }
  return *plan;
}

void measure(Operation operation, const char* name, double system_call) {
  const Algorithm* const algorithm = find(operation, name);
  if (algorithm == nullptr) return;
  Shape shape;
  shape.operation = operation;
  shape.ranks = kRanks;
  const std::shared_ptr<const Plan> cached = plan_of(*algorithm, shape);
  Layout layout;
  for (std::size_t space = 0; space < 3; ++space)
    layout.spaces[space] = BlockSizes::equal(cached->list().blocks[space], kBytes);
  std::vector<std::byte> in(kBytes * kRanks);
  std::vector<std::byte> out(kBytes * kRanks);
  static std::uint64_t number = 0;
  ++number;
  Call call;
  call.layout = &layout;
  call.layout_number = number;  // as a communicator numbers known layouts
  call.input = in.data();
  call.output = out.data();
  call.reduction.combine = nothing;
  call.rank = kRank;
  auto made = std::make_unique<Valve>();
  Valve& valve = *made;
  const std::unique_ptr<Executor> polled = make_polled(std::move(made));
  RunPool pool;
  const auto post = [&](bool anew) {
    std::vector<Run*> runs;
    runs.reserve(kEach);
    valve.open(false);
    const std::uint64_t begin = monotonic_ns();
    for (int i = 0; i < kEach; ++i) {
      Run& run = pool.take();
      call.plan = anew ? plan_of(*algorithm, shape) : cached;
      if (!run.bind(call)) std::exit(1);
      run.begin(valve);
      run.advance();
      runs.push_back(&run);
    }
    const double took = static_cast<double>(monotonic_ns() - begin) / kEach;
    valve.open(true);
    for (Run* const run : runs) {
      while (!run->is_over())
        run->advance();
      pool.give_back(*run);
    }
    return took;
  };
  const double posted = median_ns([&] { return post(false); });
  const double anew = median_ns([&] { return post(true); });
  std::printf("| %.*s %s | %zu | %.0f | %.1f | %.0f |\n",
              static_cast<int>(name_of(operation).size()), name_of(operation).data(), name,
              cached->list().tasks.size(), posted, posted / system_call, anew);
}

}  // namespace

int main() {
  const double system_call = median_ns([] {
    const std::uint64_t begin = monotonic_ns();
    for (int i = 0; i < kEach; ++i)
      ::syscall(SYS_getppid);
    return static_cast<double>(monotonic_ns() - begin) / kEach;
  });
  std::printf("A system call takes %.0f ns. %d ranks, rank %d.\n\n", system_call, kRanks, kRank);
  std::printf(
      "| operation | tasks | posted, ns | in system calls | with list and plan anew, ns |\n");
  std::printf("|---|---|---|---|---|\n");
  measure(Operation::barrier, "dissemination", system_call);
  measure(Operation::bcast, "binomial", system_call);
  measure(Operation::allreduce, "recursive-doubling", system_call);
  measure(Operation::allgather, "ring", system_call);
  measure(Operation::alltoall, "flat", system_call);
  return 0;
}
