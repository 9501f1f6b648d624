#include "nla/core/kvs/rank_services.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "cache/store.h"
#include "common/core/text.h"

namespace scela::nla {

namespace {

// An agent knows at most this many sets of cut-off ranks for each node. Each node's agent may have
// been adopted for its own slice, and for a few others by adopters that could only guess the slice.
// If it were larger, a hostile child could take more memory. If it were smaller, a child would be
// lost after many losses.
constexpr std::size_t kIslandsPerNode = 4;

}  // namespace

RankServices::RankServices(Context& context, Children& children, Spawns& spawns,
                           cache::PolicyMaker maker)
    : context_(context),
      children_(children),
      spawns_(spawns),
      collectives_(context, children),
      bulletin_(context, children),
      mailbox_(context, children),
      attributes_(context),
      names_(context, children),
      make_policy_(std::move(maker)) {}

void RankServices::use_job() {
  const Job& job = *context_.job;
  policy_ = make_policy_(job.cache_policy,
                         {context_.is_root(), job.cache_limit, context_.own_ranks, job.map.size()});
  collectives_.use(policy_.get(), &bulletin_);
  bulletin_.use(policy_.get());
}

// Every agent has these pairs, as if a fence had brought them. Some caches keep nothing of what
// fences bring. They treat the pairs as if they had passed on their way to their owner and had been
// asked for.
void RankServices::keep_preput(const World& world, const std::string& prefix) {
  std::string pairs;
  for (const auto& [key, value] : world.preput)
    cache::append_pair(pairs, prefix + key, value);
  if (pairs.empty()) return;
  policy_->commit(pairs);
  cache::for_each_pair(pairs, [&](std::string_view key, std::string_view value) {
    policy_->pair_passes(key, value, 0);
    policy_->answer_passes(key, value);
  });
}

bool RankServices::ask(const event::Asked& event) {
  return std::visit(
      [&](const auto& ask) {
        using Ask = std::decay_t<decltype(ask)>;
        if constexpr (std::is_same_v<Ask, ask::Put> || std::is_same_v<Ask, ask::Get>) {
          bulletin_.ask(event.rank, event.id, ask);
        } else if constexpr (std::is_same_v<Ask, ask::Collective>) {
          collectives_.ask(event.rank, event.id, ask);
        } else if constexpr (std::is_same_v<Ask, ask::Send> || std::is_same_v<Ask, ask::Receive>) {
          mailbox_.ask(event.rank, event.id, ask);
        } else if constexpr (std::is_same_v<Ask, ask::PutNode> ||
                             std::is_same_v<Ask, ask::GetNode>) {
          attributes_.ask(event.rank, event.id, ask);
        } else if constexpr (std::is_same_v<Ask, ask::Name>) {
          names_.ask(event.rank, event.id, ask);
        } else if constexpr (std::is_same_v<Ask, ask::Spawn>) {
          spawns_.ask(event.rank, event.id, ask);
        } else if constexpr (std::is_same_v<Ask, ask::Failed>) {
          answer_failed(event.rank, event.id);
        } else {
          return false;
        }
        return true;
      },
      event.request);
}

void RankServices::on(const event::PairUsed& event) {
  if (policy_) policy_->table().use(event.key);
}

// Replies with the numbers that the failed ranks have in the asker's world.
void RankServices::answer_failed(Rank rank, RequestId id) {
  const RankSet world = context_.job->ranks_of_world(context_.job->world_of(rank));
  RankSet failed;
  mailbox_.failed().intersection(world).for_each(
      [&](Rank one) { failed.add(one - world.front()); });
  context_.act(action::Reply{rank, id, Response{true, {}, true, {Chunk(failed.text())}}});
}

bool RankServices::from_parent(const msg::CollectiveDown& message) {
  if (!context_.job || !message.id.set.intersects(context_.subtree_ranks)) return false;
  return collectives_.receive_down(message);
}

bool RankServices::from_parent(const msg::Answer& message) {
  return policy_ && bulletin_.receive(kParentLink, message);
}

bool RankServices::from_parent(const msg::Get& message) {
  return policy_ && bulletin_.receive(message);
}

bool RankServices::from_parent(const msg::Pairs& message) {
  return policy_ && bulletin_.receive(message);
}

// An adopter may take ranks to be below that are not. A routed message for those goes back up.
bool RankServices::from_parent(const msg::RoutedMessage& message) {
  return (context_.adopted || context_.subtree_ranks.contains(message.destination)) &&
         mailbox_.receive(message);
}

bool RankServices::from_parent(const msg::NameAnswer& message) {
  return names_.receive(message);
}

bool RankServices::from_parent(const msg::SpawnAnswer& message) {
  return spawns_.receive(message);
}

bool RankServices::from_parent(const msg::PeersFailed& message) {
  children_.broadcast(message);
  mailbox_.peers_failed(message.ranks);
  if (!context_.own_ranks.empty()) context_.act(action::RanksFailed{message.ranks});
  bulletin_.fail_waiting(cat("rank ", message.ranks.text(), " failed"));
  attributes_.peers_failed(message.ranks);
  return true;
}

bool RankServices::from_parent(const msg::CutOff& message) {
  cut_off(message.ranks, message.now);
  return context_.phase != Phase::waiting;
}

bool RankServices::from_child(Child& child, const msg::CollectiveUp& message) {
  return collectives_.receive_up(child, message);
}

bool RankServices::from_child(Child& child, const msg::Get& message) {
  return policy_ && bulletin_.receive(child, message);
}

bool RankServices::from_child(Child& child, const msg::Answer& message) {
  return policy_ && bulletin_.receive(child.link, message);
}

bool RankServices::from_child(Child& /*child*/, const msg::Put& message) {
  if (!policy_) return false;
  bulletin_.receive(message);
  return true;
}

bool RankServices::from_child(Child& child, const msg::RoutedMessage& message) {
  return child.ranks.contains(message.source) && mailbox_.receive(message);
}

bool RankServices::from_child(Child& child, const msg::NameAsked& message) {
  return names_.receive(child, message);
}

bool RankServices::from_child(Child& child, const msg::SpawnAsked& message) {
  return context_.job && spawns_.receive(child, message);
}

bool RankServices::from_child(Child& child, const msg::WorldLaunched& message) {
  return context_.job && spawns_.receive(child, message);
}

bool RankServices::from_child(Child& child, const msg::CutOff& message) {
  if (!may_be_island(child, message.ranks)) return false;
  // These ranks take part in no operation with ranks outside, and do not hear of one by themselves.
  child.some_ended = true;
  collectives_.child_has_ended_ranks();
  if (context_.is_root()) {
    cut_off(message.ranks);
  } else {
    mailbox_.cut_off(message.ranks);
    context_.send_up(message);
  }
  return true;
}

// Returns true if `ranks` can be cut off together: all ranks of consecutive nodes, because they are
// those of one agent's slice.
bool RankServices::may_be_island(const Child& child, const RankSet& ranks) const {
  if (!context_.adopts() || ranks.empty() || !child.ranks.contains_all(ranks)) return false;
  const RankMap& map = context_.job->map;
  std::uint32_t first = UINT32_MAX, last = 0;
  ranks.for_each([&](Rank rank) {
    const std::uint32_t node = map.node_of(rank).value_or(0);
    first = std::min(first, node);
    last = std::max(last, node);
  });
  // The sender may not know the last worlds of the job yet.
  const RankSet all = map.ranks_of(first, last + 1).intersection(child.ranks);
  const RankSet fresh = all.minus(ranks);
  if (!fresh.empty()) {
    const std::size_t world = context_.job->world_of(fresh.front());
    const Rank end = context_.job->ranks_of_world(world).front();
    if (world == 0 || ranks != all.intersection(RankSet::run(0, end))) return false;
  }
  const std::vector<RankSet>& known = mailbox_.cut_off_sets();
  return known.size() < kIslandsPerNode * context_.nodes ||
         std::find(known.begin(), known.end(), ranks) != known.end();
}

void RankServices::ranks_ended(const RankSet& ranks) {
  collectives_.ranks_ended(ranks);
  bulletin_.ranks_ended(ranks);
  mailbox_.ranks_ended(ranks);
  attributes_.ranks_ended(ranks);
  names_.ranks_ended(ranks);
  spawns_.ranks_ended(ranks);
}

void RankServices::rank_failed(Rank rank) {
  children_.broadcast(msg::PeersFailed{RankSet::single(rank)});
  mailbox_.peers_failed(RankSet::single(rank));  // for those that are adopted later
  names_.askers_failed(RankSet::single(rank));
  bulletin_.fail_waiting("");  // PeersFailed tells the askers below
}

void RankServices::orphaned() {
  collectives_.cut_off();
  cut_off(context_.subtree_ranks, true);
}

void RankServices::cut_off(const RankSet& ranks, bool now) {
  if (now) names_.cut_off();
  if (now) spawns_.cut_off();
  mailbox_.cut_off(ranks);
  children_.broadcast(msg::CutOff{ranks, now});
  // Agents that serve ranks ask again. An orphan and the agents below it do so when the orphan is
  // adopted.
  if (now || ranks.empty() || context_.own_ranks.empty()) return;
  context_.act(action::Reconnected{ranks});
}

void RankServices::repeat_to_parent() {
  for (const RankSet& island : mailbox_.cut_off_sets()) {
    const bool here = context_.subtree_ranks.contains_all(island);
    if (here && island != context_.subtree_ranks) context_.send_up(msg::CutOff{island});
  }
  bulletin_.ask_again();
}

void RankServices::send_failed(const Child& child) {
  if (!mailbox_.failed().empty()) context_.send(child.link, msg::PeersFailed{mailbox_.failed()});
}

void RankServices::send_cut_off_sets(const Child& child) {
  for (const RankSet& island : mailbox_.cut_off_sets())
    context_.send(child.link, msg::CutOff{island});
}

std::uint64_t RankServices::held_bytes() const {
  return collectives_.held_bytes() + bulletin_.held_bytes() + mailbox_.held_bytes();
}

}  // namespace scela::nla
