#include "nla/core/agent/job_updates.h"

#include <algorithm>

#include "nla/core/wire/message_pieces.h"

namespace scela::nla {

void JobUpdates::on(const event::Launch& event) {
  const bool early = context_.phase == Phase::starting && context_.is_flat();
  if (!context_.is_root() || !(early || context_.phase == Phase::ready)) return;
  if (job_end_.shutting_down()) return;
  context_.launched_early = early;
  const Chunk bytes(encode(event.job));
  use_job(event.job);
  for_each_piece(bytes, kMaxPiece, [&](const Chunk& piece, std::size_t, bool last) {
    children_.broadcast(msg::JobBytes{last, piece});
  });
}

bool JobUpdates::from_parent(const msg::JobBytes& message) {
  // A job may be ended before it began.
  if (context_.job || context_.phase != Phase::ready) return job_end_.shutting_down();
  children_.broadcast(message);
  bytes_ += message.bytes.view();
  if (!message.last) return true;
  Result<Job> job = decode_job(bytes_);
  bytes_.clear();
  bytes_.shrink_to_fit();
  if (!job) return false;
  use_job(std::move(*job));
  return true;
}

void JobUpdates::use_job(Job job) {
  use_map(job);
  context_.job = std::move(job);
  services_.use_job();
  context_.phase = Phase::running;
  if (!context_.is_root()) context_.act(action::UseJob{*context_.job});
  lose_absent();
  lose_lost();
  ranks_.start_first();
}

void JobUpdates::use_map(const Job& job) {
  context_.grace_ms = job.grace_ms;
  context_.own_ranks = context_.is_root() ? RankSet() : job.map.ranks_of(context_.node);
  context_.subtree_ranks = job.map.ranks_of(context_.slice.first, context_.slice.end);
  context_.handed_back.for_each(
      [&](std::uint32_t node) { context_.subtree_ranks.remove(job.map.ranks_of(node)); });
  verdicts_.expect(context_.subtree_ranks);
  children_.know_job(job.map);
}

void JobUpdates::lose_absent() {
  for (; absent_ < children_.failures().size(); ++absent_) {
    const msg::NodeFailed& failure = children_.failures()[absent_];
    const bool looked_after = std::any_of(
        children_.all().begin(), children_.all().end(),
        [&](const Child& child) { return child.serving() && child.covers(failure.node); });
    const RankSet ranks = context_.job->map.ranks_of(failure.node);
    if (looked_after || ranks.empty()) continue;
    const Outcome outcome{Ending::lost, 0, false, false, "its node has no agent: " + failure.why};
    verdicts_.record(ranks, outcome);
    failures_.report_all(ranks, outcome);
  }
}

void JobUpdates::lose_lost() {
  for (Child& child : children_.all()) {
    if (child.state == ChildState::lost) {
      lost_children_.lost(child, "lost before the ranks were started");
    }
    if (child.serving() && child.ranks.empty()) child.ended_ranks = true;
  }
}

void JobUpdates::cancel_late() {
  for (Child& child : children_.all()) {
    if (!child.late || child.launched) continue;
    verdicts_.record(child.ranks, {Ending::cancelled, 0, false, true, {}});
    child.ended_ranks = child.launched = true;
  }
}

void JobUpdates::send_job(const Child& child) {
  const Chunk bytes(encode(context_.job->as_it_began()));
  for_each_piece(bytes, kMaxPiece, [&](const Chunk& piece, std::size_t, bool last) {
    context_.send(child.link, msg::JobBytes{last, piece});
  });
}

void JobUpdates::bring_up_to_date(Child& child) {
  if (!child.late || job_end_.ordered()) return;
  child.late = false;
  send_job(child);
  spawns_.send_worlds(child, 0);
  services_.send_failed(child);
  lost_nodes_.send_to(child);
  services_.send_cut_off_sets(child);
}

// The event has the plan that the root's shell has made of a request.
void JobUpdates::on(const event::Planned& event) {
  if (!context_.is_root() || !context_.job) return;
  std::string why = event.why;
  if (job_end_.ordered()) why = "the job is being ended";
  if (why.empty() && !add_world(event.world, {event.rank, event.id})) why = "the plan is malformed";
  if (!why.empty()) spawns_.refuse(event.rank, event.id, why);
}

bool JobUpdates::from_parent(const msg::WorldBytes& message) {
  if (!context_.job || job_end_.shutting_down()) return job_end_.shutting_down();
  bytes_ += message.bytes.view();
  if (!message.last) return true;
  Result<World> world = decode_world(std::exchange(bytes_, {}));
  return world && add_world(std::move(*world), {});
}

bool JobUpdates::add_world(const World& world, std::pair<Rank, RequestId> asker) {
  if (!context_.job->add(world)) return false;
  const std::size_t number = context_.job->worlds.size();
  services_.keep_preput(world, Job::key_prefix(number));

  const RankSet ranks = world.ranks();
  const RankMap& map = context_.job->map;
  RankSet subtree = map.ranks_of(context_.slice.first, context_.slice.end).intersection(ranks);
  context_.handed_back.for_each([&](std::uint32_t node) { subtree.remove(map.ranks_of(node)); });
  const RankSet own =
      context_.is_root() ? RankSet() : map.ranks_of(context_.node).intersection(ranks);
  context_.subtree_ranks.add(subtree);
  context_.own_ranks.add(own);
  verdicts_.expect(subtree);
  spawns_.began(asker);
  // No agent is left to start these ranks, so their world will not be started.
  const RankSet lost = subtree.minus(own).minus(pass_on_world(number, ranks));
  if (!lost.empty()) {
    verdicts_.record(lost, {Ending::lost, 0, false, true, "its node has no agent"});
  }
  if (!subtree.empty()) reports_.expect_more();
  context_.act(action::AddWorld{world});
  ranks_.start_more(own);
  return true;
}

RankSet JobUpdates::pass_on_world(std::size_t number, const RankSet& ranks) {
  RankSet taken;
  bool some_had_ended = false;
  for (Child& child : children_.all()) {
    if (!child.serving()) continue;
    const RankSet more = children_.add_ranks(child, ranks);
    taken.add(more);
    if (child.state != ChildState::adopting && !child.late) spawns_.send_world(child, number);
    if (more.empty() || !child.ended_ranks) continue;
    child.ended_ranks = false;
    child.revived = child.some_ended = child.ranks != more;
    some_had_ended = some_had_ended || child.some_ended;
  }
  if (some_had_ended) services_.child_has_ended_ranks();
  return taken;
}

bool JobUpdates::from_parent(const msg::EndRanks& message) {
  if (!context_.job) return false;
  spawns_.unwanted.add(message.ranks);
  children_.broadcast(message);
  ranks_.end(message.ranks);
  return true;
}

// Starts agents on hosts that had none, below the root and as a tree of their own
// (docs/design/protocol.md).
void JobUpdates::on(const event::AddHosts& event) {
  if (!context_.is_root() || !context_.job || event.hosts.empty()) return;
  const Slice nodes{context_.nodes,
                    context_.nodes + static_cast<std::uint32_t>(event.hosts.size())};
  context_.hosts.insert(context_.hosts.end(), event.hosts.begin(), event.hosts.end());
  context_.slice.end = context_.nodes = nodes.end;
  growing_.push_back(nodes);
  if (!job_end_.ordered()) children_.start(nodes);
}

void JobUpdates::advance() {
  if (context_.launched_early) {
    lose_absent();
    if (job_end_.terminating()) cancel_late();
  }
  std::erase_if(growing_, [&](const Slice& nodes) {
    if (!children_.none_starting(nodes)) return false;
    context_.act(action::HostsAdded{nodes});
    return true;
  });
}

}  // namespace scela::nla
