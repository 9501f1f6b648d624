#include "tests/sim/node/leftovers.h"

#include <algorithm>

namespace scela::sim {

void Leftovers::begin(std::uint32_t node, Rank rank) {
  for (const Leftover& leftover : run_.schedule.leftovers) {
    if (leftover.rank == rank) processes_[node].push_back({leftover, true});
  }
}

bool Leftovers::hold_pipes_of(std::uint32_t node, Rank rank) const {
  const std::vector<Process>& all = processes_[node];
  return std::any_of(all.begin(), all.end(),
                     [&](const Process& one) { return one.alive && one.what.rank == rank; });
}

std::optional<Rank> Leftovers::remaining(std::uint32_t node) const {
  for (const Process& one : processes_[node]) {
    if (one.alive && one.what.kind != LeftoverKind::outside) return one.what.rank;
  }
  return std::nullopt;
}

void Leftovers::end_by_agent(std::uint32_t node, Force force) {
  const std::vector<Process>& all = processes_[node];
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (!all[i].alive || all[i].what.kind == LeftoverKind::outside) continue;
    if (force == Force::ask && all[i].what.kind == LeftoverKind::ignores) continue;
    end_soon(node, i);
  }
}

void Leftovers::end_by_guardian(std::uint32_t node, Force force) {
  const std::vector<Process>& all = processes_[node];
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].what.kind == LeftoverKind::obeys || force == Force::kill) end_soon(node, i);
  }
}

bool Leftovers::end(std::uint32_t node, std::uint32_t position) {
  Process& process = processes_[node][position];
  if (process.what.kind == LeftoverKind::outside) return false;
  process.alive = false;
  return true;
}

void Leftovers::end_all(std::uint32_t node) {
  for (Process& process : processes_[node])
    process.alive = false;
}

}  // namespace scela::sim
