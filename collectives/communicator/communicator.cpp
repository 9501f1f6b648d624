#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "collectives/communicator/agree.h"
#include "collectives/communicator/group.h"
#include "collectives/communicator/maker.h"
#include "collectives/communicator/request.h"
#include "collectives/executors/factory.h"
#ifdef SCELA_WITH_ENGINE
#include "collectives/offload/factory.h"
#endif
#include "comm-channel/include/scela/channel.h"
#include "common/core/text.h"

namespace scela {

using namespace collectives;

int collectives::count_nodes(std::vector<int> nodes) {
  std::ranges::sort(nodes);
  return static_cast<int>(std::unique(nodes.begin(), nodes.end()) - nodes.begin());
}

namespace {

CollectiveError of_nobody() {
  return error_of(
      CollectiveCode::misuse, -1,
      "this communicator is nobody's: it was freed or moved from, could not be made, or "
      "this rank is not of it");
}

Result<std::shared_ptr<Engine>> engine_of(const CommunicatorMaker& maker) {
  auto engine = std::make_shared<Engine>();
  engine->next_context = maker.first_context;
  auto table = table_of(maker.options.table, maker.environment);
  if (!table) return fail(table.error());
  engine->table = std::move(*table);
  engine->make_transport = maker.transport;
  engine->discard = maker.discard;
  const auto said = maker.environment("SCELA_COLL_CHECK");
  engine->checks = said && !said->empty() ? *said != "0" : maker.options.check;
  auto transport = maker.transport();
  engine->tags = transport->tags();
  switch (maker.options.run_by) {
    case RunBy::at_once:
      engine->polled = make_polled(std::move(transport));
      engine->executor = make_inline(*engine->polled);
      return engine;
    case RunBy::polled:
      engine->executor = make_polled(std::move(transport));
      return engine;
    case RunBy::engine: {
      if (maker.by_engine == nullptr)
        return fail({ErrorKind::usage, "run collective operations by an adapter's engine", "",
                     "this build of ScELA has no verbs", "let them be polled (RunBy::polled)"});
      auto made = maker.by_engine(make_polled(std::move(transport)), maker.transport());
      if (!made) return fail(made.error());
      engine->executor = std::move(*made);
      return engine;
    }
    case RunBy::thread:
      break;
  }
  auto thread = make_thread(std::move(transport), maker.threads, maker.transport());
  if (!thread) return fail(thread.error());
  engine->executor = std::move(*thread);
  return engine;
}

ThreadPlacement beside_ranks(const channel::Channel& channel) {
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
  if (!engine) return Communicator(error_of(CollectiveCode::argument, rank, engine.error().text()));
  auto state = std::make_shared<Communicator::State>();
  state->engine = std::move(*engine);
  state->context = state->engine->next_context++;
  state->rank = rank;
  state->nodes = nodes;
  state->node_count = count_nodes(nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    state->ranks.push_back(static_cast<int>(i));
  return Communicator(std::move(state));
}

std::size_t CommunicatorMaker::templates_made(const Communicator& communicator) {
  return communicator.state_ ? communicator.state_->templates_made : 0;
}

std::size_t CommunicatorMaker::queue_pairs(const Communicator& communicator) {
  if (!communicator.state_) return 0;
  const Communicator::State& state = *communicator.state_;
  return state.engine->executor->queue_pairs(state.context);
}

Communicator Communicator::over(channel::Channel& channel, const CommunicatorOptions& options) {
  CommunicatorMaker maker;
  if (options.run_by == RunBy::thread && options.bind_thread) maker.threads = beside_ranks(channel);
  maker.transport = [&channel] { return make_channel_transport(channel); };
  maker.discard = [&channel](std::uint32_t context) { channel.discard(context); };
#ifdef SCELA_WITH_ENGINE
  maker.by_engine = make_engine;
#endif
  maker.rank = channel.rank();
  for (int rank = 0; rank < channel.size(); ++rank)
    maker.nodes.push_back(channel.node_of(rank));
  maker.options = options;
  maker.first_context = channel.reserve_contexts(kContextsOfOne);
  if (maker.first_context == channel::kWorld)
    return Communicator(error_of(CollectiveCode::resources, maker.rank,
                                 "make a communicator of all ranks: too many were made before: "
                                 "take others of one (dup), or keep it"));
  return maker.make();
}

Communicator::Communicator() : error_(of_nobody()) {}
Communicator::Communicator(std::shared_ptr<State> state) : state_(std::move(state)) {}
Communicator::Communicator(CollectiveError error) : error_(std::move(error)) {}
Communicator::Communicator(Communicator&& other) noexcept
    : state_(std::move(other.state_)), error_(std::move(other.error_)) {}
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

const CollectiveError& Communicator::error() const {
  return error_;
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
std::string Communicator::describe() const {
  return state_ ? state_->engine->executor->describe() : "nobody's";
}

void Communicator::free() {
  if (state_) state_->leave();
  state_.reset();
  error_ = of_nobody();
}

CollectiveError Communicator::run(const Collective& collective) {
  if (!state_) return of_nobody();
  if (std::optional<CollectiveError> known = state_->run_known(*collective.inside()))
    return *std::move(known);
  // Both are there until this returns: neither gets another owner.
  const std::shared_ptr<const void> nobody;
  CollectiveRequest::State request({nobody, state_.get()}, {nobody, collective.inside().get()},
                                   false);
  if (const CollectiveError refused = request.start(true)) return refused;
  return request.wait({});
}

CollectiveRequest Communicator::start(const Collective& collective) {
  CollectiveRequest request = prepare_as(collective, false);
  // What is refused at once is said by the wait.
  if (request.state_) request.state_->start();
  return request;
}

CollectiveRequest Communicator::prepare(const Collective& collective) {
  return prepare_as(collective, true);
}

CollectiveRequest Communicator::prepare_as(const Collective& collective, bool persistent) {
  if (!state_) return CollectiveRequest(of_nobody());
  return CollectiveRequest(
      std::make_unique<CollectiveRequest::State>(state_, collective.inside(), persistent));
}

// ---- when ranks have ended ----

Agreed Communicator::agree(bool yes) {
  Agreed agreed;
  if (!state_) {
    agreed.error = of_nobody();
    return agreed;
  }
  const Decision made = agree_on(*state_, yes, AgreementCall::agree);
  agreed.error = made.error;
  if (agreed.error) return agreed;
  agreed.all = (made.word.flags & 1) != 0;
  for (int rank = 0; rank < size(); ++rank)
    if (made.word.has_ended(rank)) agreed.ended.push_back(rank);
  return agreed;
}

Communicator Communicator::shrink() {
  if (!state_) return Communicator(of_nobody());
  const Decision made = agree_on(*state_, true, AgreementCall::shrink);
  if (made.error) return Communicator(made.error);
  state_->engine->next_context = static_cast<std::uint32_t>(made.word.highest) + 1;
  auto state = std::make_shared<State>();
  state->engine = state_->engine;
  state->context = static_cast<std::uint32_t>(made.word.highest);
  for (int rank = 0; rank < size(); ++rank) {
    if (made.word.has_ended(rank)) continue;
    if (rank == state_->rank) state->rank = static_cast<int>(state->ranks.size());
    state->ranks.push_back(state_->ranks[static_cast<std::size_t>(rank)]);
    state->nodes.push_back(state_->nodes[static_cast<std::size_t>(rank)]);
  }
  state->node_count = count_nodes(state->nodes);
  return Communicator(std::move(state));
}

// ---- others of some of its ranks ----

Communicator Communicator::split(int color, int key) {
  if (!state_) return Communicator(of_nobody());
  // The others are not left waiting: to them it is a rank that wants none.
  CollectiveError wrong;
  if (color < kNoColor)
    wrong = error_of(CollectiveCode::argument, state_->rank,
                     cat("split by rank ", state_->rank, ": there is no color ", color,
                         ": colors are 0 and up, or kNoColor"));
  using Word = std::array<std::int64_t, 3>;
  const std::vector<Word> own{Word{std::max(color, kNoColor), key, state_->engine->next_context}};
  std::vector<Word> all(state_->ranks.size());
  if (const CollectiveError failed = run(Collective::allgather(own, all)))
    return Communicator(failed);
  // Nobody of these has it, so that no message of theirs meets another communicator's.
  std::int64_t context = 0;
  for (const Word& word : all)
    context = std::max(context, word[2]);
  state_->engine->next_context = static_cast<std::uint32_t>(context) + 1;
  if (wrong) return Communicator(std::move(wrong));
  if (color == kNoColor) return Communicator();

  std::vector<std::size_t> members;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank][0] == color) members.push_back(rank);
  std::ranges::stable_sort(members, {}, [&](std::size_t rank) { return all[rank][1]; });
  auto state = std::make_shared<State>();
  state->engine = state_->engine;
  state->context = static_cast<std::uint32_t>(context);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i] == static_cast<std::size_t>(state_->rank)) state->rank = static_cast<int>(i);
    state->ranks.push_back(state_->ranks[members[i]]);
    state->nodes.push_back(state_->nodes[members[i]]);
  }
  state->node_count = count_nodes(state->nodes);
  return Communicator(std::move(state));
}

Communicator Communicator::dup() {
  return split(0, 0);
}

Communicator Communicator::subgroup(std::span<const int> ranks) {
  if (!state_) return Communicator(of_nobody());
  std::vector<bool> named(state_->ranks.size());
  std::string wrong;
  int place = kNoColor;
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
  // All ranks name the same, so all of them refuse.
  if (!wrong.empty())
    return Communicator(error_of(CollectiveCode::argument, state_->rank,
                                 cat("subgroup of ", state_->ranks.size(), " ranks: ", wrong)));
  return split(place == kNoColor ? kNoColor : 0, place);
}

Communicator Communicator::node() {
  if (!state_) return Communicator(of_nobody());
  return split(state_->nodes[static_cast<std::size_t>(state_->rank)], 0);
}

Communicator Communicator::leaders() {
  if (!state_) return Communicator(of_nobody());
  const auto own = static_cast<std::size_t>(state_->rank);
  const auto first = std::ranges::find(state_->nodes, state_->nodes[own]);
  return split(static_cast<std::size_t>(first - state_->nodes.begin()) == own ? 0 : kNoColor, 0);
}

}  // namespace scela
