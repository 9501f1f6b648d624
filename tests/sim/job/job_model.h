// The job as the launcher knows it: what it has launched, the hosts, and what is known to have
// failed. One thread uses it.
#pragma once

#include <set>

#include "nla/core/wire/job.h"
#include "tests/sim/sim_job_run.h"

namespace scela::sim {

struct JobModel {
  explicit JobModel(const Run& run) : hosts(run.schedule.hosts) {}

  nla::Job now;         // with the worlds that were spawned
  nla::Job first;       // as it was launched
  std::uint32_t hosts;  // with those that were added
  RankSet unspawned;    // of worlds that failed: what was started of them is ended
  bool launched = false;
  std::set<std::uint32_t> failed_hosts;  // that the root has reported
};

}  // namespace scela::sim
