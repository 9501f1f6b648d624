// Ranks of a communicator are killed in the middle of operations, or leave early. All others get
// errors that name them, shrink, and go on with right results. Rank 0 prints one line if all is
// well.
//
//   communicator_ends at_once|polled|thread allreduce|bcast|barrier|alltoall   rank 1 is killed
//   communicator_ends ... two      ranks 1 and 2 are killed at once
//   communicator_ends ... shrink   rank 1 is killed, and rank 2 while the others shrink
//   communicator_ends ... leaves   rank 1 returns from main
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collectives/include/scela/communicator.h"
#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"

using scela::cat;
using scela::Collective;
using scela::CollectiveCode;
using scela::CollectiveError;
using scela::Communicator;
using scela::ReduceOp;
using scela::RunBy;

namespace {

using Numbers = std::vector<std::int64_t>;
using Clock = std::chrono::steady_clock;

constexpr int kBefore = 60;  // operations that go well
constexpr std::chrono::seconds kPatience{60};
constexpr std::size_t kCounts[] = {1, 700, 30'000};

int own_rank = -1;

[[noreturn]] void failed(const std::string& why) {
  std::fprintf(stderr, "communicator_ends: rank %d: %s\n", own_rank, why.c_str());
  std::_Exit(3);
}

// Runs one operation. Its result is right, or it has failed.
CollectiveError call(Communicator& group, std::string_view operation, int number) {
  const auto ranks = static_cast<std::size_t>(group.size());
  const std::size_t count = kCounts[static_cast<std::size_t>(number) % std::size(kCounts)];
  const int root = number % group.size();
  if (operation == "barrier") return group.barrier();
  if (operation == "bcast") {
    Numbers all(count, group.rank() == root ? number : -1);
    if (const CollectiveError error = group.run(Collective::bcast(all, root))) return error;
    if (all != Numbers(count, number)) failed("a broadcast has given something else");
    return {};
  }
  if (operation == "alltoall") {
    Numbers own(count * ranks);
    for (std::size_t i = 0; i < own.size(); ++i)
      own[i] = group.rank() * 1000 + static_cast<int>(i / count);
    Numbers all(count * ranks);
    if (const CollectiveError error = group.run(Collective::alltoall(own, all))) return error;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i] != static_cast<int>(i / count) * 1000 + group.rank())
        failed("an alltoall has given something else");
    return {};
  }
  const Numbers own(count, group.rank() + 1);
  Numbers all(count);
  if (const CollectiveError error = group.run(Collective::allreduce(own, all, ReduceOp::sum)))
    return error;
  if (all != Numbers(count, group.size() * (group.size() + 1) / 2))
    failed("an allreduce has given something else");
  return {};
}

void die_soon() {
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::microseconds(::getpid() % 13 * 200));
    ::kill(::getpid(), SIGKILL);
  }).detach();
}

bool is_named(const CollectiveError& error, int most) {
  return error.code == CollectiveCode::peer_ended && error.rank >= 1 && error.rank <= most;
}

// Shrinks until all ranks that die have died.
void go_on(Communicator& world, int size, std::string_view scenario) {
  const auto until = Clock::now() + kPatience;
  const int world_rank = world.rank();
  if (scenario == "shrink" && world_rank == 2) die_soon();
  Communicator now = world.shrink();
  for (;; now = now.shrink()) {
    if (!now) failed(cat("shrink: ", now.error().text()));
    if (now.size() == size) break;
    if (now.size() < size) failed(cat("only ", now.size(), " ranks are left"));
    if (Clock::now() > until) failed(cat("there are ", now.size(), " ranks yet"));
    // The rank that dies next is still in it.
    for (int i = 0;; ++i)
      if (const CollectiveError error = call(now, "alltoall", i)) {
        if (error.code != CollectiveCode::peer_ended) failed(error.text());
        break;
      }
  }
  Numbers ranks(static_cast<std::size_t>(size));
  const Numbers own{world_rank};
  if (const auto error = now.run(Collective::allgather(own, ranks))) failed(error.text());
  for (int i = 0; i < size; ++i)
    if (ranks[static_cast<std::size_t>(i)] != (i == 0 ? 0 : i + world.size() - size))
      failed("those that live are not in their order");
  for (int i = 0; i < kBefore; ++i)
    for (const char* const each : {"barrier", "bcast", "alltoall", "allreduce"})
      if (const auto error = call(now, each, i)) failed(error.text());
  const auto agreed = now.agree(true);
  if (!agreed || !agreed.all || !agreed.ended.empty()) failed(agreed.error.text());
}

void run(scela::channel::Channel& channel, RunBy run_by, std::string_view scenario,
         const char* name) {
  scela::CommunicatorOptions options;
  options.run_by = run_by;
  Communicator world = Communicator::over(channel, options);
  if (!world) failed(world.error().text());
  const int dying = scenario == "two" || scenario == "shrink" ? 2 : 1;
  const bool is_operation = scenario == "bcast" || scenario == "barrier" || scenario == "alltoall";
  const std::string_view operation = is_operation ? scenario : "allreduce";
  // This communicator has no dying rank.
  const std::vector<int> others{0, 3};
  Communicator pair = world.subgroup(others);
  Communicator meeting = world.dup();
  const auto until = Clock::now() + kPatience;
  for (int i = 0;; ++i) {
    if (i == kBefore) {
      // After this barrier no rank is in an earlier operation, because messages that a killed rank
      // has sent need not all arrive. Those of this barrier need not either.
      if (const CollectiveError error = meeting.barrier(); error && !is_named(error, dying))
        failed(cat("meeting: ", error.text()));
      if (scenario == "leaves" && own_rank == 1) return;
      if (own_rank == 1 || (scenario == "two" && own_rank == 2)) die_soon();
    }
    if (const CollectiveError error = call(world, operation, i)) {
      // The last operation that went well for the dead rank may fail on a rank that was to hear so
      // from it.
      if (i + 1 < kBefore || !is_named(error, dying))
        failed(cat("operation ", i, ": ", error.text()));
      break;
    }
    if (Clock::now() > until) failed("nobody tells of the dead");
  }
  const CollectiveError later = world.barrier();
  if (!is_named(later, dying)) failed(cat("a later one: ", later.text()));
  if (pair)
    for (int i = 0; i < kBefore; ++i)
      if (const auto error = call(pair, "alltoall", i)) failed(cat("the pair: ", error.text()));
  go_on(world, world.size() - dying, scenario);
  if (own_rank == 0)
    std::printf("ends: %s, %s: %d of %d ranks go on, on %d nodes\n", name,
                std::string(scenario).c_str(), world.size() - dying, world.size(), channel.nodes());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view by = argc == 3 ? argv[1] : "";
  if (by != "at_once" && by != "polled" && by != "thread")
    failed("usage: communicator_ends at_once|polled|thread SCENARIO");
  scela::channel::Options options;
  if (by == "thread") options.threads = scela::channel::Threads::multiple;
  auto opened = scela::channel::Channel::open(options);
  if (!opened.channel) failed(opened.error.text());
  own_rank = opened.channel->rank();
  if (opened.channel->size() != 4) failed("it is for 4 ranks");
  run(*opened.channel,
      by == "thread"   ? RunBy::thread
      : by == "polled" ? RunBy::polled
                       : RunBy::at_once,
      argv[2], argv[1]);
  return 0;
}
