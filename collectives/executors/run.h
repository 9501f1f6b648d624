// One rank's part of an operation under way: a plan, bound to bytes and to a transport.
//
// It does what its list says, in order, and never blocks: whoever runs it (executor.h) asks it to
// get on, and waits where nothing gets on.
//
// Failure (docs/collectives.md, Failure). The first fault ends the work, not the list: from there
// on nothing is copied or reduced, what is received is thrown away, and each message that the list
// still sends is a note that says whose fault it was. So all ranks who wait for this one get on,
// learn of it, and come to their ends, without anybody's help; what had been begun is waited for.
// Where all ranks are told of the one that has ended, nothing is received any more (abandon).
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

// What the ranks of a call tell each other before it is run, where calls are checked: an allgather
// of records in place. All that it points to must be there until the run is over.
struct Prelude {
  std::shared_ptr<const Plan> plan;
  const Layout* layout = nullptr;
  std::byte* records = nullptr;  // of all ranks, its own is there
  // What is wrong, of all records: the same on all ranks. None: the call is run.
  std::function<std::optional<Fault>()> judge;
  // Where judge() finds nothing: another prelude, on all ranks or none. Null: the call is run.
  std::function<const Prelude*()> next = nullptr;
};

// What a run is bound to. Buffers and `peers` must be there until the run is over; the layout is
// copied.
struct Call {
  std::shared_ptr<const Plan> plan;
  const Layout* layout = nullptr;
  // Not 0: layouts of this number are equal, so it need not be copied again.
  std::uint64_t layout_number = 0;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;  // null: the run has its own
  Reduction reduction;
  Route route;
  std::uint64_t number = 0;    // of the operations that this rank has begun in the context
  std::uint16_t kind = 0;      // the same on all ranks that call alike; 0: it is not known
  int rank = 0;                // this one's, in the list's numbers
  std::span<const int> peers;  // by rank of the list: the transport's; empty: the same
  // This rank cannot do it: it only tells those who wait for it, and needs no buffers.
  std::shared_ptr<const Fault> refused;
  const Prelude* prelude = nullptr;  // with one, a call that is refused needs no plan
};

// The first fault of a run.
struct RunError {
  Fault fault;             // ranks are the list's
  std::uint32_t task = 0;  // of this rank's list, counted from 0
  std::string text() const;
};

// Memory that is kept for the next who needs as much.
class Memory {
 public:
  // What was in it is gone where it has to grow.
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
  // Cancels it if it is not over.
  ~Run();

  // Of a run that is over, or new. Refuses what the plan needs and the call does not have.
  // Allocates only what no call before needed.
  Result<void> bind(Call call);
  // Of a short run that was bound before: the same, of other bytes and as another operation.
  bool is_short() const { return !short_.empty(); }
  // Of one that is bound, or under way.
  bool receives() const { return plan_ != nullptr && plan_->receives() != 0; }
  void bind_again(const std::byte* input, std::byte* output, Route route, std::uint64_t number);

  // Executors: `transport` is theirs, and all that follows is done by one thread at a time.
  // It is not over from claim() on, which any thread may call before begin().
  void claim() { over_.store(false, std::memory_order_relaxed); }
  void begin(Transport& transport);
  // Of a run that has failed for a rank after which nothing more can be done in its context: that
  // one, and all, as the transport numbers them.
  struct Ends {
    int rank = -1;                    // none
    Refusal refusal = Refusal::none;  // none: it has ended
    std::vector<int> peers;
  };
  // Does all that can be done without blocking. False: it is over, and whoever waits for it may
  // have given it away already. `ends` is filled before.
  bool advance(Ends* ends = nullptr);
  // For a caller who has nothing else to do, after begin(): a short run, with less ado for each of
  // its messages. True: it is over. Else advance() goes on from where it came.
  bool hurry();
  // Of one that is under way: what must be over before it gets on.
  Transport::Ticket waits_for() const { return waits_for_; }
  // Ends it, with this fault unless it has one, whatever others do: messages are cancelled.
  void cancel(Fault why);

  // A rank of it has ended, as all others are told: this run gets on without receiving anything,
  // and is over when what it has begun is. Who is told later gets notes, but not of one that had
  // not begun: others may have called something else by then.
  void abandon(Fault why);
  // Of one that is under way: the place in its list of a rank of the transport; -1: it has none.
  int place_of(int rank) const;
  bool is_under_way() const { return under_way_; }
  ContextId context() const { return call_.route.context; }
  std::uint64_t number() const { return call_.number; }
  std::uint16_t kind() const { return call_.kind; }
  int own_rank() const { return peer_of(call_.rank); }
  // Called now and then for a run that is under way; returns a word from the second call on, once:
  // what this rank has called, for the next rank to compare with its own call. Nothing: the run is
  // new, or no other rank takes part.
  std::optional<GivenUp> word_if_stalled();
  std::span<const int> peers() const { return call_.peers; }

  // Executors that need no transport, instead of begin() and advance(): they see what it is bound
  // to, and say how it ended.
  void begin_elsewhere();
  const Call& call() const { return call_; }
  const Layout& layout() const { return layout_; }
  std::byte* space(Space space) const { return spaces_[static_cast<std::size_t>(space)]; }
  std::byte* own_staging(std::uint64_t bytes) { return staging_.reserve(bytes); }
  void passed(std::uint32_t signals) { signals_.fetch_add(signals, std::memory_order_release); }
  // No fault: it went well. Ranks are the list's.
  void end_elsewhere(const Fault* fault);

  // Any thread.
  bool is_over() const { return over_.load(std::memory_order_acquire); }
  // How many signals of the list have passed.
  std::uint32_t signals() const { return signals_.load(std::memory_order_acquire); }
  // Of one that is over; null: it went well.
  const RunError* error() const { return error_ ? &*error_ : nullptr; }

  Run* next_free = nullptr;  // its pool's

 private:
  // Room for a note, or for any message that is as short: notes are told from messages by their
  // length, so a short message needs room for a note besides.
  static constexpr std::size_t kNote = 24;
  using Slot = std::array<std::byte, 32>;
  struct Flight {
    Transport::Ticket ticket = 0;
    std::byte* landing = nullptr;  // receives: where its bytes come to
    std::uint64_t bytes = 0;       // of the message
    bool unpack = false;           // they belong elsewhere
  };

  // What a short run does for a step, or for one message of a wait, where its bytes are known.
  struct Short {
    Kind kind = Kind::signal;  // wait_received: the message is received, too; no receive
    bool from_right = false;   // reduce
    Space from_space = Space::input;
    Space to_space = Space::input;
    int peer = -1;
    std::uint32_t message = 0;
    std::uint32_t step = 0;  // of the plan
    std::uint32_t nth = 0;   // of the wait's messages
    std::uint32_t bytes = 0;
    std::uint64_t from = 0;  // in its space
    std::uint64_t to = 0;
  };

  bool hurry_from(const Short*& at);
  void stop_at(const Short& one);
  void shorten(const Plan& plan);
  bool shorten(const Plan::Step& step, Short& one) const;
  bool take(const Short& one);
  bool is_sent(const Short& one);
  void leave(const Short& one, const Outcome& outcome);
  bool step(const Plan::Step& step);
  std::vector<bool> under_way() const;
  bool drained();
  bool get_on();
  bool is_lasting() const;
  void tell(Ends& ends) const;
  void send(const Plan::Step& step);
  void receive(const Plan::Step& step);
  bool wait(const Plan::Step& step);
  void completed(std::uint32_t message, const Outcome& outcome);
  void received(const Plan::Step& step, const Flight& flight, std::uint64_t bytes);
  void copy(const Plan::Step& step);
  void reduce(const Plan::Step& step);
  void give_up(std::uint32_t task, Fault fault);
  void finish();
  void reserve_prelude(const Prelude& prelude);
  bool end_prelude();
  static Result<void> fits(const Call& call);
  bool fits_as_before(const Call& call) const;

  int peer_of(int rank) const;
  std::uint64_t bytes_of(const Blocks& blocks) const;
  bool is_run(const Blocks& blocks) const;
  std::byte* at(const Blocks& blocks) const;
  std::byte* block_at(Space space, std::uint32_t block) const;
  void pack(const Blocks& from, std::byte* to) const;
  void unpack(const std::byte* from, const Blocks& to) const;
  template <class Act>
  void for_pieces(const Blocks& from, const Blocks& to, Act act) const;
  std::byte* staging(std::uint64_t bytes);
  void reserve(Call&& call);
  void reserve_call(bool knows_layout);
  void reserve_staging(const Plan& plan);
  void reserve_messages(const Plan& plan);

  Call call_;
  const Plan* plan_ = nullptr;        // what is being run: the prelude's, then the call's
  const Prelude* prelude_ = nullptr;  // while it is what is being run
  Layout layout_;                     // of what is being run
  Layout next_layout_;                // of the call, during its prelude
  std::uint64_t layout_number_ = 0;
  const Plan* fitted_ = nullptr;  // what a call of that layout has fitted; only compared
  std::byte* spaces_[3] = {};
  std::byte* next_spaces_[3] = {};
  Transport* transport_ = nullptr;
  bool under_way_ = false;
  unsigned looks_ = 0;
  bool abandoned_ = false;
  std::vector<std::uint32_t> left_;  // of one that is: messages that are not over
  std::uint32_t position_ = 0;       // in the steps
  std::uint32_t waited_ = 0;         // of a wait's messages
  std::uint32_t slots_taken_ = 0;
  Transport::Ticket waits_for_ = 0;
  std::vector<Short> short_;     // of a run that is not short: none
  std::vector<Flight> flights_;  // by message
  std::vector<Slot> slots_;      // one for each receive
  Memory scratch_;               // its own
  Memory prelude_scratch_;
  Memory staging_;  // of messages whose blocks are no run
  std::uint64_t staged_ = 0;
  std::array<std::byte, kNote + 1> note_{};
  std::optional<RunError> error_;
  std::atomic<std::uint32_t> signals_{0};
  std::atomic<bool> over_{true};
};

}  // namespace scela::collectives
