// Communicators over any transport: the channel's, another library's (N7), or a test's memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "collectives/communicator/tables.h"
#include "collectives/executors/factory.h"
#include "collectives/include/scela/communicator.h"

namespace scela {

// So many communicators that come of one another can live at a time.
inline constexpr std::uint32_t kContextsOfOne = 1U << 20;

struct CommunicatorMaker {
  using EngineMaker = Result<std::unique_ptr<collectives::Executor>> (*)(
      std::unique_ptr<collectives::Executor> polled,
      std::unique_ptr<collectives::Transport> transport);

  std::function<std::unique_ptr<collectives::Transport>()> transport;  // an executor's own
  // Engine's; none: nothing is discarded.
  std::function<void(std::uint32_t first, std::uint32_t count)> discard;
  std::function<void(std::uint32_t first, std::uint32_t count)> accept;
  EngineMaker by_engine = nullptr;  // make_engine() of collectives/offload; null: there is none
  int rank = 0;
  std::vector<int> nodes;  // by rank of the transport
  // Contexts that nothing else of this transport's library has: of this communicator, and of all
  // that come of it and live at a time. Those that had them before had a lower life.
  std::uint32_t first_context = 0x8000'0000;
  std::uint32_t contexts = kContextsOfOne;
  std::uint32_t life = 0;
  std::function<void(std::uint32_t life_after)> ended;  // Engine's
  CommunicatorOptions options;
  collectives::ThreadPlacement threads;  // of RunBy::thread
  collectives::Environment environment = collectives::environment_of_process();

  Communicator make() const;

  // For tests: lists that were made ready.
  static std::size_t templates_made(const Communicator& communicator);
  // For accounts: of the adapter's, those that this communicator's operations have; 0 unless its
  // engine runs them.
  static std::size_t queue_pairs(const Communicator& communicator);
};

}  // namespace scela
