// The simulated cluster: agents running nla/core, their nodes, ranks and links, under virtual time.
//
// run() plays one schedule and checks, while it plays and when nothing is left to happen, that
// every rank gets exactly one right verdict, that no rank outlives its job, that output and answers
// are what the serial model says, that nothing is held without bound, and that the job ends. The
// first broken invariant ends the run and is its result. Deterministic: everything is drawn from
// the schedule's delay_seed. A World owns all agents and plays one schedule. One thread uses it.
#pragma once

#include <memory>

#include "tests/sim/node/agents.h"
#include "tests/sim/sim_job_run.h"
#include "tests/sim/sim_schedule.h"

namespace scela::sim {

// A job that has not ended by itself is ended by event::Stop, and must have had a reason to hang.
inline constexpr Micros kTimeout = Micros{900} * 1'000'000;

class World {
 public:
  explicit World(const Schedule& schedule, Hooks hooks = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  RunResult run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Plays the schedule. If `twice`, plays it a second time and fails unless the events are the same.
RunResult play(const Schedule& schedule, bool twice = false);

}  // namespace scela::sim
