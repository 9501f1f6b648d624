// Makes communicators over any transport: the channel's, another library's (N7), or a test's
// memory. Communicator::world() and tests use it. All its functions belong to the thread that uses
// the communicator.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "collectives/communicator/tables.h"
#include "collectives/executors/factory.h"
#include "collectives/include/scela/communicator.h"

namespace scela {

// The number of communicators made from one another that can live at a time. Over a channel, a
// family of them has twice as many contexts: the first half is for operations, and the context of a
// communicator's messages is so far above that of its operations.
inline constexpr std::uint32_t kContextsOfOne = 1U << 20;
inline constexpr std::uint32_t kContextsOfFamily = 2 * kContextsOfOne;

// The arguments for a communicator's parts. The caller sets the members and calls make().
struct CommunicatorMaker {
  // Makes the engine executor; collectives/offload/factory.h says what the arguments are.
  using EngineMaker = Result<std::unique_ptr<collectives::Executor>> (*)(
      std::unique_ptr<collectives::Executor> polled,
      std::unique_ptr<collectives::Transport> transport);

  std::function<std::unique_ptr<collectives::Transport>()> transport;  // one for each executor
  std::shared_ptr<Channel> channel;                                    // as in Engine
  // As in Engine; if they are empty, no context is closed.
  std::function<void(std::uint32_t first, std::uint32_t count)> close_contexts;
  std::function<void(std::uint32_t first, std::uint32_t count)> open_contexts;
  EngineMaker by_engine = nullptr;  // make_engine(); null: no engine
  int rank = 0;
  std::vector<int> nodes;  // by rank of the transport
  // The contexts of this communicator and of all that are made from it and live at a time. Nothing
  // else in the transport's library may use them. Communicators that had them before had a lower
  // life.
  std::uint32_t first_context = 0x8000'0000;
  std::uint32_t contexts = kContextsOfOne;
  std::uint32_t life = 0;
  std::function<void(std::uint32_t life_after)> ended;  // as in Engine
  CommunicatorOptions options;
  collectives::ThreadPlacement threads;  // for ProgressMode::thread
  collectives::Environment environment = collectives::environment_of_process();

  // Makes the communicator of all ranks of the transport. If that fails, it is empty, and its
  // status() is the error.
  Communicator make() const;

  // For tests: returns how many lists the communicator has prepared so far.
  static std::size_t templates_made(const Communicator& communicator);
  // For counters: returns how many queue pairs of the adapter this communicator's operations have.
  // Returns 0 unless its engine runs them.
  static std::size_t queue_pairs(const Communicator& communicator);
};

}  // namespace scela
