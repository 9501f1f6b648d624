// An operation that was started, or may be.
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
  // Those that were over give their memory to those that come.
  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory) noexcept;

  // `waits`: the caller, so that it may be over when this returns.
  CollectiveError start(bool waits = false);
  bool test();
  CollectiveError wait(Limit limit);
  CollectiveError begin(bool waits);
  // Of one that is over, once.
  CollectiveError end();
  void refuse();
  void give_up();
  Result<void> bind();
  CollectiveError misuse(const std::string& why) const;
  std::string describe() const;
  bool is_copy() const { return group->engine->made_here.is_copy(); }

  std::shared_ptr<Communicator::State> group;
  std::shared_ptr<const Collective::Inside> call;
  std::shared_ptr<const collectives::Prepared> prepared;
  CollectiveError lacks;  // none: it has what a call needs of its communicator
  // Why this rank takes part with notes only; none: it takes part.
  std::shared_ptr<const collectives::Fault> refused;
  CollectiveError own;              // what its wait says then
  collectives::Run* run = nullptr;  // the pool's
  std::uint64_t number = 0;         // of those that this rank has begun
  std::uint32_t tag = 0;
  bool has_tag = false;
  bool persistent = false;
  Stage stage = Stage::ready;
};

}  // namespace scela
