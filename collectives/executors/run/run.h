// A Run is one rank's part of an operation: a plan, bound to bytes and to a transport. Executors
// (collectives/executors/executor.h) move it, one thread at a time; a few functions may be called
// by any thread.
//
// A run executes its list in order, and never blocks. The executor asks it to progress, and waits
// if no run progresses.
//
// Failure (docs/design/collectives.md, Failure). The first fault ends the work, but not the list.
// From there on the run copies and reduces nothing, and throws away each message that it receives.
// Each message that the list still sends is a note, which names the rank at fault. So all ranks
// that wait for this rank progress, learn of the fault and end without help. The run waits for the
// messages that had begun. If all ranks are told of a rank that has ended, the run receives nothing
// any more (abandon).
//
// Each part of a run owns its state: the call and its buffers (bound_call.h), the place in the list
// (plan_cursor.h), the messages (run_messages.h), the first fault (run_failure.h), and the shorter
// way through a list of small messages (fast_path.h). The run says when they act.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/core/layout.h"
#include "collectives/executors/run/bound_call.h"
#include "collectives/executors/run/call.h"
#include "collectives/executors/run/fast_path.h"
#include "collectives/executors/run/plan_cursor.h"
#include "collectives/executors/run/run_failure.h"
#include "collectives/executors/run/run_messages.h"
#include "collectives/executors/run/transport.h"
#include "common/core/result.h"

namespace scela::collectives {

class Run {
 public:
  Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  // Cancels the run if it is not over.
  ~Run();

  // Binds a run that is new or over. Returns an error if the plan needs something that the call
  // lacks. Allocates memory only if no earlier call needed as much.
  Result<void> bind(Call call);
  // Returns true if the run is short: bind_again() may then bind it to other bytes, as another
  // operation.
  bool is_short() const { return !call_.fast_steps().empty(); }
  // Returns true if a run that is bound or under way has receives; false once it is over.
  bool receives() const { return call_.plan() != nullptr && call_.plan()->receives() != 0; }
  // Binds a short run that is over to other buffers and another route. The plan, the layout and all
  // else stay as bind() set them.
  void bind_again(const std::byte* input, std::byte* output, Route route, std::uint64_t number) {
    call_.bind_again(input, output, route, number);
  }

  // For executors. `transport` belongs to the executor, and one thread at a time calls the
  // functions that follow. After claim() the run is not over. Any thread may call claim() before
  // begin().
  void claim() { over_.store(false, std::memory_order_relaxed); }
  // Begins a run that is bound. The transport must outlive the run's messages.
  void begin(Transport& transport);
  // Names the rank for which a run has failed, if nothing more can be done in its context. All
  // ranks are numbered as in the transport.
  struct Ends {
    int rank = -1;                    // -1: none
    Refusal refusal = Refusal::none;  // none: the rank has ended
    std::vector<int> peers;
  };
  // Does all that can be done without blocking. Returns false if the run is over; its owner may
  // then have given it away already. `ends` is filled before that.
  bool advance(Ends* ends = nullptr);
  // Runs a short run for a caller that has nothing else to do, after begin(). Each message takes
  // less work than with advance(). Returns true if the run is over. Otherwise advance() goes on
  // from the point that it reached.
  inline bool try_fast_path();
  // Returns the message that must be over before a run under way can progress.
  Transport::Ticket waits_for() const { return messages_.waits_for(); }
  // Ends the run and cancels its messages, whatever the other ranks do. The run fails with this
  // fault unless it has one already.
  void cancel(Fault why);

  // Ends a run because one of its ranks has ended, as all other ranks are told. The run receives
  // nothing more, and is over when the messages that it has begun are. It sends notes to ranks that
  // are told later. A run that had not begun sends none, since other ranks may have called another
  // operation by then.
  void abandon(Fault why);
  // Returns the place in the list of a rank of the transport, for a run under way. Returns -1 if it
  // has none.
  int place_of(int rank) const { return call_.place_of(rank); }
  // Returns true from begin() until the run is over. It stays false for begin_elsewhere().
  bool is_under_way() const { return state_ != State::idle; }
  ContextId context() const { return call().route.context; }
  std::uint64_t number() const { return call().number; }
  std::uint16_t kind() const { return call().kind; }
  // Returns this rank as the transport numbers it.
  int own_rank() const { return call_.peer_of(call().rank); }
  // The executor calls it now and then for a run under way. The second call returns, once, a word
  // that says what this rank has called; the next rank compares it with its own call. The other
  // calls return nothing. If the kind is unknown or no other rank takes part, no call returns a
  // word.
  std::optional<AbortedContext> word_if_stalled();
  std::span<const int> peers() const { return call().peers; }

  // For executors that need no transport, instead of begin() and advance(). They read the call that
  // the run is bound to, and report how it ended.
  void begin_elsewhere();
  const Call& call() const { return call_.call(); }
  const Layout& layout() const { return call_.buffers().layout(); }
  std::byte* space(Space space) const { return call_.buffers().space(space); }
  // Returns at least so many bytes of the run's own. Earlier contents are lost.
  std::byte* own_staging(std::uint64_t bytes) { return call_.buffers().own_staging(bytes); }
  // Reports that so many more signals of the list have passed.
  void passed(std::uint32_t signals) { signals_.fetch_add(signals, std::memory_order_release); }
  // Ends the run. If `fault` is null, it went well. Ranks are the list's.
  void end_elsewhere(const Fault* fault);

  // Any thread may call the functions up to error().
  bool is_over() const { return over_.load(std::memory_order_acquire); }
  // Returns how many signals of the list have passed.
  std::uint32_t signals() const { return signals_.load(std::memory_order_acquire); }
  // Returns the error of a run that is over, or null if it went well.
  const RunError* error() const { return failure_.error(); }

  Run* next_free = nullptr;  // used by its pool

 private:
  enum class State : std::uint8_t {
    idle,      // not begun by begin(), or over
    running,   // carries out its list
    draining,  // abandoned: only its messages go on
  };

  // Carries out steps until one must wait. Returns false if the list has come to its end.
  bool carry_out_steps();
  // Carries out one step. Returns false if it is a wait that is not over; it is repeated later.
  bool carry_out(const Plan::Step& step);
  // Goes on with a wait. Returns false if one of its messages is not over.
  bool wait();
  // Ends the prelude, if there is one. Returns true if there is more to run: another prelude, or
  // the call itself.
  bool end_prelude();
  // Begins the list of the plan in use.
  void begin_list();
  // Records the first fault. `task` may be kNoTask.
  void record(Fault fault, std::uint32_t task);
  // Fills in `ends` from the run's error. It does nothing if this rank or no rank is at fault.
  void fill(Ends& ends) const;
  // Ends the run. Its owner may use it again at once, so nothing touches it after this.
  inline void finish();

  BoundCall call_;
  RunFailure failure_;
  PlanCursor cursor_;
  RunMessages messages_{call_, failure_};
  std::atomic<std::uint32_t> signals_{0};
  FastPath fast_path_{call_, messages_, cursor_, signals_};
  State state_ = State::idle;
  unsigned looks_ = 0;  // calls of word_if_stalled()
  std::atomic<bool> over_{true};
};

// These two are inline because each short run calls them.
inline bool Run::try_fast_path() {
  if (!is_short() || call_.prelude() != nullptr || failure_ || state_ == State::draining)
    return false;
  if (!fast_path_.run()) return false;
  finish();
  return true;
}

inline void Run::finish() {
  state_ = State::idle;
  call_.release();
  over_.store(true, std::memory_order_release);  // the owner may reuse it now
}

}  // namespace scela::collectives
