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

struct CommunicatorMaker {
  using EngineMaker = Result<std::unique_ptr<collectives::Executor>> (*)(
      std::unique_ptr<collectives::Executor> polled,
      std::unique_ptr<collectives::Transport> transport);

  std::function<std::unique_ptr<collectives::Transport>()> transport;  // an executor's own
  std::function<void(std::uint32_t context)> discard;                  // Engine::discard
  EngineMaker by_engine = nullptr;  // make_engine() of collectives/offload; null: there is none
  int rank = 0;
  std::vector<int> nodes;  // by rank of the transport
  // Nobody else's of this transport's library, as many as kContextsOfOne.
  std::uint32_t first_context = 0x8000'0000;
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
