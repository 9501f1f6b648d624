// The state of a communicator: the engine that runs its operations, and the data that was prepared
// for them. Communicators and their requests use it. Two threads must not use the communicators of
// one engine at once.
//
// A Collective::Inside (call/collective.h) is a call as the program made it. Its "form" is all of
// it except the addresses of buffers. Calls of one form share a PreparedCall. A run
// (collectives/executors/run/run.h) is this rank's part of one operation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/choice/choice.h"
#include "collectives/communicator/call/arguments.h"
#include "collectives/communicator/call/call_cache.h"
#include "collectives/communicator/call/checking.h"
#include "collectives/communicator/contexts.h"
#include "collectives/communicator/message_group.h"
#include "collectives/executors/factory.h"
#include "collectives/include/scela/communicator.h"
#include "comm-channel/include/request_body.h"
#include "common/core/spare_memory.h"
#include "common/os/process/fork_guard.h"

namespace scela {
namespace collectives {

// The engine of all communicators that are made from one another: it has their executor and their
// contexts. As a RequestMover it moves their requests in waits for several requests
// (comm-channel/include/request_body.h).
struct Engine final : channel::RequestMover {
  // `numbers` has the contexts for these communicators.
  explicit Engine(ContextNumbers numbers) : contexts(std::move(numbers)) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  void progress() override { executor->progress(); }
  bool add_requests(std::vector<Request*>& all) override { return executor->add_requests(all); }
  // Blocks until one of these requests is over, and returns its index; bodies.size() if none is
  // before the timeout. Null entries and requests of other movers are passed over.
  std::size_t wait_any(std::span<channel::RequestBody* const> bodies, Timeout timeout) override;

  const ForkGuard made_here;  // knows whether this is a child (fork)
  ContextNumbers contexts;
  // Called once the engine is destroyed, with a life that none of its communicators has had. It may
  // be empty.
  std::function<void(std::uint32_t life_after)> ended;
  Table table;          // rows that choose the algorithms
  bool checks = false;  // calls are compared before they run
  SpareMemory spare;
  RunPool pool;                      // runs of requests
  RunPool short_runs;                // runs that CachedCall keeps
  std::uint32_t tags = 0;            // of a context, as the transport says
  std::uint32_t tag_span = 0;        // tags of a kind: tag_span_of(tags)
  std::unique_ptr<Executor> polled;  // used by `executor` if it runs at once
  std::unique_ptr<Executor> executor;
  // Makes `transport`, by which agreements send their messages, at the first agreement. The calling
  // thread moves these messages.
  std::function<std::unique_ptr<Transport>()> make_transport;
  std::unique_ptr<Transport> transport;
  // close_contexts() says that this rank receives nothing more in `count` contexts from `first` on,
  // so that messages there need not be kept. open_contexts() says that they are kept again from now
  // on, and open_context() says so for the context of one number. If a function is empty, messages
  // are always kept.
  std::function<void(std::uint32_t first, std::uint32_t count)> close_contexts;
  std::function<void(std::uint32_t first, std::uint32_t count)> open_contexts;

  // Moves the messages of the communicators' own calls; null over another library.
  std::shared_ptr<Channel> channel;

  void open_context(ContextNumbers::Number number) const {
    if (open_contexts) open_contexts(static_cast<std::uint32_t>(contexts.id(number)), 1);
  }
};

// Returns how many different values there are; `nodes` has the node of each rank.
int count_nodes(std::vector<int> nodes);

// A list that was made once for all calls of its shape (O22: task templates), as a plan to run.
struct ScheduleTemplate {
  const Algorithm* algorithm = nullptr;
  Shape shape;
  std::uint32_t cut = 1;  // list blocks for one block of a call
  std::shared_ptr<const Plan> plan;
};

// The data by which operations of one form are run on this rank.
struct PreparedCall {
  // If it is ok, the rest is valid. Otherwise the call is refused with this error. `made` is then
  // set if the call's list is known all the same; the rank takes part with notes (Call::refused).
  Status status;
  Refusal refusal = Refusal::none;         // kind of the error in `status`
  const ScheduleTemplate* made = nullptr;  // the plan; the communicator owns it
  std::shared_ptr<Checked> checked;        // set if calls are checked before
  std::shared_ptr<const Layout> layout;
  std::uint64_t layout_number = 0;  // unique in this process; 0: no layout
  std::uint16_t kind = 0;           // Call::kind, equal on all ranks
  std::uint32_t first_tag = 0;      // added to the tag of a run once
  Reduction reduction;
};

// Returns how many tags the operations of one kind that run once have, in a context with so many
// tags; then they come again. If there are many tags, each of 128 kinds has tags of its own, so
// that a tag also says the kind. Otherwise all kinds share them.
std::uint32_t tag_span_of(std::uint32_t tags);

// Returns the name of the operation and its algorithm, such as "allreduce by ring", for errors.
std::string words_of(const PreparedCall& prepared, const Collective::Inside& call);

// The data that a communicator keeps for calls of one form, for later ones.
struct CachedCall {
  std::shared_ptr<const PreparedCall> prepared;
  // The run by which the next short blocking call of the form is run; null before the first.
  RunPool::Kept run;
  bool is_long = false;  // run_known() cannot run the form
};

}  // namespace collectives

// The state of one communicator on this rank, which the communicator and its requests share.
struct Communicator::State {
  // Makes the state of the communicator with the number `numbered` (contexts.h), with no ranks yet,
  // and takes its context.
  State(std::shared_ptr<collectives::Engine> whose, collectives::ContextNumbers::Number numbered);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // Frees what the executor has kept for the context, which another communicator may have then.
  ~State();

  // Called once `ranks` and `nodes` are complete.
  void complete();
  // Returns the data for a call; never null. Calls of one form share it.
  std::shared_ptr<const collectives::PreparedCall> prepare(const Collective::Inside& call);
  // Runs a blocking call of a form that was seen before and is short, with the data kept for it,
  // and returns its status. Returns std::nullopt, and has done nothing, if the call must be run in
  // the usual way.
  std::optional<Status> run_known(const Collective::Inside& call);
  // Returns the arguments to which a run of this call is bound. `tag` is one of next_tag() or
  // keep_tag(). `number` is how many operations this rank has begun in the communicator before.
  collectives::Call call_of(const collectives::PreparedCall& prepared,
                            const Collective::Inside& call, std::uint32_t tag,
                            std::uint64_t number) const;
  // Returns the error of a run that is over, or ok if it went well.
  Status error_of_run(const collectives::PreparedCall& prepared, const Collective::Inside& call,
                      const collectives::Run& run) const;
  // Returns the tag of the next operation that is started once, from 0 on. All ranks count alike,
  // whatever they have waited for. Tags come again, over the channel after 2^23 operations. An
  // operation that is under way for longer than that would meet another's messages.
  std::uint32_t next_tag();
  // Returns a tag for an operation that may be started again and again. It is of the other half of
  // the tags, and is not used again. Returns std::nullopt, on all ranks alike, if all of these were
  // used.
  std::optional<std::uint32_t> keep_tag();
  // Marks the communicator as freed: this rank starts nothing more in it. Sends the next rank a
  // notice of that, without blocking.
  void leave();
  // Gives up the communicator on all ranks because this rank had no memory to begin the operation
  // with this number. `operation` is its name, for the error. Operations with lower numbers go on.
  // Returns the error for the operation's caller, which is also kept in `exhausted`. If there is no
  // memory even for that, the process ends, and the other ranks see that.
  Status has_no_memory_for(std::string_view operation, std::uint64_t number) noexcept;
  // Returns a request that is complete with the error `exhausted`. `self` owns this state, and the
  // request keeps it. It needs no memory.
  Request exhausted_request(std::shared_ptr<State> self) noexcept;
  // Sets `exhausted` to the error of a run that is over, if it failed because this rank had no
  // memory.
  void note_exhaustion(const collectives::PreparedCall& prepared, const Collective::Inside& call,
                       const collectives::Run& run);
  // Has the executor start a bound run. If `waits`, blocks until the run is over. If memory is
  // exhausted meanwhile, throws std::bad_alloc; the run is over then, and may be given back.
  void start(collectives::Run& run, bool waits);

  const std::shared_ptr<collectives::Engine> engine;
  const collectives::ContextNumbers::Number context_number;
  const collectives::ContextId context;
  int rank = 0;            // this rank in the communicator
  std::vector<int> ranks;  // by rank: its number in the transport
  std::vector<int> nodes;  // by rank: any number for each node
  int node_count = 1;
  std::shared_ptr<const collectives::MessageGroup> messages;  // set by complete()
  std::size_t templates_made = 0;
  std::uint64_t begun = 0;  // count of operations and agreements
  bool is_freed = false;
  Status exhausted;  // not ok once this rank had no memory

 private:
  // The one body behind all requests that exhausted_request() has made. It keeps the communicator
  // as long as there is such a request.
  class ExhaustedRequests final : public channel::RequestBody {
   public:
    // Returns a further such request. The argument owns this object, and the requests keep it.
    Request add(std::shared_ptr<State> whose) noexcept;
    bool test() override { return true; }
    // Returns the error `exhausted` at once, and counts the wait.
    Status wait(Timeout timeout) override;
    const Status& status() override { return communicator_->exhausted; }
    Status start() override { return communicator_->exhausted; }
    bool persistent() const override { return false; }
    std::string describe() const override { return "operation that failed for lack of memory"; }
    // A request that was waited for may be found again as long as others were not.
    bool is_over() const override { return waits_ < requests_; }
    channel::RequestMover* mover() const override { return nullptr; }
    // Counts that one of the requests is gone. The last one may destroy the communicator.
    void release() override;

   private:
    std::shared_ptr<State> communicator_;  // null: there is no such request
    std::size_t requests_ = 0;
    std::size_t waits_ = 0;
  };

  // The algorithm, and these members of Shape: segments, radix, split, root, in_place, commutes.
  using Key = std::tuple<const collectives::Algorithm*, std::uint32_t, std::uint32_t, std::uint32_t,
                         int, bool, bool>;
  // Returns the node map of all ranks, which is made when the first list needs it. A communicator
  // has only one, so it is no part of Key.
  const std::shared_ptr<const collectives::NodeMap>& node_map();

  // Sets `choice` to the algorithm that the call names, or else to the table's choice. Returns an
  // error, and leaves `choice` alone, if no algorithm can do this call.
  Status choose(const Collective::Inside& call, const collectives::Arguments& arguments,
                collectives::Choice& choice) const;
  // Sets `prepared.checked`: the exchange by which the ranks compare this call before each run. If
  // it cannot be made, sets `prepared.status`.
  void check(const Collective::Inside& call, collectives::Arguments arguments,
             collectives::PreparedCall& prepared);
  // Returns the template for this algorithm and shape, which is made at the first call. It lives as
  // long as the communicator. Returns null, and sets `status`, if the list cannot be prepared.
  const collectives::ScheduleTemplate* schedule_template_of(const collectives::Algorithm& algorithm,
                                                            const collectives::Shape& shape,
                                                            Status& status);

  // Prepares a call without looking for its form. If the call is refused, sets the result's
  // `status`.
  collectives::PreparedCall prepare_anew(const Collective::Inside& call);

  std::map<Key, collectives::ScheduleTemplate> templates_;
  std::shared_ptr<const collectives::Plan> checking_;  // of the exchanges of check()
  std::shared_ptr<const collectives::NodeMap> node_map_;
  collectives::CallCache<collectives::CachedCall> call_cache_;
  std::uint32_t next_tag_ = 0;
  std::uint32_t kept_tags_ = 0;  // count of keep_tag()
  ExhaustedRequests exhausted_requests_;
};

}  // namespace scela
