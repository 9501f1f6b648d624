// A Run is one rank's part of an operation: a plan (run_plan.h), bound to bytes and to a transport.
// Communicators take runs from a pool and bind them. Executors (collectives/executors/executor.h)
// move them, which means that they carry out the steps; one thread at a time does so. A few
// functions may be called by any thread. A run is over when its list has come to the end, well or
// with an error.
//
// A run executes its list in order, and never blocks, except in try_fast_path(). The executor asks
// it to progress, and waits if no run progresses.
//
// Failure (docs/design/collectives.md, Failure). The first fault ends the work, but not the list.
// From there on the run copies and reduces nothing, and throws away each message that it receives.
// Each message that the list still sends is a note, which names the rank at fault. So all ranks
// that wait for this rank progress, learn of the fault and end without help. The run waits for the
// messages that had begun. If all ranks are told of a rank that has ended, the run receives nothing
// any more (abandon).
//
// Each part of a run owns its state: the call and its buffers (bound_call.h), the position in the
// list (plan_cursor.h), the messages (run_messages.h), the first fault (run_failure.h), and the
// shorter way through a list of small messages (fast_path.h). The run says when they act.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/core/block_layout.h"
#include "collectives/executors/run/bound_call.h"
#include "collectives/executors/run/call.h"
#include "collectives/executors/run/fast_path.h"
#include "collectives/executors/run/message_transport.h"
#include "collectives/executors/run/plan_cursor.h"
#include "collectives/executors/run/run_failure.h"
#include "collectives/executors/run/run_messages.h"
#include "common/core/result.h"

namespace scela::collectives {

class Run {
 public:
  Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  // Cancels the run if it is not over.
  ~Run();

  // Binds the run to a plan, buffers and a route (call.h). The run must be new or over. Returns an
  // error, and binds nothing, if the run is under way, the plan needs something that the call
  // lacks, or there is no memory. Allocates memory only if no earlier call needed as much.
  Result<void> bind(Call call);
  // Returns true if the run is short: each of its messages has at most 8 KiB in one piece.
  // bind_again() may then bind it to other bytes, as another operation.
  bool is_short() const { return !call_.fast_steps().empty(); }
  // Returns true if the run is bound or under way and its plan receives messages; false once it is
  // over.
  bool receives() const { return call_.plan() != nullptr && call_.plan()->receives() != 0; }
  // Binds a short run that is over to other buffers and another route. `number` is that of the
  // operation (Call::number). The plan, the layout and all else stay as bind() set them. Allocates
  // nothing.
  void bind_again(const std::byte* input, std::byte* output, Route route, std::uint64_t number) {
    call_.bind_again(input, output, route, number);
  }

  // The functions up to peers() are for executors. One thread at a time calls them.
  //
  // Marks the run as not over, before an executor can begin it. Any thread may call it before
  // begin().
  void claim() { over_.store(false, std::memory_order_relaxed); }
  // Begins a run that is bound, and carries out no step yet. `transport` belongs to the executor
  // and must outlive the run's messages.
  void begin(Transport& transport);
  // The rank for which a run has failed, if nothing more can be done in its context. advance()
  // fills it in. All ranks are numbered as in the transport.
  struct Ends {
    int rank = -1;                    // rank at fault; -1: the context goes on
    Refusal refusal = Refusal::none;  // none: the rank has ended
    std::vector<int> peers;           // all ranks of the call
  };
  // Carries out all steps that are possible without blocking. Returns false if the run is over; its
  // owner may then have given it away already, so the caller must not touch it. If `ends` is not
  // null and the run's fault ends its context, fills it in before that; otherwise leaves it as it
  // was. Throws std::bad_alloc.
  bool advance(Ends* ends = nullptr);
  // Carries out a short run for a caller that has nothing else to do, after begin(). Each message
  // takes less work than with advance(), and is waited for briefly. Returns true if the run is
  // over. Otherwise advance() must go on from the step that it reached. Returns false at once if
  // the run is not short.
  inline bool try_fast_path();
  // Returns the ticket of the message that must be over before a run under way can progress. It is
  // valid after advance() has returned true.
  Transport::Ticket waits_for() const { return messages_.waits_for(); }
  // Ends the run at once and cancels its messages, whatever the other ranks do. The run fails with
  // `why` unless it has a fault already. Does nothing if the run is over.
  void cancel(Fault why);

  // Ends a run because its context is given up, as all other ranks are told. `why` has the rank at
  // fault as the list numbers it. The run receives nothing more. It sends notes instead of the
  // messages that its list still sends, to ranks that are told later, and is over when the messages
  // that it has begun are. A run that had not begun sends none, since other ranks may have called
  // another operation by then.
  void abandon(Fault why);
  // Returns the number that the list gives to a rank of the transport, for a run under way. Returns
  // -1 if the rank takes no part.
  int place_of(int rank) const { return call_.place_of(rank); }
  // Returns true from begin() until the run is over. For a run of begin_elsewhere() it returns
  // false.
  bool is_under_way() const { return state_ != State::idle; }
  // Returns the communicator of the operation.
  ContextId context() const { return call().route.context; }
  // Returns how many operations this rank has begun in the communicator before this one
  // (Call::number).
  std::uint64_t number() const { return call().number; }
  // Returns the hash that is equal for equal calls, or 0 (Call::kind).
  std::uint16_t kind() const { return call().kind; }
  // Returns this rank as the transport numbers it.
  int own_rank() const { return call_.peer_of(call().rank); }
  // Returns a notice with the number and kind of this operation at the second call since begin(),
  // and std::nullopt at all other calls. The executor calls it a few times a second for each run
  // under way, so a run with a notice has waited for long. The executor sends the notice to the
  // next rank, which compares it with its own operation. If the kind is unknown or no other rank
  // takes part, there is no notice.
  std::optional<AbortedContext> word_if_stalled();
  // Returns the transport's numbers of all ranks of the call; empty if they are the list's.
  std::span<const int> peers() const { return call().peers; }

  // The functions up to end_elsewhere() are for executors that need no transport, instead of
  // begin() and advance(). They read the call that the run is bound to, and report how it ended.
  //
  // Marks a bound run as begun.
  void begin_elsewhere();
  // Return the call and the layout that the run is bound to. During a prelude the layout is the
  // prelude's.
  const Call& call() const { return call_.call(); }
  const Layout& layout() const { return call_.buffers().layout(); }
  // Returns the address of the call's buffer for this space. Null if the call has none.
  std::byte* space(Space space) const { return call_.buffers().space(space); }
  // Returns memory of the run's own with at least so many bytes. Earlier contents are lost. Throws
  // std::bad_alloc.
  std::byte* own_staging(std::uint64_t bytes) { return call_.buffers().own_staging(bytes); }
  // Counts that the list has passed so many more signals.
  void passed(std::uint32_t signals) { signals_.fetch_add(signals, std::memory_order_release); }
  // Ends the run. If `fault` is null, it went well; otherwise the fault's rank is numbered as in
  // the list.
  void end_elsewhere(const Fault* fault);

  // Any thread may call is_over() and signals(), and error() once the run is over.
  //
  // Returns true if the run is not under way: it is new, bound, or has come to its end.
  bool is_over() const { return over_.load(std::memory_order_acquire); }
  // Returns how many signals of the list have passed (Kind::signal).
  std::uint32_t signals() const { return signals_.load(std::memory_order_acquire); }
  // Returns the error of a run that is over, or null if it went well.
  const RunError* error() const { return failure_.error(); }

  Run* next_free = nullptr;  // used by RunPool only

 private:
  // The states of a run for its executor.
  enum class State : std::uint8_t {
    idle,      // not begun by begin(), or over
    running,   // carries out its list
    draining,  // abandoned: only its messages go on
  };

  // Carries out steps until one must wait. Returns false if the list has come to its end.
  bool carry_out_steps();
  // Carries out one step. Returns false if it is a wait that is not over; it is repeated later.
  bool carry_out(const Plan::Step& step);
  // Goes on with a wait of the list. Returns false if one of its messages is not over.
  bool wait();
  // At the end of a list: ends the prelude (call.h) if it was its list. Returns true if there is
  // more to run: another prelude, or the call itself.
  bool end_prelude();
  // Begins the list of the plan in use.
  void begin_list();
  // Records the first fault; later ones have no effect. `task` is the number of the task that
  // failed, or kNoTask.
  void record(Fault fault, std::uint32_t task);
  // Fills in `ends` from the run's error. It does nothing if this rank or no rank is at fault.
  void fill(Ends& ends) const;
  // Marks the run as over. Its owner may use it again at once, so nothing touches it after this.
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
