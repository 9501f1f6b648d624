// A Run is one rank's part of an operation: a plan, bound to bytes and to a transport. Executors
// (executor.h) move it, one thread at a time; a few functions may be called by any thread.
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
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/core/layout.h"
#include "collectives/executors/plan.h"
#include "collectives/executors/reduction.h"
#include "collectives/executors/transport.h"
#include "common/core/result.h"

namespace scela::collectives {

// The records that the ranks of a call exchange before it is run, if calls are checked: an
// allgather of records in place. All memory that it points to must stay until the run is over.
struct Prelude {
  std::shared_ptr<const Plan> plan;
  const Layout* layout = nullptr;
  std::byte* records = nullptr;  // of all ranks; this rank's is filled in
  // Judges the records of all ranks. It returns the same fault on all ranks, or none; then the call
  // is run.
  std::function<std::optional<Fault>()> judge;
  // Called if judge() finds no fault. It returns another prelude, on all ranks or on none. If it
  // returns null, the call is run.
  std::function<const Prelude*()> next = nullptr;
};

// The arguments that a run is bound to. Buffers and `peers` must stay until the run is over; the
// layout is copied.
struct Call {
  std::shared_ptr<const Plan> plan;
  const Layout* layout = nullptr;
  // If it is not 0, all layouts with this number are equal, so that none is copied again.
  std::uint64_t layout_number = 0;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;  // null: the run has its own
  Reduction reduction;
  Route route;
  std::uint64_t number = 0;    // how many this rank has begun before it
  std::uint16_t kind = 0;      // equal for equal calls; 0: unknown
  int rank = 0;                // this rank, as the list numbers it
  std::span<const int> peers;  // transport ranks; empty: the list's
  // Set if this rank cannot do the operation. The run only tells the ranks that wait for it, and
  // needs no buffers.
  std::shared_ptr<const Fault> refused;
  const Prelude* prelude = nullptr;  // then a refused call needs no plan
};

// The first fault of a run.
struct RunError {
  Fault fault;             // ranks are the list's
  std::uint32_t task = 0;  // of this rank's list, counted from 0
  // Returns the fault's words, for people.
  std::string text() const;
};

// Memory that is kept for the next use, and grows if more is needed.
class Memory {
 public:
  // Returns at least so many bytes. If the memory has to grow, its contents are lost.
  std::byte* reserve(std::uint64_t bytes);
  std::byte* data() const { return lines_ ? lines_[0].bytes : nullptr; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::unique_ptr<Line[]> lines_;
  std::uint64_t count_ = 0;
};

class Run {
 public:
  Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  // Cancels the run if it is not over.
  ~Run();

  // Binds a run that is new or over. Returns an error if the plan needs something that the call
  // lacks. Allocates memory only if no earlier call needed as much.
  Result<void> bind(Call call);
  // Returns true if the run is short: bind_again() may then bind it to other bytes, as another
  // operation.
  bool is_short() const { return !short_.empty(); }
  // Returns true if a run that is bound or under way has receives; false once it is over.
  bool receives() const { return plan_ != nullptr && plan_->receives() != 0; }
  // Binds a short run that is over to other buffers and another route. The plan, the layout and all
  // else stay as bind() set them.
  void bind_again(const std::byte* input, std::byte* output, Route route, std::uint64_t number);

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
  bool try_fast_path();
  // Returns the message that must be over before a run under way can progress.
  Transport::Ticket waits_for() const { return waits_for_; }
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
  int place_of(int rank) const;
  // Returns true from begin() until the run is over. It stays false for begin_elsewhere().
  bool is_under_way() const { return under_way_; }
  ContextId context() const { return call_.route.context; }
  std::uint64_t number() const { return call_.number; }
  std::uint16_t kind() const { return call_.kind; }
  // Returns this rank as the transport numbers it.
  int own_rank() const { return peer_of(call_.rank); }
  // The executor calls it now and then for a run under way. The second call returns, once, a word
  // that says what this rank has called; the next rank compares it with its own call. The other
  // calls return nothing. If the kind is unknown or no other rank takes part, no call returns a
  // word.
  std::optional<AbortedContext> word_if_stalled();
  std::span<const int> peers() const { return call_.peers; }

  // For executors that need no transport, instead of begin() and advance(). They read the call that
  // the run is bound to, and report how it ended.
  void begin_elsewhere();
  const Call& call() const { return call_; }
  const Layout& layout() const { return layout_; }
  std::byte* space(Space space) const { return spaces_[static_cast<std::size_t>(space)]; }
  // Returns at least so many bytes of the run's own. Earlier contents are lost.
  std::byte* own_staging(std::uint64_t bytes) { return staging_.reserve(bytes); }
  // Reports that so many more signals of the list have passed.
  void passed(std::uint32_t signals) { signals_.fetch_add(signals, std::memory_order_release); }
  // Ends the run. If `fault` is null, it went well. Ranks are the list's.
  void end_elsewhere(const Fault* fault);

  // Any thread may call the functions up to error().
  bool is_over() const { return over_.load(std::memory_order_acquire); }
  // Returns how many signals of the list have passed.
  std::uint32_t signals() const { return signals_.load(std::memory_order_acquire); }
  // Returns the error of a run that is over, or null if it went well.
  const RunError* error() const { return error_ ? &*error_ : nullptr; }

  Run* next_free = nullptr;  // used by its pool

 private:
  // Room for a note, or for any message as short as a note. The length tells a note from a message,
  // so a receive of a short message needs room for a note.
  static constexpr std::size_t kNote = 24;
  using Slot = std::array<std::byte, 32>;
  struct Flight {
    Transport::Ticket ticket = 0;
    std::byte* landing = nullptr;  // where a receive's bytes arrive
    std::uint64_t bytes = 0;       // of the message
    bool unpack = false;           // the bytes are moved on from there
  };

  // One action of a short run, for a step or for one message of a wait. The places of its bytes are
  // known.
  struct FastStep {
    Kind kind = Kind::signal;  // wait_received also receives it
    bool from_right = false;   // used by reduce
    Space from_space = Space::input;
    Space to_space = Space::input;
    int peer = -1;
    std::uint32_t message = 0;
    std::uint32_t step = 0;  // of the plan
    std::uint32_t nth = 0;   // of the wait's messages
    std::uint32_t bytes = 0;
    std::uint64_t from = 0;  // offset in its space
    std::uint64_t to = 0;
  };

  // Runs the actions of short_ from the first one on, and sets `at` to the one under way. Returns
  // false if step() must go on from there.
  bool try_fast_path_from(const FastStep*& at);
  // Sets the run's position to this action, so that step() goes on there.
  void stop_at(const FastStep& one);
  // Fills short_ with the plan's actions. It leaves short_ empty if a message is too long or not in
  // one piece.
  void compile_fast_path(const Plan& plan);
  // Sets the places of one step's bytes. Returns false if the step does not fit a short run.
  bool compile_fast_path(const Plan::Step& step, FastStep& one) const;
  // Receives the message of a wait. Returns false if step() must go on, for which leave() was
  // called.
  bool take(const FastStep& one);
  // Returns true if the message has been sent. Otherwise it calls leave() and returns false.
  bool is_sent(const FastStep& one);
  // Hands over to step(), behind this message if it is over. Receives of earlier steps that were
  // not waited for begin now.
  void leave(const FastStep& one, const Outcome& outcome);
  // Carries out one step. Returns false if it is a wait that is not over; it is repeated later.
  bool step(const Plan::Step& step);
  // Returns, by message, whether it has begun and no wait has covered it yet.
  std::vector<bool> under_way() const;
  // Tests the messages of an abandoned run. Returns true if all are over.
  bool drained();
  // Carries out steps until one must wait. Returns false if the list has come to its end.
  bool get_on();
  // Returns true if the error of this run makes other operations of the context fail as well.
  bool is_lasting() const;
  // Fills in `ends` from the run's error. It does nothing if this rank or no rank is at fault.
  void tell(Ends& ends) const;
  // send() and receive() begin a step's message. After a fault, a note is sent, and what is
  // received is thrown away.
  void send(const Plan::Step& step);
  void receive(const Plan::Step& step);
  // Returns false if a message of the wait is not over; waits_for() returns its ticket then.
  bool wait(const Plan::Step& step);
  // Takes the outcome of a message that is over. A fault ends the work of the run.
  void completed(std::uint32_t message, const Outcome& outcome);
  // Takes a message of `bytes` bytes to its place. A note or another length is a fault.
  void received(const Plan::Step& step, const Flight& flight, std::uint64_t bytes);
  void copy(const Plan::Step& step);
  void reduce(const Plan::Step& step);
  // Notes the first fault and makes the note that is sent from now on. Later faults have no effect.
  // `task` may be a number that no task has.
  void give_up(std::uint32_t task, Fault fault);
  // Ends the run. Its owner may use it again at once, so nothing touches it after this.
  void finish();
  // Makes the prelude's plan, layout and buffers those in use.
  void reserve_prelude(const Prelude& prelude);
  // Ends the prelude, if there is one. Returns true if there is more to run: another prelude, or
  // the call itself.
  bool end_prelude();
  // Returns an error if the call lacks something that its plan needs.
  static Result<void> fits(const Call& call);
  // Returns true if the plan and layout are known to fit, and the call has all that they need. If
  // it returns false, fits() must decide.
  bool fits_as_before(const Call& call) const;

  // Returns the transport's number of a rank of the list.
  int peer_of(int rank) const;
  // Returns the sum of the blocks' sizes, also if they do not lie one behind the other.
  std::uint64_t bytes_of(const Blocks& blocks) const;
  // Returns true if the blocks lie one behind the other.
  bool is_run(const Blocks& blocks) const;
  // Returns the address of the first block, or null if there is no block.
  std::byte* at(const Blocks& blocks) const;
  std::byte* block_at(Space space, std::uint32_t block) const;
  // pack() copies blocks into one piece of memory, and unpack() copies them back.
  void pack(const Blocks& from, std::byte* to) const;
  void unpack(const std::byte* from, const Blocks& to) const;
  // Calls act(from, to, bytes) for each pair of pieces that are contiguous on both sides.
  template <class Act>
  void for_pieces(const Blocks& from, const Blocks& to, Act act) const;
  // Takes the next bytes of the memory that reserve_staging() has reserved.
  std::byte* staging(std::uint64_t bytes);
  // Keeps the call, and reserves all memory that the run needs. Throws std::bad_alloc.
  // `knows_layout` says that layout_ is that of the call already.
  void reserve(Call&& call);
  void reserve_call(bool knows_layout);
  void reserve_staging(const Plan& plan);
  void reserve_messages(const Plan& plan);

  Call call_;
  const Plan* plan_ = nullptr;        // in use: the prelude's or call's
  const Prelude* prelude_ = nullptr;  // null once the prelude is over
  Layout layout_;                     // in use now
  Layout next_layout_;                // the call's, during its prelude
  std::uint64_t layout_number_ = 0;
  const Plan* fitted_ = nullptr;  // last plan that fitted; only compared
  std::byte* spaces_[3] = {};
  std::byte* next_spaces_[3] = {};
  Transport* transport_ = nullptr;
  bool under_way_ = false;
  unsigned looks_ = 0;
  bool abandoned_ = false;
  std::vector<std::uint32_t> left_;  // abandoned run: messages not over
  std::uint32_t position_ = 0;       // in the steps
  std::uint32_t waited_ = 0;         // of a wait's messages
  std::uint32_t slots_taken_ = 0;
  Transport::Ticket waits_for_ = 0;
  std::vector<FastStep> short_;  // empty: the run is not short
  std::vector<Flight> flights_;  // by message
  std::vector<Slot> slots_;      // one for each receive
  Memory scratch_;               // if the call gives none
  Memory prelude_scratch_;
  Memory staging_;  // for blocks not in one piece
  std::uint64_t staged_ = 0;
  std::array<std::byte, kNote + 1> note_{};
  std::optional<RunError> error_;
  std::atomic<std::uint32_t> signals_{0};
  std::atomic<bool> over_{true};
};

}  // namespace scela::collectives
