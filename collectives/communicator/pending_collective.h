// A collective operation that was started, or may be: the body of its request. Communicators make
// it. Two threads must not use the requests of one communicator at once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "collectives/communicator/group.h"
#include "comm-channel/include/request_body.h"

namespace scela::collectives {

class PendingCollective final : public channel::RequestBody {
 public:
  // `waits`: the caller of begin() waits for the operation next, so that it may be over on return.
  enum class Caller : unsigned char { waits, goes_on };

  // Takes a tag, and prepares the call. If the call is wrong, begin() returns the error.
  PendingCollective(std::shared_ptr<Communicator::State> communicator,
                    std::shared_ptr<const Collective::Inside> inside, bool is_persistent);
  ~PendingCollective();
  // Objects give their memory to later ones (collectives/communicator/call/recycling.h).
  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory) noexcept;

  // Starts the operation. Returns false if nothing was started; status() says why then.
  bool begin(Caller caller);

  bool test() override;
  Status wait(Timeout timeout) override;
  const Status& status() override;
  Status start() override;
  bool persistent() const override { return persistent_; }
  std::string describe() const override;
  bool is_over() const override;
  channel::RequestMover* mover() const override;
  void release() override { delete this; }

  // Returns the run of an operation that is under way, otherwise null.
  Run* run_under_way() const { return stage_ == Stage::under_way ? run_ : nullptr; }

 private:
  enum class Stage : unsigned char {
    ready,           // persistent, and not started yet
    under_way,       // started; the run may be over
    complete,        // result_ is its status, also of a start that was refused
    was_waited_for,  // and wait() has returned it
  };

  // Returns ok if the operation may be started now.
  Status why_not_begin() const;
  // Does the work of begin() for an operation that may be started. If the call was refused, the run
  // takes part with notes if it can, and wait() returns the error. If it cannot, result_ is set.
  // Throws std::bad_alloc if there is no memory for the run.
  void begin_run(Caller caller);
  // Ends an operation that is under way, once its run is over.
  void end();
  // Returns the error of this rank's call, which wait() returns; ok if it has none.
  const Status& own() const {
    return lacks_ == nullptr || !prepared_->status.ok() ? prepared_->status : *lacks_;
  }
  // Sets refused_ from the error own().
  void refuse();
  // Gives up the communicator's context on all ranks, since no rank can know this call's list.
  void give_up();
  // Binds run_ to this call. Returns an error if there is no memory for that.
  Result<void> bind();
  // Returns an error that names the operation and this rank.
  Status misuse(Code code, const std::string& why) const;
  // Returns true in a child process (fork). The state belongs to the parent there.
  bool is_copy() const { return group_->engine->made_here.is_copy(); }

  std::shared_ptr<Communicator::State> group_;
  std::shared_ptr<const Collective::Inside> call_;
  std::shared_ptr<const PreparedCall> prepared_;
  // Says that the operation has no tag, or had no memory at its last start. It is null otherwise.
  std::unique_ptr<const Status> lacks_;
  std::shared_ptr<const Fault> refused_;
  Status result_;             // ok until the operation is over or refused
  Run* run_ = nullptr;        // taken from the pool
  std::uint64_t number_ = 0;  // operations begun before it
  std::uint32_t tag_ = 0;
  bool has_tag_ = false;
  bool persistent_ = false;
  Stage stage_ = Stage::ready;
};

}  // namespace scela::collectives
