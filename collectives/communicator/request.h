// The state of a CollectiveRequest: an operation that was started, or may be. Communicators and
// waits use it. Two threads must not use the requests of one communicator at once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "collectives/communicator/group.h"

namespace scela {

struct CollectiveRequest::State {
  // An operation is `ready` before its start, and after a start that was refused. Then it is
  // `under_way` until it is waited for, and `over` after that.
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
  // Returns an error if nothing was started.
  CollectiveError start(bool waits = false);
  // Returns true if the operation is over, and also if none is under way. Never blocks.
  bool test();
  // The contract is that of CollectiveRequest::wait().
  CollectiveError wait(Limit limit);
  // Does the work of start() for an operation that may be started. If the call was refused, the run
  // takes part with notes if it can, and wait() returns the error. Returns an error if nothing was
  // started. Throws std::bad_alloc if there is no memory for the run.
  CollectiveError begin(bool waits);
  // Ends an operation that is over; called once.
  CollectiveError end();
  // Sets `refused` from the error `own`.
  void refuse();
  // Gives up the communicator's context on all ranks, since no rank can know this call's list.
  void give_up();
  // Binds `run` to this call. Returns an error if there is no memory for that.
  Result<void> bind();
  // Returns an error with the code misuse that names the operation and this rank.
  CollectiveError misuse(const std::string& why) const;
  std::string describe() const;
  // Returns true in a child process (fork). The state belongs to the parent there.
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
