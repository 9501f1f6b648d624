#include "tests/sim/sim_job_run.h"

#include "common/core/text.h"
#include "tests/sim/generator/payload.h"

namespace scela::sim {

void Run::plan(Planned part) {
  const bool launched = part == Planned::after_launch;
  for (std::uint32_t i = 0; i < schedule.faults.size(); ++i) {
    const Fault& fault = schedule.faults[i];
    if (fault.after_launch == launched) after(fault.at, TaskKind::fault, i);
  }
  for (std::uint32_t i = 0; i < schedule.stimuli.size(); ++i) {
    const Stimulus& stimulus = schedule.stimuli[i];
    if (stimulus.after_launch == launched) after(stimulus.at, TaskKind::user, i);
  }
  for (const Window& one : schedule.windows) {
    if (one.after_launch == launched) after(one.at, TaskKind::window);
  }
}

void Run::note(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  result.hash = mix(result.hash ^ a, b, c);
}

void Run::fail(const std::string& what) {
  if (!result.failure.empty()) return;
  result.failure = cat("at ", now, " us: ", what);
}

}  // namespace scela::sim
