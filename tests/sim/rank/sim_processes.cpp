#include "tests/sim/rank/sim_processes.h"

#include <algorithm>

namespace scela::sim {

namespace {

bool is_deadly(std::int32_t signo) {
  return signo != 10 && signo != 12;
}

}  // namespace

void Processes::start(std::uint32_t node, Rank rank) {
  processes_[rank].life = Life::starting;
  processes_[rank].node = node;
  of_node_[node].push_back(rank);
}

void Processes::wake(Rank rank) {
  Process& process = processes_[rank];
  if (process.life != Life::running || process.stepping) return;
  process.stepping = true;
  run_.after(run_.random.below(run_.schedule.pace.think_max + 1), TaskKind::rank_step, rank);
}

void Processes::end(Rank rank, nla::Outcome fate) {
  Process& process = processes_[rank];
  if (process.life != Life::running) return;
  process.life = Life::dying;
  process.fate = std::move(fate);
  run_.after(run_.random.below(500), TaskKind::rank_exit, rank);
}

void Processes::signal(Rank rank, std::int32_t signo) {
  Process& process = processes_[rank];
  if (process.life == Life::starting) {
    if (signo == 9 || signo == 15) {
      process.cancelled = true;  // its turn had not come
    } else if (is_deadly(signo)) {
      process.signal_at_start = signo;
    }
    return;
  }
  if (process.life != Life::running || !is_deadly(signo)) return;
  if (signo != 9 && run_.schedule.stubborn.contains(rank)) return;
  process.by_us = true;
  end(rank, {nla::Ending::signaled, signo, false, false, {}});
}

void Processes::signal_all(std::uint32_t node, std::int32_t signo) {
  for (const Rank rank : of_node_[node])
    signal(rank, signo);
}

bool Processes::any_alive(std::uint32_t node) const {
  const std::vector<Rank>& all = of_node_[node];
  return std::any_of(all.begin(), all.end(), [&](Rank rank) { return processes_[rank].alive(); });
}

bool Processes::any_aborted() const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const Process& one) { return one.abort.has_value(); });
}

bool Processes::same_node(const Op& get) const {
  const std::uint32_t node = processes_[get.peer].node;
  return node != kNobody && node == processes_[get.rank].node;
}

}  // namespace scela::sim
