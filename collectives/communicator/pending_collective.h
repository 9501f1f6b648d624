// A PendingCollective is the body of a collective operation's request
// (comm-channel/include/request_body.h). The operation was started, or may be. Communicators make
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
  // Says what the caller of begin() does next: it waits for the operation, so that this may be over
  // on return; or it goes on.
  enum class Caller : unsigned char { waits, goes_on };

  // Takes a tag, and prepares the call `inside`. Sends nothing. A persistent operation may be
  // started any number of times, others once. If the call is wrong, begin() or wait() returns the
  // error.
  PendingCollective(std::shared_ptr<Communicator::State> communicator,
                    std::shared_ptr<const Collective::Inside> inside, bool is_persistent);
  // Cancels the operation if it is under way, and blocks until it has ended.
  ~PendingCollective();
  // Objects give their memory to later ones (collectives/communicator/call/recycling.h).
  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory) noexcept;

  // Starts the operation. Returns false if nothing was started; status() is the reason then.
  bool begin(Caller caller);

  // These do what RequestBody says. wait() returns the error of a wrong call, too.
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
  // The states of the request.
  enum class Stage : unsigned char {
    ready,           // not started yet
    under_way,       // started; the run may be over
    complete,        // result_ is its status, or of the start
    was_waited_for,  // and wait() has returned it
  };

  // Returns ok if the operation may be started now; otherwise the reason why not.
  Status why_not_begin() const;
  // Does the work of begin() for an operation that may be started. If the call was refused and its
  // list is known, the run sends notes to the other ranks, and wait() returns the error. If the
  // list is not known, sets result_ to the error. Throws std::bad_alloc if there is no memory for
  // the run.
  void begin_run(Caller caller);
  // Sets result_ from the run, which is over, and the stage to complete.
  void end();
  // Returns the error of this rank's call; ok if it has none.
  const Status& own() const {
    return lacks_ == nullptr || !prepared_->status.ok() ? prepared_->status : *lacks_;
  }
  // Sets refused_ to the fault for the error own().
  void refuse();
  // Gives up the communicator's context on all ranks (RunContexts::give_up), since no other rank
  // can know this call's list.
  void give_up();
  // Binds run_ to this call. Returns an error if there is no memory for that.
  Result<void> bind();
  // Returns an error with this code and the text `why`, which names the operation and this rank.
  Status misuse(Code code, const std::string& why) const;
  // Returns true in a child process (fork). The state belongs to the parent there.
  bool is_copy() const { return group_->engine->made_here.is_copy(); }

  std::shared_ptr<Communicator::State> group_;
  std::shared_ptr<const Collective::Inside> call_;
  std::shared_ptr<const PreparedCall> prepared_;
  // The error if the operation has no tag, or had no memory at its last start. Null otherwise.
  std::unique_ptr<const Status> lacks_;
  // The fault that other ranks get if this rank's call is refused. Null otherwise.
  std::shared_ptr<const Fault> refused_;
  Status result_;             // ok until the operation is over or refused
  Run* run_ = nullptr;        // of the engine's pool; null: none yet
  std::uint64_t number_ = 0;  // operations begun before it (Call)
  std::uint32_t tag_ = 0;
  bool has_tag_ = false;
  bool persistent_ = false;
  Stage stage_ = Stage::ready;
};

}  // namespace scela::collectives
