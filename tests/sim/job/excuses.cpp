#include "tests/sim/job/excuses.h"

#include "cache/dht.h"

namespace scela::sim {

// Agents above a rank that have lost a parent at some time. Two ranks can reach each other if they
// have the same.
std::vector<std::uint32_t> Excuses::islands(Rank rank) const {
  std::uint32_t node = processes_[rank].node;
  const auto host = job_.now.map.node_of(rank);
  if (node == kNobody && host) node = nodes_.agent_on(*host);  // it will be started there
  return nodes_.orphans_above(node);
}

bool Excuses::lost(Rank rank) const {
  const Process& process = processes_[rank];
  if (process.node != kNobody) return nodes_.severed(process.node);
  // It was never started: its host may have no agent, or one that is cut off.
  const auto host = job_.now.map.node_of(rank);
  if (!host) return true;
  if (job_.failed_hosts.contains(*host) || nodes_.root_killed()) return true;
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    if (nodes_[i].host == *host && !nodes_.severed(i)) return false;
  }
  return true;
}

// An agent does not wait for agents that are being started for spawned ranks if the job is over, or
// may have been told to end. An orphan may have told it, which the others hear by its new parent.
bool Excuses::needs_no_more() const {
  if (end_.due()) return true;
  bool any_rank = false;
  for (Rank rank = 0; rank < processes_.size(); ++rank) {
    if (processes_[rank].abort) return true;
    any_rank = any_rank || (processes_[rank].alive() && !lost(rank));
  }
  return job_.launched && !any_rank;
}

bool Excuses::may_fail(const RankSet& spawned) const {
  // The root may hear of a rank that ends the job later, from the agent that adopts the rank's own.
  bool found = spawned.intersects(run_.schedule.not_started) || end_.due() ||
               processes_.any_aborted() || end_.signalled();
  spawned.for_each([&](Rank rank) {
    const auto host = job_.now.map.node_of(rank);
    found = found || !host || lost(rank) || nodes_.host_had_fault(*host);
  });
  return found;
}

bool Excuses::bad(Rank rank) const {
  return processes_[rank].life == Life::over || lost(rank) || processes_[rank].abort;
}

bool Excuses::excuse(std::uint32_t index, Rank rank) const {
  const Op& op = run_.schedule.ops[index];
  if (end_.due() || nodes_.severed(processes_[rank].node)) return true;
  switch (op.kind) {
    case OpKind::collective:
      return excuse_collective(index, rank);
    case OpKind::receive:
      return bad(op.peer) || apart(op.peer, rank);
    case OpKind::spawn: {
      const RankSet spawned = run_.schedule.spawned_by(index);
      return !islands(rank).empty() || may_fail(spawned) || job_.unspawned.intersects(spawned);
    }
    case OpKind::publish:
    case OpKind::lookup:
    case OpKind::unpublish:
      return !islands(rank).empty();
    case OpKind::get:
      return excuse_get(op);
    default:
      return false;
  }
}

bool Excuses::excuse_collective(std::uint32_t index, Rank rank) const {
  bool found = cut_ops_.contains(index);
  run_.schedule.ops[index].set.for_each([&](Rank member) {
    if (found) return;
    found = apart(member, rank);
    if (found) return;
    const bool asked = reference_.has_asked(index, member);
    found = asked ? lost(member) : bad(member);
  });
  return found;
}

bool Excuses::excuse_get(const Op& op) const {
  if (job_.now.cache_policy == cache::PolicyKind::dht) {
    // Ranks that are spawned later own nothing.
    const Rank owner = cache::owner_of(key_of(op.ref), run_.schedule.map().size());
    if (lost(owner)) return true;
  }
  if (!op.wait) return false;
  for (Rank other = 0; other < processes_.size(); ++other) {
    if (bad(other) && !(processes_[other].fate.success() && !lost(other))) return true;
  }
  return false;
}

}  // namespace scela::sim
