#include "tests/sim/world/fault_counts.h"

#include <algorithm>

#include "common/core/text.h"

namespace scela::sim {

namespace {

bool is_an_end(OpKind kind) {
  return kind == OpKind::leave || kind == OpKind::die || kind == OpKind::unfinished ||
         kind == OpKind::abort || kind == OpKind::violate;
}

std::map<std::string, std::uint64_t> kinds_of(const Schedule& schedule) {
  std::map<std::string, std::uint64_t> kinds;
  for (const HostStart& start : schedule.starts)
    ++kinds[cat("start of an agent: ", name_of(start.how))];
  for (const Fault& fault : schedule.faults)
    ++kinds[cat(fault.host == kRootHost ? "launcher: " : "node: ", name_of(fault.kind))];
  for (const Op& op : schedule.ops) {
    if (is_an_end(op.kind)) ++kinds[cat("rank: ", name_of(op.kind))];
    if (op.odd) ++kinds["rank: calls another collective"];
  }
  for (const Leftover& leftover : schedule.leftovers)
    ++kinds[cat("process left by a rank: ", name_of(leftover.kind))];
  for (const Stimulus& stimulus : schedule.stimuli)
    ++kinds[stimulus.stop ? "person: ends the job" : "person: signal to the ranks"];
  if (!schedule.not_started.empty())
    kinds["rank: cannot be started"] += schedule.not_started.size();
  if (!schedule.stubborn.empty()) kinds["rank: ignores SIGTERM"] += schedule.stubborn.size();
  return kinds;
}

}  // namespace

void FaultCounts::add(const Schedule& schedule) {
  ++schedules_;
  if (!schedule.peaceful()) ++faulty_;
  for (const auto& [kind, count] : kinds_of(schedule)) {
    Count& known = kinds_[kind];
    ++known.schedules;
    known.all += count;
  }
}

std::string FaultCounts::text() const {
  std::string text = cat(faulty_, " of ", schedules_, " schedules had a fault\n");
  for (const auto& [kind, count] : kinds_)
    text += cat("| ", kind, " | ", count.schedules, " | ", count.all, " |\n");
  return text;
}

}  // namespace scela::sim
