#include "tests/sim/job/hangs.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela::sim {

void Hangs::timeout() {
  if (!nodes_.running(0)) return;
  check_stalled();
  if (!run_.ok()) return;
  if (run_.schedule.peaceful()) return run_.fail("hang: an undisturbed job waits for itself");
  run_.result.timed_out = true;
  launcher_.user({true, nla::StopCause::timeout, 15, run_.schedule.grace_ms, 0, false});
}

void Hangs::check_quiet() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_.running(i)) {
      return run_.fail(cat("hang: nothing will happen any more, and ", nodes_[i].agent->describe(),
                           " has not finished"));
    }
    if (!node_ends_.gone(i) && i != 0) return run_.fail(nodes_.name(i) + " is never gone");
  }
  for (Rank rank = 0; rank < processes_.size(); ++rank) {
    if (processes_[rank].alive()) return run_.fail(cat("rank ", rank, " lives for ever"));
  }
}

void Hangs::check_stalled() {
  const auto asked_by = end_.asked_by();
  if (asked_by && excuses_.lost(*asked_by) && !end_.stopped()) end_.withdraw();
  const nla::Agent& root = *nodes_.root().agent;
  if (end_.due()) return run_.fail("hang: the job was to end " + root.describe());
  if (!job_.launched) return run_.fail("hang: the start is not complete: " + root.describe());
  const RankSet blocked = blocked_by_program();
  bool any_rank = false;
  for (Rank rank = 0; rank < processes_.size(); ++rank) {
    if (!processes_[rank].alive()) continue;
    any_rank = true;
    if (blocked.contains(rank)) continue;
    return run_.fail(cat("hang: rank ", rank, " is stuck at ", programs_.where(rank)));
  }
  if (!any_rank) run_.fail("hang: all ranks are over: " + root.describe());
}

RankSet Hangs::blocked_by_program() const {
  RankSet blocked;
  for (bool grew = true; grew;) {
    grew = false;
    for (Rank rank = 0; rank < processes_.size(); ++rank) {
      if (processes_[rank].life != Life::running || blocked.contains(rank)) continue;
      const auto& due = programs_.due(rank);
      const bool waits = std::any_of(due.begin(), due.end(), [&](const auto& entry) {
        return programs_.waits_for(rank, entry.first) &&
               waits_for_lost_cause(rank, entry.second, blocked);
      });
      if (!waits) continue;
      blocked.add(rank);
      grew = true;
    }
  }
  return blocked;
}

bool Hangs::waits_for_lost_cause(Rank rank, std::uint32_t index, const RankSet& blocked) const {
  const Op& op = run_.schedule.ops[index];
  switch (op.kind) {
    case OpKind::get:
      return op.wait && !reference_.must_find(op, processes_.same_node(op));
    case OpKind::receive:
      return waits_for_sender(index, blocked);
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

// A receive from a rank that failed must be refused. If the rank ended well without sending, that
// is the program's own fault.
bool Hangs::waits_for_sender(std::uint32_t index, const RankSet& blocked) const {
  const std::int64_t source = reference_.source_of(index);
  if (source < 0) return true;
  const Rank from = run_.schedule.ops[index].peer;
  const Process& peer = processes_[from];
  if (reference_.has_asked(static_cast<std::uint32_t>(source), from)) return false;
  const bool ended_well = peer.life == Life::over && peer.ran && peer.fate.success();
  return ended_well || (!excuses_.lost(from) && blocked.contains(from));
}

}  // namespace scela::sim
