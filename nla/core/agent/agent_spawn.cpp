// The job grows while it runs, if its ranks ask for more ranks.
#include <algorithm>

#include "common/core/text.h"
#include "nla/core/agent/agent_state.h"
#include "nla/core/wire/pieces.h"

namespace scela::nla {

// Runs at the root. The event has the plan that the root's shell has made of a request.
void Agent::State::on(const event::Planned& event) {
  if (!context.is_root() || !context.job) return;
  std::string why = event.why;
  if (terminating || shutdown) why = "the job is being ended";
  if (why.empty() && !add_world(event.world, {event.rank, event.id})) why = "the plan is malformed";
  if (!why.empty()) spawns.refuse(event.rank, event.id, why);
}

// Runs at the root. Starts agents on hosts that had none, below the root and as a tree of their own
// (docs/design/protocol.md).
void Agent::State::on(const event::AddHosts& event) {
  if (!context.is_root() || !context.job || event.hosts.empty()) return;
  const Slice nodes{context.nodes, context.nodes + static_cast<std::uint32_t>(event.hosts.size())};
  context.hosts.insert(context.hosts.end(), event.hosts.begin(), event.hosts.end());
  context.slice.end = context.nodes = nodes.end;
  growing.push_back(nodes);
  if (!terminating && !shutdown) children.start(nodes);
}

void Agent::State::advance_growth() {
  std::erase_if(growing, [&](const Slice& nodes) {
    if (!children.settled(nodes)) return false;
    context.act(action::HostsAdded{nodes});
    return true;
  });
}

void Agent::State::tell_job(const Child& child) {
  const Chunk bytes(encode(context.job->as_it_began()));
  for_each_piece(bytes, kMaxPiece, [&](const Chunk& piece, std::size_t, bool last) {
    context.send(child.link, msg::JobBytes{last, piece});
  });
}

// Tells a late child what the other children have heard since the ranks run. The late child hears
// of the job's end when they do.
void Agent::State::bring_up_to_date(Child& child) {
  if (!child.late || terminating || shutdown) return;
  child.late = false;
  tell_job(child);
  spawns.send_worlds(child, 0);
  if (!mailbox.failed().empty()) context.send(child.link, msg::PeersFailed{mailbox.failed()});
  if (!context.lost_nodes.empty()) context.send(child.link, msg::NodesLost{context.lost_nodes});
  for (const RankSet& island : mailbox.islands())
    context.send(child.link, msg::CutOff{island});
}

bool Agent::State::down(const msg::WorldBytes& message) {
  if (!context.job || shutdown) return shutdown;
  job_bytes += message.bytes.view();
  if (!message.last) return true;
  Result<World> world = decode_world(std::exchange(job_bytes, {}));
  return world && add_world(std::move(*world), {});
}

bool Agent::State::add_world(const World& world, std::pair<Rank, RequestId> asker) {
  if (!context.job->add(world)) return false;
  const std::size_t number = context.job->worlds.size();
  keep_preput(world, Job::key_prefix(number));

  const RankSet ranks = world.ranks();
  const RankMap& map = context.job->map;
  RankSet subtree = map.ranks_of(context.slice.first, context.slice.end).intersection(ranks);
  context.handed_back.for_each([&](std::uint32_t node) { subtree.remove(map.ranks_of(node)); });
  const RankSet own =
      context.is_root() ? RankSet() : map.ranks_of(context.node).intersection(ranks);
  context.subtree_ranks.add(subtree);
  context.own_ranks.add(own);
  verdicts.expect(subtree);
  spawns.began(asker);
  RankSet lost = subtree.minus(own);
  bool some_had_ended = false;
  for (Child& child : children.all()) {
    if (!child.serving()) continue;
    const RankSet more = children.add_ranks(child, ranks);
    lost.remove(more);
    if (child.state != ChildState::adopting && !child.late) spawns.send_world(child, number);
    if (more.empty() || !child.ended_ranks) continue;
    child.ended_ranks = false;
    child.revived = child.some_ended = child.ranks != more;
    some_had_ended = some_had_ended || child.some_ended;
  }
  if (some_had_ended) collectives.child_has_ended_ranks();
  // No agent is left to start these ranks, so their world will not be started.
  if (!lost.empty()) {
    verdicts.record(lost, {Ending::lost, 0, false, true, "its node has no agent"});
  }
  if (!subtree.empty()) verdicts_sent = false;
  context.act(action::AddWorld{world});
  start_more(own);
  return true;
}

// Every agent has these pairs, as if a fence had brought them. Some caches keep nothing of what
// fences bring. They treat the pairs as if they had passed on their way to their owner and had been
// asked for.
void Agent::State::keep_preput(const World& world, const std::string& prefix) {
  std::string pairs;
  for (const auto& [key, value] : world.preput)
    cache::append_pair(pairs, prefix + key, value);
  if (pairs.empty()) return;
  policy->commit(pairs);
  cache::for_each_pair(pairs, [&](std::string_view key, std::string_view value) {
    policy->pair_passes(key, value, 0);
    policy->answer_passes(key, value);
  });
}

void Agent::State::start_more(const RankSet& own) {
  RankSet wanted = own;
  if (terminating || guardian_lost || timed_out) wanted = RankSet();
  wanted.remove(spawns.unwanted);
  if (const RankSet others = own.minus(wanted); !others.empty()) {
    ranks_over(others, {Ending::cancelled, 0, false, true, {}});
  }
  if (wanted.empty()) return;
  const bool first = context.own_ranks == own;
  streams_open[0].add(wanted);
  streams_open[1].add(wanted);
  if (first) output.start_reading();
  context.act(action::StartRanks{wanted});
  // The shell was not told of these failures and losses while this node had no ranks.
  if (first && !mailbox.failed().empty()) context.act(action::RanksFailed{mailbox.failed()});
  if (first && !context.lost_nodes.empty()) context.act(action::NodesLost{context.lost_nodes});
  if (first && context.job->host_timeout_ms > 0) {
    context.act(action::SetTimer{Timer::limit, context.job->host_timeout_ms});
  }
}

bool Agent::State::down(const msg::EndRanks& message) {
  if (!context.job) return false;
  spawns.unwanted.add(message.ranks);
  children.broadcast(message);
  const RankSet here = verdicts.open(message.ranks.intersection(context.own_ranks));
  if (!here.empty()) context.act(action::EndRanks{here});
  return true;
}

// If a rank of an added world cannot be started, the asker is told, and the job goes on.
Outcome Agent::State::softened(Rank rank, Outcome outcome) {
  // If the guardian is lost, that counts for these ranks too.
  if (spawns.unwanted.contains(rank) && !guardian_lost) outcome.ended_by_us = true;
  const bool never = outcome.ending == Ending::not_started || outcome.ending == Ending::refused;
  if (!never || context.job->world_of(rank) == 0) return outcome;
  spawns.not_started(rank, outcome.code, outcome.why);
  outcome.ending = Ending::not_started;
  // The asker is told the reason. The outcome is kept for as long as the job runs.
  outcome.why.clear();
  outcome.ended_by_us = true;
  return outcome;
}

// Replies with the numbers that the failed ranks have in the asker's world.
void Agent::State::tell_failed(Rank rank, RequestId id) {
  const RankSet world = context.job->ranks_of_world(context.job->world_of(rank));
  RankSet failed;
  mailbox.failed().intersection(world).for_each([&](Rank one) { failed.add(one - world.front()); });
  context.act(action::Reply{rank, id, Response{true, {}, true, {Chunk(failed.text())}}});
}

}  // namespace scela::nla
