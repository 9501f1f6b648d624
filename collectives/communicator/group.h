// What a communicator is made of: who runs its operations, and what it has made ready for them.
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
#include "collectives/communicator/arguments.h"
#include "collectives/communicator/checking.h"
#include "collectives/communicator/contexts.h"
#include "collectives/communicator/memo.h"
#include "collectives/executors/factory.h"
#include "collectives/include/scela/communicator.h"
#include "common/core/spare_memory.h"
#include "common/os/fork_guard.h"

namespace scela {
namespace collectives {

// One for all communicators that come of the same transport.
struct Engine {
  explicit Engine(ContextNumbers numbers) : contexts(std::move(numbers)) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  const ForkGuard made_here;
  ContextNumbers contexts;
  // Told when all of it is over, with a life that none of its communicators has had; may be none.
  std::function<void(std::uint32_t life_after)> ended;
  Table table;
  bool checks = false;  // calls are compared before they are run
  SpareMemory spare;
  RunPool pool;
  RunPool short_runs;                // whose memory is small, and kept by forms of calls
  std::uint32_t tags = 0;            // of a context
  std::uint32_t tag_span = 0;        // of these, for one kind: see tag_span_of()
  std::unique_ptr<Executor> polled;  // what `executor` moves besides, where it runs at once
  std::unique_ptr<Executor> executor;
  // What agreements speak by, made when there is one: who calls moves their messages.
  std::function<std::unique_ptr<Transport>()> make_transport;
  std::unique_ptr<Transport> transport;
  // Of contexts in which this rank receives nothing more: what comes there need not be kept. None:
  // it is kept. accept(): it is kept again from now on.
  std::function<void(std::uint32_t first, std::uint32_t count)> discard;
  std::function<void(std::uint32_t first, std::uint32_t count)> accept;

  void accept_context(ContextNumbers::Number number) const {
    if (accept) accept(static_cast<std::uint32_t>(contexts.id(number)), 1);
  }
};

int count_nodes(std::vector<int> nodes);

// A list that was made once for all calls of its shape (O22: task templates).
struct Template {
  const Algorithm* algorithm = nullptr;
  Shape shape;
  std::uint32_t cut = 1;  // each block of a call is so many of the list's
  std::shared_ptr<const Plan> plan;
};

// What an operation in this form is run by.
struct Prepared {
  // None: the rest holds. Else: `made` is there if the call's list is known all the same.
  CollectiveError error;
  Refusal refusal = Refusal::none;
  const Template* made = nullptr;
  std::shared_ptr<Checked> checked;  // where calls are
  std::shared_ptr<const Layout> layout;
  std::uint64_t layout_number = 0;  // no other of this process has it
  std::uint16_t kind = 0;           // of the call, as all ranks have it
  std::uint32_t first_tag = 0;      // of the tags of its kind, if it runs once
  Reduction reduction;
};

// How many operations of one kind that run once have tags of their own, if a context has so many
// tags. Unless there are few, such a tag says of which kind its operation is.
std::uint32_t tag_span_of(std::uint32_t tags);

// "allreduce by ring"
std::string words_of(const Prepared& prepared, const Collective::Inside& call);

// Of calls of one form that were made before.
struct Known {
  std::shared_ptr<const Prepared> prepared;
  // Of short ones: what the next blocking call is run by.
  RunPool::Kept run;
  bool is_long = false;
};

}  // namespace collectives

struct Communicator::State {
  // The communicator with this number, of no ranks yet.
  State(std::shared_ptr<collectives::Engine> whose, collectives::ContextNumbers::Number numbered);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // What the executor has kept for its context goes, and the context may be another's.
  ~State();

  // Never none. Calls of one form share it.
  std::shared_ptr<const collectives::Prepared> prepare(const Collective::Inside& call);
  // A blocking call: of a short one whose form was seen before all that does not change is there,
  // and it is run. Nothing: it is to be run as any other.
  std::optional<CollectiveError> run_known(const Collective::Inside& call);
  // What a run of this is bound to.
  collectives::Call call_of(const collectives::Prepared& prepared, const Collective::Inside& call,
                            std::uint32_t tag, std::uint64_t number) const;
  // None: the run went well.
  CollectiveError error_of_run(const collectives::Prepared& prepared,
                               const Collective::Inside& call, const collectives::Run& run) const;
  // The tag of the next operation that is started once. Ranks count alike, whatever they have
  // waited for. The tags come round (after 2^23 by the channel, 24 GB of operations): one that is
  // under way for longer than that would meet another's messages.
  std::uint32_t next_tag();
  // The tag of an operation that may be started again and again: from the other half. Nothing, on
  // all ranks alike: as many were prepared in this communicator's life.
  std::optional<std::uint32_t> keep_tag();
  // Nothing more is started by this rank.
  void leave();
  // This rank had no memory to begin that operation, which is the one with this number (`begun`
  // before it): the communicator is given up on all ranks, but for those before. Returns what the
  // operation's caller is told.
  // `operation`: its name. Without memory even for that the process ends, as the others see.
  CollectiveError has_no_memory_for(std::string_view operation, std::uint64_t number) noexcept;
  // Of a run that is over: whether this rank had no memory for it (exhausted).
  void note_exhaustion(const collectives::Prepared& prepared, const Collective::Inside& call,
                       const collectives::Run& run);
  // Has the executor start the run, which is over on return if the caller waits. If memory is
  // exhausted meanwhile, throws std::bad_alloc; the run is over then, and may be given back.
  void start(collectives::Run& run, bool waits);

  const std::shared_ptr<collectives::Engine> engine;
  const collectives::ContextNumbers::Number context_number;
  const collectives::ContextId context;
  int rank = 0;
  std::vector<int> ranks;  // the transport's, by rank
  std::vector<int> nodes;  // by rank
  int node_count = 1;
  std::size_t templates_made = 0;
  std::uint64_t begun = 0;  // operations, agreements included
  bool is_freed = false;
  CollectiveError exhausted;  // once this rank had no memory for an operation: its error

 private:
  using Key = std::tuple<const collectives::Algorithm*, std::uint32_t, std::uint32_t, std::uint32_t,
                         int, bool, bool>;
  // Of all ranks; made when the first list needs it. A communicator has one, so that it is no part
  // of the key.
  const std::shared_ptr<const collectives::NodeMap>& node_map();

  CollectiveError choose(const Collective::Inside& call, const collectives::Arguments& arguments,
                         collectives::Choice& choice) const;
  void check(const Collective::Inside& call, collectives::Arguments arguments,
             collectives::Prepared& prepared);
  const collectives::Template* template_of(const collectives::Algorithm& algorithm,
                                           const collectives::Shape& shape, CollectiveError& error);

  collectives::Prepared prepare_anew(const Collective::Inside& call);

  std::map<Key, collectives::Template> templates_;
  std::shared_ptr<const collectives::Plan> checking_;
  std::shared_ptr<const collectives::NodeMap> node_map_;
  collectives::Memo<collectives::Known> memo_;
  std::uint32_t next_tag_ = 0;
  std::uint32_t kept_tags_ = 0;
};

}  // namespace scela
