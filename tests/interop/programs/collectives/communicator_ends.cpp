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
using scela::Code;
using scela::Collective;
using scela::Communicator;
using scela::ProgressMode;
using scela::ReduceOp;
using scela::Status;

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
Status call(Communicator& group, std::string_view operation, int number) {
  const auto ranks = static_cast<std::size_t>(group.size());
  const std::size_t count = kCounts[static_cast<std::size_t>(number) % std::size(kCounts)];
  const int root = number % group.size();
  if (operation == "barrier") return group.barrier();
  if (operation == "bcast") {
    Numbers all(count, group.rank() == root ? number : -1);
    if (Status status = group.run(Collective::bcast(all, root)); !status.ok()) return status;
    if (all != Numbers(count, number)) failed("a broadcast has given something else");
    return {};
  }
  if (operation == "alltoall") {
    Numbers own(count * ranks);
    for (std::size_t i = 0; i < own.size(); ++i)
      own[i] = group.rank() * 1000 + static_cast<int>(i / count);
    Numbers all(count * ranks);
    if (Status status = group.run(Collective::alltoall(own, all)); !status.ok()) return status;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i] != static_cast<int>(i / count) * 1000 + group.rank())
        failed("an alltoall has given something else");
    return {};
  }
  const Numbers own(count, group.rank() + 1);
  Numbers all(count);
  Status status = group.run(Collective::allreduce(own, all, ReduceOp::sum));
  if (!status.ok()) return status;
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

bool is_named(const Status& status, int most) {
  return status.code() == Code::peer_ended && status.rank() >= 1 && status.rank() <= most;
}

// Shrinks until all ranks that die have died.
void go_on(Communicator& world, int size, std::string_view scenario) {
  const auto until = Clock::now() + kPatience;
  const int world_rank = world.rank();
  if (scenario == "shrink" && world_rank == 2) die_soon();
  Communicator now = world.shrink();
  for (;; now = now.shrink()) {
    if (!now) failed(cat("shrink: ", now.status().message()));
    if (now.size() == size) break;
    if (now.size() < size) failed(cat("only ", now.size(), " ranks are left"));
    if (Clock::now() > until) failed(cat("there are ", now.size(), " ranks yet"));
    // The rank that dies next is still in it.
    for (int i = 0;; ++i)
      if (const Status status = call(now, "alltoall", i); !status.ok()) {
        if (status.code() != Code::peer_ended) failed(status.message());
        break;
      }
  }
  Numbers ranks(static_cast<std::size_t>(size));
  const Numbers own{world_rank};
  if (const Status status = now.run(Collective::allgather(own, ranks)); !status.ok())
    failed(status.message());
  for (int i = 0; i < size; ++i)
    if (ranks[static_cast<std::size_t>(i)] != (i == 0 ? 0 : i + world.size() - size))
      failed("those that live are not in their order");
  for (int i = 0; i < kBefore; ++i)
    for (const char* const each : {"barrier", "bcast", "alltoall", "allreduce"})
      if (const Status status = call(now, each, i); !status.ok()) failed(status.message());
  const scela::AgreeResult agreed = now.agree(true);
  if (!agreed.status.ok() || !agreed.flag || !agreed.exited.empty())
    failed(cat("agree: ", agreed.status.message()));
}

void run(scela::Channel& channel, ProgressMode progress, std::string_view scenario,
         const char* name) {
  scela::CommunicatorOptions options;
  options.progress = progress;
  Communicator world = Communicator::world(channel, options);
  if (!world) failed(world.status().message());
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
      if (const Status status = meeting.barrier(); !status.ok() && !is_named(status, dying))
        failed(cat("meeting: ", status.message()));
      if (scenario == "leaves" && own_rank == 1) return;
      if (own_rank == 1 || (scenario == "two" && own_rank == 2)) die_soon();
    }
    if (const Status status = call(world, operation, i); !status.ok()) {
      // The last operation that went well for the dead rank may fail on a rank that was to hear so
      // from it.
      if (i + 1 < kBefore || !is_named(status, dying))
        failed(cat("operation ", i, ": ", status.message()));
      break;
    }
    if (Clock::now() > until) failed("nobody tells of the dead");
  }
  const Status later = world.barrier();
  if (!is_named(later, dying)) failed(cat("a later one: ", later.message()));
  if (pair)
    for (int i = 0; i < kBefore; ++i)
      if (const Status status = call(pair, "alltoall", i); !status.ok())
        failed(cat("the pair: ", status.message()));
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
  scela::ChannelOptions options;
  if (by == "thread") options.threads = scela::Threads::multiple;
  auto opened = scela::Channel::open(options);
  if (!opened.channel) failed(opened.status.message());
  own_rank = opened.channel->rank();
  if (opened.channel->size() != 4) failed("it is for 4 ranks");
  run(*opened.channel,
      by == "thread"   ? ProgressMode::thread
      : by == "polled" ? ProgressMode::polled
                       : ProgressMode::at_once,
      argv[2], argv[1]);
  return 0;
}
