// The invariants.
#include <algorithm>

#include "cache/dht.h"
#include "common/core/text.h"
#include "tests/sim/world.h"

namespace scela::sim {

using nla::Ending;

namespace {

std::string text(const nla::Outcome& outcome) {
  constexpr std::string_view kNames[] = {"exited",  "signaled", "unfinished", "not_started",
                                         "aborted", "lost",     "cancelled",  "violated"};
  return cat(kNames[static_cast<int>(outcome.ending)], " ", outcome.code,
             outcome.core_dumped ? " core" : "", outcome.ended_by_us ? " by us" : "", " (",
             outcome.why, ")");
}

}  // namespace

// A fault hit this node or something between it and the root.
bool World::severed(std::uint32_t node) const {
  while (node != kNobody && node != 0) {
    if (nodes_[node].disturbed) return true;
    const Link& link = const_cast<World*>(this)->network_.at(nodes_[node].up);
    if (link.severed) return true;
    node = link.parent;
  }
  return root_killed_;
}

bool World::below(std::uint32_t node, std::uint32_t ancestor) const {
  while (node != kNobody && node != 0 && node != ancestor)
    node = const_cast<World*>(this)->network_.at(nodes_[node].up).parent;
  return node == ancestor;
}

// Agents above a rank that have lost a parent at some time: two ranks can reach each other if they
// have the same.
std::vector<std::uint32_t> World::islands(Rank rank) const {
  std::vector<std::uint32_t> found;
  std::uint32_t node = ranks_[rank].node;
  const auto host = job_.map.node_of(rank);
  if (node == kNobody && host) node = agent_on(*host);  // it will be started there
  while (node != kNobody && node != 0) {
    if (nodes_[node].orphaned) found.push_back(node);
    node = const_cast<World*>(this)->network_.at(nodes_[node].up).parent;
  }
  return found;
}

bool World::lost_rank(Rank rank) const {
  const RankModel& model = ranks_[rank];
  if (model.node != kNobody) return severed(model.node);
  // Never started: its host may have no agent, or one that is cut off.
  const auto host = job_.map.node_of(rank);
  if (!host) return true;
  if (failed_hosts_.contains(*host) || root_killed_) return true;
  bool reachable = false;
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    if (nodes_[i].host == *host && !severed(i)) reachable = true;
  }
  return !reachable;
}

// Agents that are being started for spawned ranks are not waited for: the job is over, or may have
// been told to end, perhaps by an orphan that reports it once it has a new parent.
bool World::needs_no_more() const {
  if (must_end_since_ != 0) return true;
  bool anybody = false;
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].abort) return true;
    anybody = anybody || (ranks_[rank].alive() && !lost_rank(rank));
  }
  return launched_ && !anybody;
}

bool World::same_node(const Op& get) const {
  const std::uint32_t node = ranks_[get.peer].node;
  return node != kNobody && node == ranks_[get.rank].node;
}

// Something happened that may keep one of these from being started.
bool World::may_fail(const RankSet& spawned) const {
  // A rank that ends the job may be heard of later, by the agent that adopts its own.
  const bool aborted = std::any_of(ranks_.begin(), ranks_.end(),
                                   [](const RankModel& other) { return other.abort.has_value(); });
  bool found = spawned.intersects(schedule_.not_started) || must_end_since_ != 0 || aborted ||
               !user_signals_.empty();
  spawned.for_each([&](Rank rank) {
    const auto host = job_.map.node_of(rank);
    found = found || !host || lost_rank(rank) || host_had_fault(*host);
  });
  return found;
}

// Returns true if a request of this rank may be answered with an error.
bool World::excused(std::uint32_t index, Rank rank) const {
  const Op& op = schedule_.ops[index];
  if (must_end_since_ != 0 || severed(ranks_[rank].node)) return true;
  const auto bad = [&](Rank other) {
    return ranks_[other].life == Life::over || lost_rank(other) || ranks_[other].abort;
  };
  switch (op.kind) {
    case OpKind::collective: {
      bool found = cut_ops_.contains(index);
      op.set.for_each([&](Rank member) {
        if (found) return;
        found = apart(member, rank);
        if (found) return;
        const bool asked = reference_.has_asked(index, member);
        found = asked ? lost_rank(member) : bad(member);
      });
      return found;
    }
    case OpKind::receive:
      return bad(op.peer) || apart(op.peer, rank);
    case OpKind::spawn:
      return !islands(rank).empty() || may_fail(schedule_.spawned_by(index)) ||
             unspawned_.intersects(schedule_.spawned_by(index));
    case OpKind::publish:
    case OpKind::lookup:
    case OpKind::unpublish:
      return !islands(rank).empty();
    case OpKind::get: {
      if (job_.cache_policy == cache::PolicyKind::dht) {
        // Ranks that are spawned later own nothing.
        const Rank owner = cache::owner_of(key_of(op.ref), schedule_.map().size());
        if (lost_rank(owner)) return true;
      }
      if (!op.wait) return false;
      for (Rank other = 0; other < ranks_.size(); ++other) {
        if (bad(other) && !(ranks_[other].fate.success() && !lost_rank(other))) return true;
      }
      return false;
    }
    default:
      return false;
  }
}

bool World::host_had_fault(std::uint32_t host) const {
  for (const HostStart& start : schedule_.starts) {
    if (start.host == host && start.how != StartFault::slow && start.how != StartFault::keyless &&
        start.how != StartFault::waits) {
      return true;
    }
  }
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.host != host) continue;
    if (severed(i)) return true;
  }
  return false;
}

// Returns the error in this verdict on that rank, or an empty text.
std::string World::judge(Rank rank, const nla::Outcome& outcome) const {
  const RankModel& model = ranks_[rank];
  const std::string who = cat("rank ", rank, " is said to be ", text(outcome), ", but ");
  if (outcome.ending == Ending::lost) {
    return lost_rank(rank) || gave_up_ ? "" : who + "nothing happened to its node or the way there";
  }
  // The report of an abort may get through where its verdict does not.
  const bool aborted = std::any_of(ranks_.begin(), ranks_.end(),
                                   [](const RankModel& other) { return other.abort.has_value(); });
  const bool ending =
      must_end_since_ != 0 || aborted || (model.node != kNobody && severed(model.node));
  if (outcome.ending == Ending::cancelled) {
    if (model.ran || (model.life == Life::over && !model.cancelled)) return who + "it was started";
    const bool unwanted = outcome.ended_by_us && (unspawned_.contains(rank) || lost_rank(rank));
    return ending || unwanted || !user_signals_.empty() ? "" : who + "the job was not being ended";
  }
  if (model.abort) {
    if (outcome == *model.abort) return {};
    return outcome.ends_job() || !severed(model.node) ? who + "it is " + text(*model.abort) : "";
  }
  if (outcome.ends_job()) return who + "it did not ask for the end of the job";
  if (outcome.ending == Ending::not_started) {
    const bool right = !model.ran && model.life == Life::over && outcome.code == 2;
    return right ? "" : who + "its start did not fail";
  }
  if (model.life != Life::over) return who + "it is not over";
  if (!model.ran) return who + "it never ran";
  const nla::Outcome& fate = model.fate;
  if (outcome.ending != fate.ending || outcome.code != fate.code ||
      outcome.core_dumped != fate.core_dumped) {
    return who + "it was " + text(fate);
  }
  const bool told = nodes_[model.node].signalled || unspawned_.contains(rank);
  if (outcome.ended_by_us && !told) return who + "nobody told it to end";
  if (!outcome.ended_by_us && model.by_us && user_signals_.empty()) return who + "we ended it";
  return {};
}

void World::check_held(std::uint32_t index) {
  if (++checks_ % 16 != 0) return;
  const std::uint64_t held = nodes_[index].agent->held_bytes();
  result_.max_held = std::max(result_.max_held, held);
  if (held > kHeldBeside + 2 * (open_payload_ + kept_payload_)) {
    fail(cat(name(index), " holds ", held, " bytes, operations in flight carry ", open_payload_));
  }
}

void World::check_finish(std::uint32_t index) {
  const Node& node = nodes_[index];
  constexpr std::string_view kNames[] = {"grace", "leftover", "drain", "give_up",
                                         "limit", "adopt",    "slow"};
  static_assert(std::size(kNames) == nla::kTimers);
  for (std::size_t i = 0; i < node.timers.size(); ++i) {
    if (node.timers[i].armed)
      fail(cat(name(index), " finishes with its timer ", kNames[i], " set"));
  }
  for (const Rank rank : node.ranks) {
    const RankModel& model = ranks_[rank];
    if (model.alive()) return fail(cat(name(index), " finishes while rank ", rank, " lives"));
    for (const Pipe& pipe : model.pipe) {
      if (model.ran && !pipe.end_given) {
        return fail(cat(name(index), " finishes while a pipe of rank ", rank, " is open"));
      }
    }
  }
  for (const LeftoverModel& leftover : node.leftovers) {
    if (leftover.alive && leftover.what.kind != LeftoverKind::outside) {
      return fail(cat(name(index), " finishes and leaves a process of rank ", leftover.what.rank));
    }
  }
  for (const std::uint32_t link : node.children) {
    const Link& child = network_.at(link);
    const bool over = child.state == Link::State::failed || child.gone_due || gave_up_;
    if (!over) return fail(cat(name(index), " finishes before the child on host ", child.host));
  }
  if (schedule_.peaceful() && node.agent->held_bytes() != 0) {
    fail(cat(name(index), " still holds ", node.agent->held_bytes(), " bytes when it finishes"));
  }
  if (index != 0) return;
  if (!job_ended_) return fail("the root finishes without JobEnded");
  if (must_end_since_ != 0 && now_ - must_end_since_ > kEndBound) {
    return fail(cat("the job took ", now_ - must_end_since_, " us to end"));
  }
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    const RankModel& model = ranks_[rank];
    const bool waited_for = !severed(model.node) || (schedule_.local_children && !gave_up_);
    if (model.alive() && waited_for) return fail(cat("rank ", rank, " outlives its job"));
  }
}

void World::check_verdicts(const nla::action::JobEnded& action) {
  RankSet all;
  std::uint64_t count = 0;
  bool failing = false;
  for (const auto& group : action.verdicts) {
    const nla::Outcome& outcome = group.first;
    const RankSet& ranks = group.second;
    all.add(ranks);
    count += ranks.size();
    if (!outcome.success() && !outcome.ended_by_us) failing = true;
    std::string complaint;
    ranks.for_each([&](Rank rank) {
      if (rank < ranks_.size() && complaint.empty()) complaint = judge(rank, outcome);
      if (first_failure_ && first_failure_->first == rank && first_failure_->second != outcome) {
        complaint = cat("FirstFailure said rank ", rank, " is ", text(first_failure_->second),
                        ", its verdict is ", text(outcome));
      }
    });
    if (!complaint.empty()) return fail(complaint);
  }
  const RankSet expected = launched_ ? RankSet::run(0, job_.map.size()) : RankSet();
  if (all != expected || count != expected.size()) {
    return fail(cat("verdicts on ranks ", all.text(), " (", count, " in all), the job has ",
                    job_.map.size()));
  }
  if (failing && !first_failure_ && !stopped_) fail("ranks failed and there is no FirstFailure");
}

// The schedule has no fault, so the job must have gone as planned.
void World::check_peaceful(const nla::action::JobEnded& action) {
  std::uint64_t written = 0;
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    for (const Pipe& pipe : ranks_[rank].pipe)
      written += pipe.written;
  }
  const nla::Stats& stats = action.stats;
  if (action.verdicts.size() != 1 || !action.verdicts.front().first.success()) {
    return fail("an undisturbed job did not succeed");
  }
  if (first_failure_) return fail("an undisturbed job has a first failure");
  if (job_.map.size() != ranks_.size()) return fail("an undisturbed spawn was refused");
  if (stats.agents != hosts_now_) return fail(cat("Stats count ", stats.agents, " agents"));
  if (stats.output_bytes != written) {
    return fail(cat("Stats count ", stats.output_bytes, " bytes of output of ", written));
  }
  if (stats.messages != network_.messages()) {
    return fail(cat("Stats count ", stats.messages, " messages of ", network_.messages()));
  }
  if (!schedule_.trace) return;
  const auto complete = std::count_if(traces_.begin(), traces_.end(),
                                      [](const auto& entry) { return entry.second < 0; });
  if (complete < hosts_now_) fail(cat(complete, " traces arrived whole"));
}

void World::check_output_complete() {
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    const RankModel& model = ranks_[rank];
    if (model.node == kNobody || !model.ran || severed(model.node) || gave_up_) continue;
    for (int stream = 0; stream < 2; ++stream) {
      const Pipe& pipe = model.pipe[stream];
      if (pipe.shown == pipe.written && pipe.end_shown) continue;
      return fail(cat("rank ", rank, ", stream ", stream, ": wrote ", pipe.written, ", shown ",
                      pipe.shown, pipe.end_shown ? "" : " without its end"));
    }
  }
}

// An agent ends only when it is told to, which comes after every size that was told before.
void World::check_window() {
  schedule_.terminal_ranks.for_each([&](Rank rank) {
    const std::uint32_t node = ranks_[rank].node;
    if (node == kNobody || severed(node) || gave_up_ || window_shown_ >= window_due_) return;
    fail(cat("the terminal of rank ", rank, " has size ", window_shown_, ", not ", window_due_));
  });
}

// Checks the state in which no event is left.
void World::check_quiet() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].state == State::running) {
      return fail(cat("hang: nothing will happen any more, and ", nodes_[i].agent->describe(),
                      " has not finished"));
    }
    if (!nodes_[i].gone && i != 0) return fail(name(i) + " is never gone");
  }
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].alive()) return fail(cat("rank ", rank, " lives for ever"));
  }
  if (root_killed_) return;
  check_output_complete();
  check_window();
}

// Ranks that wait for something that will never be done, by no fault of the agents: each waits for
// a rank that has ended, or for one that waits so itself.
RankSet World::legitimately_blocked() const {
  RankSet blocked;
  for (bool grew = true; grew;) {
    grew = false;
    for (Rank rank = 0; rank < ranks_.size(); ++rank) {
      const RankModel& model = ranks_[rank];
      if (model.life != Life::running || blocked.contains(rank)) continue;
      const bool waits = std::any_of(model.due.begin(), model.due.end(), [&](const auto& entry) {
        const bool relevant = model.joining || model.blocked_on == entry.first;
        return relevant && waits_for_lost_cause(rank, entry.second, blocked);
      });
      if (!waits) continue;
      blocked.add(rank);
      grew = true;
    }
  }
  return blocked;
}

bool World::waits_for_lost_cause(Rank rank, std::uint32_t index, const RankSet& blocked) const {
  const Op& op = schedule_.ops[index];
  switch (op.kind) {
    case OpKind::get:
      return op.wait && !reference_.must_find(op, same_node(op));
    case OpKind::receive: {
      const std::int64_t source = reference_.source_of(index);
      if (source < 0) return true;
      // From a rank that failed it must be refused; that one ended well without sending is the
      // program's own fault.
      const RankModel& peer = ranks_[op.peer];
      const bool sent = reference_.has_asked(static_cast<std::uint32_t>(source), op.peer);
      const bool ended_well = peer.life == Life::over && peer.ran && peer.fate.success();
      return !sent && (ended_well || (!lost_rank(op.peer) && blocked.contains(op.peer)));
    }
    case OpKind::collective: {
      // A member that has ended does not count: the operation must fail then, not wait.
      bool found = false;
      reference_.absent(index).for_each(
          [&](Rank other) { found = found || (other != rank && blocked.contains(other)); });
      return found;
    }
    default:
      return false;
  }
}

void World::check_stalled() {
  // The rank that asked for the end of the job was lost, perhaps before an agent received it.
  if (ends_for_ && lost_rank(*ends_for_) && !stopped_) must_end_since_ = 0;
  if (must_end_since_ != 0) return fail("hang: the job was to end " + root().agent->describe());
  if (!launched_) return fail("hang: the start is not complete: " + root().agent->describe());
  const RankSet blocked = legitimately_blocked();
  bool anybody = false;
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    const RankModel& model = ranks_[rank];
    if (!model.alive()) continue;
    anybody = true;
    if (blocked.contains(rank)) continue;
    const auto& program = reference_.program(rank);
    const std::string where = model.step < program.size()
                                  ? cat("op ", schedule_.ops[program[model.step]].id)
                                  : std::string("its end");
    return fail(cat("hang: rank ", rank, " is stuck at ", where));
  }
  if (!anybody) fail("hang: all ranks are over: " + root().agent->describe());
}

}  // namespace scela::sim
