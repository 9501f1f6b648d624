// Ranks that do collective operations by scela::Communicator, under any launcher. Rank 0 prints one
// line if all is well.
//
//   communicator_probe operations|flights at-once|polled|thread
//   communicator_probe long at-once|polled|thread|engine
//   communicator_probe binding thread
//   communicator_probe WRONG at-once|polled|thread    WRONG: a case of communicator_wrong.cpp
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm-channel/include/scela/channel.h"
#include "tests/interop/programs/collectives/communicator_check.h"

using namespace scela;

namespace {

std::optional<ProgressMode> progress_of(std::string_view word) {
  if (word == "at-once") return ProgressMode::at_once;
  if (word == "polled") return ProgressMode::polled;
  if (word == "thread") return ProgressMode::thread;
  if (word == "engine") return ProgressMode::engine;
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  const auto by = argc == 3 ? progress_of(argv[2]) : std::nullopt;
  if (!by)
    failed(
        "usage: communicator_probe operations|flights|long|binding|WRONG "
        "at-once|polled|thread|engine");
  const std::string what = argv[1];
  ChannelOptions options;
  if (*by == ProgressMode::thread) options.threads = Threads::multiple;
  std::vector<int> processors;
  if (what == "binding") processors = leave_all_processors_but_one();
  const auto opened = Channel::open(options);
  if (!opened.channel) failed(opened.status.message());
  const auto all = [&] {
    return Communicator::world(*opened.channel, {.progress = *by, .table = {}});
  };
  Communicator world = all();
  must(world.status(), "communicator");
  if (what == "operations")
    operations(world);
  else if (what == "flights")
    flights(world, *by);
  else if (what == "long")
    longer(world, *by);
  else if (what == "binding")
    binding(*opened.channel, world, processors);
  else if (what == "last")
    freed_last(*opened.channel, std::move(world));
  else if (!wrongly(world, what, all))
    failed("there is no such thing to do as " + what);
  if (opened.channel->rank() == 0)
    std::printf("communicator: %s %s, %d ranks on %d nodes\n", argv[1], argv[2],
                opened.channel->size(), opened.channel->nodes());
  return 0;
}
