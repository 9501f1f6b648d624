// Ranks that run collective operations over the channel, under any launcher. Rank 0 prints one line
// if all is well.
//
//   collectives_probe inline|polled|thread|engine          every algorithm
//   collectives_probe inline|polled|thread|engine long     every algorithm, many messages a peer
//   collectives_probe inline|polled|thread|engine killed   rank 1 is killed: all others are told
//                                                          its name
//   collectives_probe engine stopped                       rank 1 is stopped while operations go on
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "collectives/algorithms/registry/registry.h"
#include "collectives/executors/factory.h"
#ifdef SCELA_WITH_ENGINE
#include "collectives/offload/factory.h"
#include "tests/interop/programs/collectives/collectives_stopped.h"
#endif
#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"
#include "common/os/affinity.h"
#include "tests/interop/programs/collectives/collectives_probe.h"

using scela::cat;
using namespace scela::collectives;
using namespace scela::collectives::test;
using scela::Channel;

namespace {

constexpr std::uint32_t kContext = 5;

[[noreturn]] void failed(const std::string& why) {
  std::fprintf(stderr, "collectives_probe: %s\n", why.c_str());
  std::_Exit(3);
}

std::unique_ptr<Executor> engine_over([[maybe_unused]] Channel& channel) {
#ifdef SCELA_WITH_ENGINE
  auto made =
      make_engine(make_polled(make_channel_transport(channel)), make_channel_transport(channel));
  if (!made) failed(made.error().text());
  return std::move(*made);
#else
  failed("this build has no engine");
#endif
}

// The first fifty operations come to their ends. All others fail, and all ranks name the dead rank.
void outlive(Channel& channel, Executor& executor) {
  constexpr std::uint32_t kDeath = 50;
  constexpr std::uint32_t kSurelyBefore = 40;
  Case one;
  one.algorithm = find(Operation::allreduce, "recursive-doubling");
  one.shape.operation = Operation::allreduce;
  one.shape.ranks = channel.size();
  for (std::uint32_t i = 0; i < 60; ++i) {
    if (i == kDeath && channel.rank() == 1) ::raise(SIGKILL);
    one.sizes = {i % 2 == 0 ? 8u : 100'000u};
    Begun begun(one, channel.rank(), i, kContext, executor);
    executor.wait(begun.run);
    const RunError* const error = begun.run.error();
    if (error == nullptr && i >= kDeath) failed(cat("operation ", i, " has not failed"));
    if (error == nullptr || i >= kDeath) {
      if (error == nullptr && !begun.wrong().empty()) failed(begun.wrong());
      if (error != nullptr && error->fault.rank != 1) failed(error->text());
    } else if (i < kSurelyBefore || error->fault.rank != 1) {
      failed(error->text());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto kind = argc > 1 ? executor_kind_of(argv[1]) : std::nullopt;
  const std::string what = argc > 2 ? argv[2] : "";
  if (!kind) failed("usage: collectives_probe inline|polled|thread|engine [long|killed|stopped]");
  scela::ChannelOptions options;
  if (*kind == ExecutorKind::thread) options.threads = scela::Threads::multiple;
  auto opened = Channel::open(options);
  if (!opened.channel) failed(opened.status.message());
  Channel& channel = *opened.channel;
  {
    std::unique_ptr<Executor> polled;
    std::unique_ptr<Executor> executor;
    if (*kind == ExecutorKind::thread) {
      ThreadPlacement placement;
      scela::CpuSet cpus;
      for (const int cpu : scela::allowed_cpus())
        cpus.add(static_cast<scela::Rank>(cpu));
      placement.ranks.push_back(cpus);
      auto made = make_thread(make_channel_transport(channel), placement);
      if (!made) failed(made.error().text());
      executor = std::move(*made);
    } else if (*kind == ExecutorKind::engine) {
      executor = engine_over(channel);
    } else {
      polled = make_polled(make_channel_transport(channel));
      executor = *kind == ExecutorKind::polled ? std::move(polled) : make_inline(*polled);
    }
    if (what == "killed") {
      outlive(channel, *executor);
#ifdef SCELA_WITH_ENGINE
    } else if (what == "stopped") {
      const std::string wrong = stopped(channel, *executor);
      if (!wrong.empty()) failed(wrong);
#endif
    } else if (what == "long") {
      const std::string wrong = probe_long(channel.rank(), channel.size(), kContext, *executor);
      if (!wrong.empty()) failed(wrong);
    } else {
      const std::string wrong = probe(channel.rank(), channel.size(), kContext, *executor);
      if (!wrong.empty()) failed(wrong);
    }
    if (channel.rank() == 0)
      std::printf("collectives: %s%s, %d ranks on %d nodes\n", argv[1],
                  what.empty() ? "" : (" " + what).c_str(), channel.size(), channel.nodes());
  }
  return 0;
}
