// Measures what it costs to post a collective operation of 64 ranks to the software adapter's
// engine, if one like it was posted before: the operation is bound, and all of it is on the
// adapter's queues. The ranks are objects of one process, each with a device of its own, asked in
// turn. They find each other through memory.
//
// The same run measures a system call, which the ratio is to. Times are medians over operations and
// ranks.
//
//   SCELA_CHANNEL_VERBS=build-release/lib/libscela-ibverbs.so.1 build-release/bench/engine_start
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/executors/run/run_pool.h"
#include "collectives/offload/factory.h"
#include "common/os/clock.h"

namespace {

using namespace scela::collectives;  // NOLINT: a program of one file
using scela::monotonic_ns;

constexpr int kRanks = 64;
constexpr std::uint64_t kBytes = 1024;
constexpr int kTurns = 60;
constexpr int kCalls = 10'000;

using Bytes = std::vector<std::byte>;
// Messages that were sent and not received, by sender, receiver and route.
using Mail = std::map<std::tuple<int, int, std::uint32_t, std::uint32_t>, std::deque<Bytes>>;

class MailTransport final : public Transport {
 public:
  MailTransport(Mail& mail, int rank) : mail_(mail), rank_(rank) {}
  Ticket send(int peer, Route route, std::span<const std::byte> bytes) override {
    mail_[{rank_, peer, route.context, route.tag}].emplace_back(bytes.begin(), bytes.end());
    return 0;  // the message is over
  }
  Ticket receive(int peer, Route route, std::span<std::byte> bytes) override {
    waiting_.push_back({&mail_[{peer, rank_, route.context, route.tag}], bytes});
    return static_cast<Ticket>(waiting_.size());
  }
  Outcome test(Ticket ticket) override {
    Outcome outcome;
    if (ticket == 0) {
      outcome.over = true;
      return outcome;
    }
    const Receive& one = waiting_[ticket - 1];
    if (one.from->empty()) return outcome;
    outcome.over = true;
    outcome.bytes = one.from->front().size();
    std::memcpy(one.to.data(), one.from->front().data(), std::min(outcome.bytes, one.to.size()));
    one.from->pop_front();
    return outcome;
  }
  bool wait_any(std::span<const Ticket>, Timeout) override { return true; }
  void wake() override {}
  void cancel(Ticket) override {}
  std::uint32_t tags() const override { return 1u << 16; }

 private:
  struct Receive {
    std::deque<Bytes>* from = nullptr;
    std::span<std::byte> to;
  };
  Mail& mail_;
  const int rank_;
  std::vector<Receive> waiting_;
};

void nothing(const void*, const std::byte*, const std::byte*, std::byte*, std::size_t) {}

struct Member {
  std::unique_ptr<Executor> engine;
  std::shared_ptr<const Plan> plan;
  Layout layout;
  Bytes in, out;
  // the memory of its runs is registered
  std::unique_ptr<RunPool> pool = std::make_unique<RunPool>();
};

[[noreturn]] void failed(const std::string& why) {
  std::fprintf(stderr, "engine_start: %s\n", why.c_str());
  std::exit(1);
}

double median(std::vector<double>& times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Runs the operation once on all ranks. Adds what each post took to `times`.
void run_once(std::vector<Member>& members, std::vector<double>& times) {
  std::vector<Run*> runs;
  for (Member& member : members)
    runs.push_back(&member.pool->take());
  for (int rank = 0; rank < kRanks; ++rank) {
    Member& member = members[static_cast<std::size_t>(rank)];
    Run& run = *runs[static_cast<std::size_t>(rank)];
    Call call;
    call.plan = member.plan;
    call.layout = &member.layout;
    call.input = member.in.data();
    call.output = member.out.data();
    call.reduction.combine = nothing;
    call.reduction.calculation = Calculation{Calculation::Op::sum, Calculation::Type::uint64};
    call.rank = rank;
    const std::uint64_t begin = monotonic_ns();
    const auto bound = run.bind(call);
    if (bound) member.engine->start(run);
    times.push_back(static_cast<double>(monotonic_ns() - begin));
    if (!bound) failed(bound.error().text());
  }
  for (bool all = false; !all;) {
    all = true;
    for (std::size_t i = 0; i < runs.size(); ++i)
      all = members[i].engine->test(*runs[i]) && all;
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i]->error() != nullptr) failed(runs[i]->error()->text());
    members[i].pool->give_back(*runs[i]);
  }
}

void measure(std::vector<Member>& members, Operation operation, const char* name,
             double system_call) {
  const Algorithm* const algorithm = find(operation, name);
  if (algorithm == nullptr) failed(name);
  Shape shape;
  shape.operation = operation;
  shape.ranks = kRanks;
  for (int rank = 0; rank < kRanks; ++rank) {
    Member& member = members[static_cast<std::size_t>(rank)];
    auto plan = Plan::of(algorithm->build(shape, rank));
    if (!plan) failed(plan.error().text());
    member.plan = *plan;
    for (std::size_t space = 0; space < 3; ++space)
      member.layout.spaces[space] = BlockSizes::equal(member.plan->list().blocks[space], kBytes);
    member.in.resize(kBytes * kRanks);
    member.out.resize(kBytes * kRanks);
  }
  std::vector<double> times;
  run_once(members, times);  // the ranks connect
  run_once(members, times);
  times.clear();
  times.reserve(kTurns * kRanks);
  for (int turn = 0; turn < kTurns; ++turn)
    run_once(members, times);
  const double posted = median(times);
  const std::string_view what = name_of(operation);
  std::printf("| %.*s %s | %zu | %.0f | %.1f |\n", static_cast<int>(what.size()), what.data(), name,
              members[5].plan->list().tasks.size(), posted, posted / system_call);
}

}  // namespace

int main() {
  const std::uint64_t begin = monotonic_ns();
  for (int i = 0; i < kCalls; ++i)
    ::syscall(SYS_getppid);
  const double system_call = static_cast<double>(monotonic_ns() - begin) / kCalls;
  Mail mail;
  std::vector<Member> members(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    auto made = make_engine(make_polled(std::make_unique<MailTransport>(mail, rank)),
                            std::make_unique<MailTransport>(mail, rank));
    if (!made) failed(made.error().text());
    members[static_cast<std::size_t>(rank)].engine = std::move(*made);
  }
  std::printf("A system call takes %.0f ns. %d ranks; tasks are rank 5's.\n\n", system_call,
              kRanks);
  std::printf("| operation | tasks | posted to the engine, ns | in system calls |\n");
  std::printf("|---|---|---|---|\n");
  measure(members, Operation::barrier, "dissemination", system_call);
  measure(members, Operation::bcast, "binomial", system_call);
  measure(members, Operation::allreduce, "recursive-doubling", system_call);
  measure(members, Operation::allgather, "ring", system_call);
  return 0;
}
