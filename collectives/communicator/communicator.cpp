#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <tuple>
#include <utility>

#include "collectives/communicator/agree.h"
#include "collectives/communicator/families.h"
#include "collectives/communicator/group.h"
#include "collectives/communicator/maker.h"
#include "collectives/communicator/other_messages.h"
#include "collectives/communicator/pending_collective.h"
#include "collectives/communicator/refused_request.h"
#include "collectives/executors/factory.h"
#ifdef SCELA_WITH_ENGINE
#include "collectives/offload/factory.h"
#endif
#include "comm-channel/include/inside.h"
#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"

namespace scela {

using namespace collectives;

int collectives::count_nodes(std::vector<int> nodes) {
  std::ranges::sort(nodes);
  return static_cast<int>(std::unique(nodes.begin(), nodes.end()) - nodes.begin());
}

namespace {

// Returns the error for a child process (fork) that uses its parent's communicator.
Status of_child(const Communicator::State& state) {
  return error_of(Code::closed, state.rank,
                  "use a communicator in a child process (fork): it belongs to the parent; "
                  "communicate in the parent, or start the child with the launcher");
}

// Stands for the name of an operation that had no memory for its arguments.
constexpr std::string_view kUnmade = "an operation";

// The fewest tags of a context: half of them are for prepared operations.
constexpr std::uint32_t kMinTags = 16;

// Stands for a communicator's number if there is none.
constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};

Status too_many_live(const Communicator::State& state) {
  return error_of(Code::resources, state.rank,
                  cat("make a communicator from another one, on rank ", state.rank, " of ",
                      state.ranks.size(), ": one of its ranks has the maximum of ",
                      state.engine->contexts.count(), " communicators; free some"));
}

// The words by which ranks tell each other the call that makes communicators.
constexpr std::uint64_t kWrongCall = 0;
constexpr std::uint64_t kSplit = 1;

// Returns a hash of the ranks of a subgroup, by FNV-1a (Fowler, Noll, Vo). It is neither of the two
// words above.
std::uint64_t digest_of(std::span<const int> ranks) {
  std::uint64_t digest = 0xcbf2'9ce4'8422'2325;
  for (const int rank : ranks)
    digest = (digest ^ static_cast<std::uint32_t>(rank)) * 0x100'0000'01b3;
  return digest | 2;
}

std::string differs(std::uint64_t said, std::size_t rank, const Communicator::State& here) {
  return cat("make communicators of ranks of another, on rank ", here.rank, " of ",
             here.ranks.size(), ": rank ", rank,
             said == kWrongCall ? ": its call was refused; its own error says why"
             : said == kSplit   ? " has called split, and this rank subgroup"
                                : " has called subgroup with other ranks than this one");
}

Result<std::shared_ptr<Engine>> engine_of(const CommunicatorMaker& maker) {
  auto engine =
      std::make_shared<Engine>(ContextNumbers(maker.first_context, maker.contexts, maker.life));
  engine->ended = maker.ended;
  auto table = table_of(maker.options.table, maker.environment);
  if (!table) return fail(table.error());
  engine->table = std::move(*table);
  engine->make_transport = maker.transport;
  engine->channel = maker.channel;
  engine->close_contexts = maker.close_contexts;
  engine->open_contexts = maker.open_contexts;
  const auto said = maker.environment("SCELA_COLL_CHECK");
  engine->checks = said && !said->empty() ? *said != "0" : maker.options.check;
  auto transport = maker.transport();
  engine->tags = transport->tags();
  engine->tag_span = collectives::tag_span_of(engine->tags);
  switch (maker.options.progress) {
    case ProgressMode::at_once:
      engine->polled = make_polled(std::move(transport));
      engine->executor = make_inline(*engine->polled);
      return engine;
    case ProgressMode::polled:
      engine->executor = make_polled(std::move(transport));
      return engine;
    case ProgressMode::engine: {
      if (maker.by_engine == nullptr)
        return fail({ErrorKind::usage, "run collective operations by an adapter's engine", "",
                     "no adapter moves these messages, or this build of ScELA has no verbs",
                     "let them be polled (ProgressMode::polled)"});
      auto made = maker.by_engine(make_polled(std::move(transport)), maker.transport());
      if (!made) return fail(made.error());
      engine->executor = std::move(*made);
      return engine;
    }
    case ProgressMode::thread:
      break;
    default:
      return fail({ErrorKind::usage, "make a communicator", "",
                   cat(static_cast<int>(maker.options.progress), " is no ProgressMode"), ""});
  }
  auto thread = make_thread(std::move(transport), maker.threads, maker.transport());
  if (!thread) return fail(thread.error());
  engine->executor = std::move(*thread);
  return engine;
}

// Returns an error if a variable of the environment is misspelt or has no valid value.
Status wrong_variable(int rank) {
  std::vector<const char*> environment;
  for (char** word = environ; word != nullptr && *word != nullptr; ++word)
    environment.push_back(*word);
  const auto checked = check_variables(environment);
  return checked ? Status() : error_of(Code::bad_argument, rank, checked.error().text());
}

ThreadPlacement beside_ranks(const Channel& channel) {
  ThreadPlacement placement;
  for (const std::vector<int>& processors : channel.processors_of_node()) {
    CpuSet& cpus = placement.ranks.emplace_back();
    for (const int processor : processors)
      cpus.add(static_cast<std::uint32_t>(processor));
  }
  for (int rank = 0; rank < channel.rank(); ++rank)
    if (channel.node_of(rank) == channel.node()) ++placement.own;
  return placement;
}

}  // namespace

Communicator CommunicatorMaker::make() const {
  auto engine = engine_of(*this);
  if (!engine) return Communicator(error_of(Code::bad_argument, rank, engine.error().text()));
  auto state = std::make_shared<Communicator::State>(std::move(*engine), 0);
  state->rank = rank;
  state->nodes = nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    state->ranks.push_back(static_cast<int>(i));
  state->complete();
  return Communicator(std::move(state));
}

std::size_t CommunicatorMaker::templates_made(const Communicator& communicator) {
  return communicator.state_ ? communicator.state_->templates_made : 0;
}

std::size_t CommunicatorMaker::queue_pairs(const Communicator& communicator) {
  if (!communicator.state_) return 0;
  const Communicator::State& state = *communicator.state_;
  return state.engine->executor->contexts().queue_pairs(state.context);
}

Communicator Communicator::world(Channel& channel, const CommunicatorOptions& options) {
  if (const Status wrong = wrong_variable(channel.rank()); !wrong.ok()) return Communicator(wrong);
  if (options.progress == ProgressMode::thread && !channel::Inside::allows_threads(channel))
    return Communicator(error_of(
        Code::bad_argument, channel.rank(),
        "make a communicator with ProgressMode::thread: the channel is open for calls of one "
        "thread; open it with Threads::multiple"));
  // The communicator shares the channel's state, because the program may close its channel first.
  const std::shared_ptr<Channel> shared = channel::Inside::share(channel);
  const std::shared_ptr<Families> families = Families::of(channel);
  const Families::Family family = families->take(channel);
  if (!family.status.ok()) return Communicator(family.status);
  CommunicatorMaker maker;
  if (options.progress == ProgressMode::thread && options.bind_thread)
    maker.threads = beside_ranks(channel);
  maker.transport = [shared] { return make_channel_transport(*shared); };
  maker.channel = shared;
  maker.close_contexts = [shared](std::uint32_t first, std::uint32_t count) {
    shared->close_contexts(first, count);
    shared->close_contexts(first + kContextsOfOne, count);  // of messages
  };
  maker.open_contexts = [shared](std::uint32_t first, std::uint32_t count) {
    shared->open_contexts(first, count);
    shared->open_contexts(first + kContextsOfOne, count);
  };
  maker.ended = [shared, families, family](std::uint32_t life_after) {
    families->give_back(*shared, family, life_after);
  };
#ifdef SCELA_WITH_ENGINE
  maker.by_engine = make_engine;
#endif
  maker.rank = channel.rank();
  for (int rank = 0; rank < channel.size(); ++rank)
    maker.nodes.push_back(channel.node_of(rank));
  maker.options = options;
  maker.first_context = family.first_context;
  maker.life = family.life;
  return maker.make();
}

Communicator Communicator::over(PointToPoint& messages, const CommunicatorOptions& options) {
  const int rank = messages.rank();
  const std::span<const int> nodes = messages.nodes();
  const auto refuse = [&](const std::string& why) {
    return Communicator(
        error_of(Code::bad_argument, rank, cat("make a communicator over another library: ", why)));
  };
  if (const Status wrong = wrong_variable(rank); !wrong.ok()) return Communicator(wrong);
  if (rank < 0 || static_cast<std::size_t>(rank) >= nodes.size())
    return refuse(cat("its rank() returns ", rank, ", but nodes() has ", nodes.size(), " entries"));
  if (messages.contexts() == 0 || messages.tags() < kMinTags)
    return refuse(cat("it has ", messages.contexts(), " contexts of ", messages.tags(),
                      " tags; at least one of ", kMinTags, " is needed"));
  if (!take_messages(messages))
    return refuse("it has one already; make others from that one (dup, split)");
  CommunicatorMaker maker;
  maker.transport = [&messages] { return make_transport_over(messages); };
  maker.ended = [&messages](std::uint32_t) { give_messages_back(messages); };
  maker.rank = rank;
  maker.nodes.assign(nodes.begin(), nodes.end());
  maker.options = options;
  maker.first_context = 0;
  // An agreement's tag is the number of a context.
  maker.contexts = std::min(messages.contexts(), messages.tags());
  return maker.make();
}

Communicator::Communicator() : status_(error_of_empty()) {}
Communicator::Communicator(std::shared_ptr<State> state)
    : Messages(state->messages), state_(std::move(state)) {}
Communicator::Communicator(Status why) : status_(std::move(why)) {}
Communicator::Communicator(Communicator&& other) noexcept
    : Messages(std::move(static_cast<Messages&>(other))),
      state_(std::move(other.state_)),
      status_(std::exchange(other.status_, error_of_empty())) {}
Communicator& Communicator::operator=(Communicator&& other) noexcept {
  Messages::operator=(std::move(static_cast<Messages&>(other)));
  state_ = std::move(other.state_);
  status_ = std::exchange(other.status_, error_of_empty());
  return *this;
}
Communicator::~Communicator() = default;

const Status& Communicator::status() const {
  return status_;
}
int Communicator::rank() const {
  return state_ ? state_->rank : -1;
}
int Communicator::size() const {
  return state_ ? static_cast<int>(state_->ranks.size()) : 0;
}
int Communicator::nodes() const {
  return state_ ? state_->node_count : 0;
}
int Communicator::world_rank(int rank) const {
  if (rank < 0 || rank >= size()) return -1;
  return state_->ranks[static_cast<std::size_t>(rank)];
}
std::string Communicator::describe() const {
  if (!state_) return "empty communicator";
  std::string text = state_->engine->executor->describe();
  const EngineCounters posted = engine_counters();
  if (posted.in_parts > 0)
    text += cat("; ", posted.in_parts, " of ", posted.operations,
                " operations of this communicator were not posted whole, because its queues were "
                "full: this process had to post the rest");
  return text;
}

EngineCounters Communicator::engine_counters() const {
  if (!state_) return {};
  const collectives::PostedRuns posted =
      state_->engine->executor->contexts().posted(state_->context);
  return {posted.all, posted.connecting, posted.in_parts};
}

void Communicator::free() {
  if (state_ && !state_->engine->made_here.is_copy()) state_->leave();
  group_.reset();
  state_.reset();
  status_ = error_of_empty();
}

Status Communicator::run(const Collective& collective) {
  if (!state_) return error_of_empty();
  if (state_->engine->made_here.is_copy()) return of_child(*state_);
  if (!state_->exhausted.ok()) return state_->exhausted;
  const std::uint64_t number = state_->begun;
  const std::shared_ptr<const Collective::Inside> inside = collective.inside();
  if (!inside) return state_->has_no_memory_for(kUnmade, number);
  try {
    if (std::optional<Status> known = state_->run_known(*inside)) return *std::move(known);
    // Both outlive this call, so that neither needs another owner.
    const std::shared_ptr<const void> nobody;
    PendingCollective operation({nobody, state_.get()}, {nobody, inside.get()}, false);
    operation.begin(PendingCollective::Caller::waits);
    return operation.wait({});
  } catch (const std::bad_alloc&) {
    return state_->has_no_memory_for(name_of(inside->operation), number);
  }
}

// If the start is refused at once, the request's wait() returns the error.
Request Communicator::start(const Collective& collective) {
  Request refused;
  PendingCollective* const operation = make(collective, false, refused);
  if (operation == nullptr) return refused;
  Request request = channel::Inside::request_of(*operation);
  operation->begin(PendingCollective::Caller::goes_on);
  return request;
}

Request Communicator::prepare(const Collective& collective) {
  Request refused;
  PendingCollective* const operation = make(collective, true, refused);
  return operation == nullptr ? std::move(refused) : channel::Inside::request_of(*operation);
}

PendingCollective* Communicator::make(const Collective& collective, bool persistent,
                                      Request& refused) {
  std::string_view what = kUnmade;
  if (!state_) {
    refused = refused_request(error_of_empty());
    return nullptr;
  }
  if (state_->engine->made_here.is_copy()) {
    refused = refused_request(of_child(*state_));
    return nullptr;
  }
  std::shared_ptr<const Collective::Inside> inside = collective.inside();
  if (state_->exhausted.ok() && inside) {
    what = name_of(inside->operation);
    try {
      return new PendingCollective(state_, std::move(inside), persistent);
    } catch (const std::bad_alloc&) {
    }
  }
  if (state_->exhausted.ok()) static_cast<void>(state_->has_no_memory_for(what, state_->begun));
  refused = state_->exhausted_request(state_);
  return nullptr;
}

// ---- when ranks have ended ----

AgreeResult Communicator::agree(bool flag) {
  AgreeResult result;
  if (!state_) {
    result.status = error_of_empty();
    return result;
  }
  if (state_->engine->made_here.is_copy()) {
    result.status = of_child(*state_);
    return result;
  }
  const Decision made =
      agree_on(*state_, flag, AgreementCall::agree, state_->engine->contexts.next());
  result.status = made.status;
  if (!result.status.ok()) return result;
  result.flag = (made.word.flags & 1) != 0;
  for (int rank = 0; rank < size(); ++rank)
    if (made.word.has_ended(rank)) result.exited.push_back(rank);
  return result;
}

Communicator Communicator::shrink() {
  if (!state_) return Communicator(error_of_empty());
  if (state_->engine->made_here.is_copy()) return Communicator(of_child(*state_));
  ContextNumbers& contexts = state_->engine->contexts;
  Decision made = agree_on(*state_, true, AgreementCall::shrink, contexts.next());
  // If contexts are used again, the ranks that live ask each other whether they have left this one.
  while (made.status.ok() && !contexts.is_first(made.word.highest)) {
    const ContextNumbers::Number asked = made.word.highest;
    const auto own = contexts.free_from(asked);
    if (own) state_->engine->open_context(*own);
    made = agree_on(*state_, own == asked, AgreementCall::shrink, own.value_or(kNoNumber));
    if (!made.status.ok()) break;
    if (made.word.highest == kNoNumber) return Communicator(too_many_live(*state_));
    if ((made.word.flags & 1) != 0) break;
  }
  if (!made.status.ok()) return Communicator(made.status);
  auto state = std::make_shared<State>(state_->engine, made.word.highest);
  for (int rank = 0; rank < size(); ++rank) {
    if (made.word.has_ended(rank)) continue;
    if (rank == state_->rank) state->rank = static_cast<int>(state->ranks.size());
    state->ranks.push_back(state_->ranks[static_cast<std::size_t>(rank)]);
    state->nodes.push_back(state_->nodes[static_cast<std::size_t>(rank)]);
  }
  state->complete();
  return Communicator(std::move(state));
}

// ---- communicators of some of its ranks ----

// Finds a context that is free on all ranks. All ranks of the communicator call it with the same
// number. A communicator had the context of that number before. It sets `number` to the lowest one,
// from there on, that fits. None of the ranks has a communicator in its context any more, and all
// keep messages there again. It sets kNoNumber if there is none.
Status Communicator::agree_on_number(std::uint64_t& number) {
  Engine& engine = *state_->engine;
  for (;;) {
    const auto free = engine.contexts.free_from(number);
    if (free) engine.open_context(*free);
    const std::array<std::uint64_t, 1> own{free.value_or(kNoNumber)};
    std::vector<std::uint64_t> all(state_->ranks.size());
    if (Status failed = run(Collective::allgather(own, all)); !failed.ok()) return failed;
    const auto [lowest, highest] = std::ranges::minmax(all);
    number = highest;
    if (lowest == highest || highest == kNoNumber) return {};
  }
}

Communicator Communicator::split(int color, int key) {
  if (!state_) return Communicator(error_of_empty());
  if (color >= kUndefinedColor) return split(color, key, kSplit, "");
  return split(kUndefinedColor, 0, kWrongCall,
               cat("split by rank ", state_->rank, ": invalid color ", color,
                   " (valid: 0 and above, or kUndefinedColor)"));
}

// `alike` is the word that all ranks must give alike. It is kWrongCall if this rank's call is
// wrong, for the reason `wrong`.
Communicator Communicator::split(int color, int key, std::uint64_t alike,
                                 const std::string& wrong) {
  ContextNumbers& contexts = state_->engine->contexts;
  using Word = std::array<std::uint64_t, 3>;
  const auto bits = [](int value) { return std::uint64_t{static_cast<std::uint32_t>(value)}; };
  const std::vector<Word> own{Word{bits(color) << 32 | bits(key), contexts.next(), alike}};
  std::vector<Word> all(state_->ranks.size());
  if (const Status failed = run(Collective::allgather(own, all)); !failed.ok())
    return Communicator(failed);
  const auto color_of = [&](std::size_t rank) { return static_cast<int>(all[rank][0] >> 32); };
  const auto key_of = [&](std::size_t rank) { return static_cast<int>(all[rank][0]); };
  // The highest proposed number is one that none of these ranks has had. So no message of theirs
  // meets another communicator's.
  std::uint64_t number = 0;
  for (const Word& word : all)
    number = std::max(number, word[1]);
  if (!contexts.is_first(number)) {
    if (const Status failed = agree_on_number(number); !failed.ok()) return Communicator(failed);
    if (number == kNoNumber) return Communicator(too_many_live(*state_));
  }
  contexts.pass(number);
  if (!wrong.empty()) return Communicator(error_of(Code::bad_argument, state_->rank, wrong));
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank][2] != alike)
      return Communicator(
          error_of(Code::mismatch, static_cast<int>(rank), differs(all[rank][2], rank, *state_)));
  if (color == kUndefinedColor) return Communicator();

  std::vector<std::size_t> members;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (color_of(rank) == color) members.push_back(rank);
  std::ranges::stable_sort(members, {}, key_of);
  auto state = std::make_shared<State>(state_->engine, number);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i] == static_cast<std::size_t>(state_->rank)) state->rank = static_cast<int>(i);
    state->ranks.push_back(state_->ranks[members[i]]);
    state->nodes.push_back(state_->nodes[members[i]]);
  }
  state->complete();
  return Communicator(std::move(state));
}

Communicator Communicator::dup() {
  return split(0, 0);
}

Communicator Communicator::subgroup(std::span<const int> ranks) {
  if (!state_) return Communicator(error_of_empty());
  std::vector<bool> named(state_->ranks.size());
  std::string wrong;
  int place = kUndefinedColor;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto rank = static_cast<std::size_t>(ranks[i]);
    if (ranks[i] < 0 || rank >= named.size()) {
      wrong = cat("there is no rank ", ranks[i]);
      break;
    }
    if (named[rank]) {
      wrong = cat("rank ", ranks[i], " is named twice");
      break;
    }
    named[rank] = true;
    if (ranks[i] == state_->rank) place = static_cast<int>(i);
  }
  // This rank takes part even so: the other ranks may have named valid ranks, and are not left
  // waiting.
  if (!wrong.empty())
    return split(kUndefinedColor, 0, kWrongCall,
                 cat("subgroup of ", state_->ranks.size(), " ranks: ", wrong));
  return split(place == kUndefinedColor ? kUndefinedColor : 0, place, digest_of(ranks), "");
}

Communicator Communicator::node() {
  if (!state_) return Communicator(error_of_empty());
  return split(state_->nodes[static_cast<std::size_t>(state_->rank)], 0);
}

Communicator Communicator::leaders() {
  if (!state_) return Communicator(error_of_empty());
  const auto own = static_cast<std::size_t>(state_->rank);
  const auto first = std::ranges::find(state_->nodes, state_->nodes[own]);
  return split(static_cast<std::size_t>(first - state_->nodes.begin()) == own ? 0 : kUndefinedColor,
               0);
}

}  // namespace scela
