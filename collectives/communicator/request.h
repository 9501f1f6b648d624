// The state of a CollectiveRequest: an operation that was started, or may be. Communicators and
// waits use it. Two threads must not use the requests of one communicator at once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "collectives/communicator/group.h"

namespace scela {

struct CollectiveRequest::State {
  enum class Stage : unsigned char { ready, under_way, over };

  State(std::shared_ptr<Communicator::State> communicator,
        std::shared_ptr<const Collective::Inside> inside, bool is_persistent);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();
  // States that are over give their memory to later ones (recycling.h).
  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory) noexcept;

  // Starts the operation. With `waits` the caller waits for it, so that it may be over on return.
  CollectiveError start(bool waits = false);
  bool test();
  CollectiveError wait(Limit limit);
  CollectiveError begin(bool waits);
  // Ends an operation that is over; called once.
  CollectiveError end();
  void refuse();
  void give_up();
  Result<void> bind();
  CollectiveError misuse(const std::string& why) const;
  std::string describe() const;
  bool is_copy() const { return group->engine->made_here.is_copy(); }

  std::shared_ptr<Communicator::State> group;
  std::shared_ptr<const Collective::Inside> call;
  std::shared_ptr<const collectives::PreparedCall> prepared;
  CollectiveError lacks;  // none: it has a tag
  // The reason why this rank takes part with notes only; null: it takes part in full.
  std::shared_ptr<const collectives::Fault> refused;
  CollectiveError own;              // the error that wait() returns then
  collectives::Run* run = nullptr;  // taken from the pool
  std::uint64_t number = 0;         // operations begun before it
  std::uint32_t tag = 0;
  bool has_tag = false;
  bool persistent = false;
  Stage stage = Stage::ready;
};

}  // namespace scela
