// Makes a failing schedule smaller while it still fails.
#pragma once

#include <functional>

#include "tests/sim/sim_schedule.h"

namespace scela::sim {

// Drops faults, steps of ranks, then hosts and ranks, then slows nothing down any more. `fails`
// says whether a candidate still fails; it is called at most `budget` times.
Schedule shrink(const Schedule& schedule, const std::function<bool(const Schedule&)>& fails,
                int budget = 5000);

}  // namespace scela::sim
