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

std::optional<RunBy> run_by_of(std::string_view word) {
  if (word == "at-once") return RunBy::at_once;
  if (word == "polled") return RunBy::polled;
  if (word == "thread") return RunBy::thread;
  if (word == "engine") return RunBy::engine;
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  const auto by = argc == 3 ? run_by_of(argv[2]) : std::nullopt;
  if (!by)
    failed(
        "usage: communicator_probe operations|flights|long|binding|WRONG "
        "at-once|polled|thread|engine");
  const std::string what = argv[1];
  channel::Options options;
  if (*by == RunBy::thread) options.threads = channel::Threads::multiple;
  std::vector<int> processors;
  if (what == "binding") processors = leave_all_processors_but_one();
  const auto opened = channel::Channel::open(options);
  if (!opened.channel) failed(opened.error.text());
  const auto all = [&] {
    return Communicator::over(*opened.channel, {.run_by = *by, .table = {}});
  };
  Communicator world = all();
  must(world.error(), "communicator");
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
