// The state of a communicator: the engine that runs its operations, and what was prepared for them.
// Communicators and their requests use it. Two threads must not use the communicators of one engine
// at once.
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
#include "common/os/fork_guard.h"

namespace scela {
namespace collectives {

// The engine of all communicators that are made from one another. They share its executor and its
// contexts. It moves their requests.
struct Engine final : channel::RequestMover {
  explicit Engine(ContextNumbers numbers) : contexts(std::move(numbers)) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  void progress() override { executor->progress(); }
  bool add_requests(std::vector<Request*>& all) override { return executor->add_requests(all); }
  std::size_t wait_any(std::span<channel::RequestBody* const> bodies, Timeout timeout) override;

  const ForkGuard made_here;
  ContextNumbers contexts;
  // Called once the engine is destroyed, with a life that none of its communicators has had. It may
  // be empty.
  std::function<void(std::uint32_t life_after)> ended;
  Table table;
  bool checks = false;  // calls are compared before they run
  SpareMemory spare;
  RunPool pool;
  RunPool short_runs;                // small runs that forms of calls keep
  std::uint32_t tags = 0;            // of a context
  std::uint32_t tag_span = 0;        // of these, per kind: tag_span_of()
  std::unique_ptr<Executor> polled;  // used by `executor` if it runs at once
  std::unique_ptr<Executor> executor;
  // Makes the transport of agreements, at the first agreement. The calling thread moves their
  // messages.
  std::function<std::unique_ptr<Transport>()> make_transport;
  std::unique_ptr<Transport> transport;
  // close_contexts() says that this rank receives nothing more in these contexts, so that messages
  // there need not be kept. open_contexts() says that they are kept again from now on. If a
  // function is empty, messages are always kept.
  std::function<void(std::uint32_t first, std::uint32_t count)> close_contexts;
  std::function<void(std::uint32_t first, std::uint32_t count)> open_contexts;

  // Moves the messages of the communicators' own calls; null over another library.
  std::shared_ptr<Channel> channel;

  void open_context(ContextNumbers::Number number) const {
    if (open_contexts) open_contexts(static_cast<std::uint32_t>(contexts.id(number)), 1);
  }
};

// Returns how many different nodes are among these.
int count_nodes(std::vector<int> nodes);

// A list that was made once for all calls of its shape (O22: task templates).
struct ScheduleTemplate {
  const Algorithm* algorithm = nullptr;
  Shape shape;
  std::uint32_t cut = 1;  // list blocks for a block of a call
  std::shared_ptr<const Plan> plan;
};

// The data by which operations of one form are run.
struct PreparedCall {
  // If it is ok, the rest is valid. Otherwise `made` is set if the call's list is known all the
  // same.
  Status status;
  Refusal refusal = Refusal::none;
  const ScheduleTemplate* made = nullptr;
  std::shared_ptr<Checked> checked;  // set if calls are checked
  std::shared_ptr<const Layout> layout;
  std::uint64_t layout_number = 0;  // unique in this process
  std::uint16_t kind = 0;           // of the call, equal on all ranks
  std::uint32_t first_tag = 0;      // of its kind's tags, if it runs once
  Reduction reduction;
};

// Returns how many operations of one kind that run once have tags of their own, in a context with
// so many tags. Unless there are few tags, a tag also says the kind of its operation.
std::uint32_t tag_span_of(std::uint32_t tags);

// Returns text such as "allreduce by ring".
std::string words_of(const PreparedCall& prepared, const Collective::Inside& call);

// The data kept for calls of one form.
struct CachedCall {
  std::shared_ptr<const PreparedCall> prepared;
  // For short calls: the run of the next blocking call.
  RunPool::Kept run;
  bool is_long = false;  // run_known() does not run the form
};

}  // namespace collectives

struct Communicator::State {
  // Makes the communicator with this number, with no ranks yet.
  State(std::shared_ptr<collectives::Engine> whose, collectives::ContextNumbers::Number numbered);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // Frees what the executor has kept for the context, which another communicator may have then.
  ~State();

  // Called once `ranks` and `nodes` are complete.
  void complete();
  // Returns the data for a call; never null. Calls of one form share it.
  std::shared_ptr<const collectives::PreparedCall> prepare(const Collective::Inside& call);
  // Runs a short blocking call, if its form was seen before, with the data kept for that. Returns
  // std::nullopt if the call is to be run in the usual way.
  std::optional<Status> run_known(const Collective::Inside& call);
  // Returns the arguments to which a run of this call is bound.
  collectives::Call call_of(const collectives::PreparedCall& prepared,
                            const Collective::Inside& call, std::uint32_t tag,
                            std::uint64_t number) const;
  // Returns the error of a run, or none if it went well.
  Status error_of_run(const collectives::PreparedCall& prepared, const Collective::Inside& call,
                      const collectives::Run& run) const;
  // Returns the tag of the next operation that is started once. All ranks count alike, whatever
  // they have waited for. Tags wrap around (over the channel after 2^23, 24 GB of operations). An
  // operation that is under way for longer than that would meet another's messages.
  std::uint32_t next_tag();
  // Returns the tag of an operation that may be started again and again, from the other half of the
  // tags. Returns std::nullopt, on all ranks alike, if all of them were used in this communicator's
  // life.
  std::optional<std::uint32_t> keep_tag();
  // Says that this rank starts nothing more in this communicator.
  void leave();
  // Gives up the communicator on all ranks because this rank had no memory to begin the operation
  // with this number. Operations with lower numbers go on. `operation` is its name. Returns the
  // error for the operation's caller. If there is no memory even for that, the process ends, and
  // the other ranks see that.
  Status has_no_memory_for(std::string_view operation, std::uint64_t number) noexcept;
  // Returns a request that is complete with the error `exhausted`. It needs no memory.
  Request exhausted_request(std::shared_ptr<State> self) noexcept;
  // Sets `exhausted` if this rank had no memory for a run that is over.
  void note_exhaustion(const collectives::PreparedCall& prepared, const Collective::Inside& call,
                       const collectives::Run& run);
  // Has the executor start the run. If `waits`, it blocks until the run is over. If memory is
  // exhausted meanwhile, it throws std::bad_alloc; the run is over then, and may be given back.
  void start(collectives::Run& run, bool waits);

  const std::shared_ptr<collectives::Engine> engine;
  const collectives::ContextNumbers::Number context_number;
  const collectives::ContextId context;
  int rank = 0;
  std::vector<int> ranks;  // by rank: as the transport's
  std::vector<int> nodes;  // by rank
  int node_count = 1;
  std::shared_ptr<const collectives::MessageGroup> messages;  // set by complete()
  std::size_t templates_made = 0;
  std::uint64_t begun = 0;  // operations, including agreements
  bool is_freed = false;
  Status exhausted;  // not ok once this rank had no memory

 private:
  // Stands behind all requests that exhausted_request() has made. They keep the communicator.
  class ExhaustedRequests final : public channel::RequestBody {
   public:
    Request add(std::shared_ptr<State> whose) noexcept;
    bool test() override { return true; }
    Status wait(Timeout timeout) override;
    const Status& status() override { return communicator_->exhausted; }
    Status start() override { return communicator_->exhausted; }
    bool persistent() const override { return false; }
    std::string describe() const override { return "an operation that had no memory"; }
    // A request that was waited for may be found again as long as others were not.
    bool is_over() const override { return waits_ < requests_; }
    channel::RequestMover* mover() const override { return nullptr; }
    void release() override;

   private:
    std::shared_ptr<State> communicator_;  // null: there is no such request
    std::size_t requests_ = 0;
    std::size_t waits_ = 0;
  };

  // The algorithm, and these members of Shape: segments, radix, split, root, in_place, commutes.
  using Key = std::tuple<const collectives::Algorithm*, std::uint32_t, std::uint32_t, std::uint32_t,
                         int, bool, bool>;
  // Returns the node map of all ranks, made when the first list needs it. A communicator has only
  // one, so that it is no part of the key.
  const std::shared_ptr<const collectives::NodeMap>& node_map();

  // Sets `choice` to the algorithm that the call names, or to the table's choice. Returns an error,
  // and sets nothing, if none can do what the call asks.
  Status choose(const Collective::Inside& call, const collectives::Arguments& arguments,
                collectives::Choice& choice) const;
  // Sets `prepared.checked`: the record of the call, which the ranks compare before each run. If
  // that cannot be made, it sets `prepared.status`.
  void check(const Collective::Inside& call, collectives::Arguments arguments,
             collectives::PreparedCall& prepared);
  // Returns the template for this shape, and makes it at the first call. It stays valid as long as
  // the communicator. Returns null, and sets `status`, if the list cannot be prepared.
  const collectives::ScheduleTemplate* schedule_template_of(const collectives::Algorithm& algorithm,
                                                            const collectives::Shape& shape,
                                                            Status& status);

  // Prepares a call without the cache of known forms. If the call is refused, `status` is set.
  collectives::PreparedCall prepare_anew(const Collective::Inside& call);

  std::map<Key, collectives::ScheduleTemplate> templates_;
  std::shared_ptr<const collectives::Plan> checking_;
  std::shared_ptr<const collectives::NodeMap> node_map_;
  collectives::CallCache<collectives::CachedCall> call_cache_;
  std::uint32_t next_tag_ = 0;
  std::uint32_t kept_tags_ = 0;
  ExhaustedRequests exhausted_requests_;
};

}  // namespace scela
