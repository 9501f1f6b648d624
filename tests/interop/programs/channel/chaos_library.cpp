// A rank of the jobs that tests/cluster/chaos.py disturbs, over the public interface of libscela.
// It writes numbered lines as tests/interop/programs/mpi/chaos_rank.c does. Before each line it
// runs a collective operation and checks the result. An error ends it with status 4.
//
//   chaos_library LINES PAUSE_MICROSECONDS at-once|polled|thread|engine
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <scela/channel.h>
#include <scela/communicator.h>

namespace {

using scela::Channel;
using scela::Collective;
using scela::Communicator;
using scela::ProgressMode;
using scela::ReduceOp;
using scela::Status;

constexpr int kFailed = 4;
constexpr int kWrong = 9;

[[noreturn]] void end_with(int status, int rank, const std::string& why) {
  std::fprintf(stderr, "chaos: rank %d: %s\n", rank, why.c_str());
  std::fflush(stderr);
  std::_Exit(status);
}

void write_line(int rank, int number) {
  std::string text;
  for (int i = 0; i < 1 + (rank * 7 + number * 13) % 60; ++i)
    text += static_cast<char>('a' + (rank + number + i) % 26);
  std::printf("R%d %d %s\n", rank, number, text.c_str());
  std::fflush(stdout);
}

ProgressMode executor_named(std::string_view name) {
  if (name == "at-once") return ProgressMode::at_once;
  if (name == "thread") return ProgressMode::thread;
  return name == "engine" ? ProgressMode::engine : ProgressMode::polled;
}

// The operations take turns; small and large messages too.
void operate(Communicator& world, int number) {
  const int rank = world.rank();
  const int size = world.size();
  const std::size_t count = number % 5 == 0 ? 20'000 : 3;
  const std::vector<int> mine(count, rank + number);
  std::vector<int> all(number % 3 == 1 ? count * static_cast<std::size_t>(size) : count,
                       rank == 0 ? number : -1);
  const auto operation = number % 3 == 0   ? Collective::allreduce(mine, all, ReduceOp::sum)
                         : number % 3 == 1 ? Collective::allgather(mine, all)
                                           : Collective::bcast(all, 0);
  if (const Status status = world.start(operation).wait(); !status.ok())
    end_with(kFailed, rank, status.message());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int right = number % 3 == 0   ? size * (size - 1) / 2 + size * number
                      : number % 3 == 1 ? static_cast<int>(i / count) + number
                                        : number;
    if (all[i] != right)
      end_with(kWrong, rank, "operation " + std::to_string(number) + " has a wrong result");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int lines = argc > 1 ? std::atoi(argv[1]) : 10;
  const std::chrono::microseconds pause(argc > 2 ? std::atoi(argv[2]) : 1000);
  const ProgressMode executor = executor_named(argc > 3 ? argv[3] : "polled");
  scela::ChannelOptions options;
  options.threads = scela::Threads::multiple;
  const auto opened = Channel::open(options);
  if (!opened.channel) end_with(kFailed, -1, opened.status.message());
  scela::CommunicatorOptions how;
  how.progress = executor;
  Communicator world = Communicator::world(*opened.channel, how);
  if (!world.status().ok()) end_with(kFailed, opened.channel->rank(), world.status().message());
  for (int number = 1; number <= lines; ++number) {
    operate(world, number);
    write_line(world.rank(), number);
    std::this_thread::sleep_for(pause);
  }
  return 0;
}
