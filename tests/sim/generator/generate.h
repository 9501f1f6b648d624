// From a seed to a schedule. The same seed and limits give the same schedule, on every machine.
#pragma once

#include "tests/sim/sim_schedule.h"

namespace scela::sim {

struct Limits {
  std::uint32_t max_hosts = 200;
  std::uint32_t exact_hosts = 0;  // not 0: this many, with a program of a cost linear in ranks
};

Schedule make_schedule(std::uint64_t seed, const Limits& limits);

}  // namespace scela::sim
