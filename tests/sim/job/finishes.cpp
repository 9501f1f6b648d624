#include "tests/sim/job/finishes.h"

#include "common/core/text.h"

namespace scela::sim {

void Finishes::on(std::uint32_t index, const nla::action::Finish&) {
  check(index);
  nodes_[index].state = NodeState::finished;
  // Children that were given up are closed by the process's end.
  nodes_.end_links(index, LastMessages::arrive);
  if (index == 0) {
    run_.result.ended_at = run_.now;
    return;
  }
  node_ends_.check_gone(index);
}

std::string Finishes::too_early(std::uint32_t index) {
  for (const Rank rank : processes_.of(index)) {
    if (processes_[rank].alive()) return cat(" finishes while rank ", rank, " lives");
    if (processes_[rank].ran && output_.any_open(rank))
      return cat(" finishes while a pipe of rank ", rank, " is open");
  }
  if (const auto rank = leftovers_.remaining(index))
    return cat(" finishes and leaves a process of rank ", *rank);
  for (const std::uint32_t link : nodes_[index].children) {
    const Link& child = network_.at(link);
    const bool over = child.state == Link::State::failed || child.gone_due || end_.gave_up();
    if (!over) return cat(" finishes before the child on host ", child.host);
  }
  return {};
}

void Finishes::check(std::uint32_t index) {
  timers_.check_none(index);
  const std::string early = too_early(index);
  if (!early.empty()) return run_.fail(cat(nodes_.name(index), early));
  const std::uint64_t held = nodes_[index].agent->held_bytes();
  if (run_.schedule.peaceful() && held != 0) {
    run_.fail(cat(nodes_.name(index), " still holds ", held, " bytes when it finishes"));
  }
  if (index == 0) check_root();
}

void Finishes::check_root() {
  if (!verdicts_.shown()) return run_.fail("the root finishes without JobEnded");
  if (end_.due() && run_.now - end_.since() > kEndBound) {
    return run_.fail(cat("the job took ", run_.now - end_.since(), " us to end"));
  }
  for (Rank rank = 0; rank < processes_.size(); ++rank) {
    const Process& process = processes_[rank];
    const bool waited_for =
        !nodes_.severed(process.node) || (run_.schedule.local_children && !end_.gave_up());
    if (process.alive() && waited_for) return run_.fail(cat("rank ", rank, " outlives its job"));
  }
}

}  // namespace scela::sim
