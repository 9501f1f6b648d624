// The spawns: worlds that ranks ask for while the job runs, and the hosts that are added for them.
// The launcher's shell plans each, and the root adds it or refuses. One thread uses this part.
#pragma once

#include <deque>
#include <optional>
#include <set>

#include "tests/sim/job/excuses.h"
#include "tests/sim/node/agents.h"

namespace scela::sim {

class Spawns {
 public:
  Spawns(Run& run, Nodes& nodes, const Processes& processes, JobModel& job, const EndOfJob& end,
         const Excuses& excuses, Agents& agents)
      : run_(run),
        nodes_(nodes),
        processes_(processes),
        job_(job),
        end_(end),
        excuses_(excuses),
        agents_(agents) {}

  void on(std::uint32_t index, const nla::action::Spawn& action);
  void on(std::uint32_t index, const nla::action::HostsAdded& action);
  void on(std::uint32_t index, const nla::action::WorldLaunched& action);
  // The root has added the world that it was given last.
  void taken() { taken_ = true; }

  // The task plan: plans the next spawn round the hosts that are known to have an agent, from one
  // that is drawn. A rank that asks out of turn is refused: an earlier question was lost.
  void plan();

 private:
  // Returns true if the spawn waits for hosts that it is the first to need.
  bool add_hosts(const nla::action::Spawn& action, std::uint32_t op);
  nla::World world_for(const nla::action::Spawn& action, std::uint32_t op) const;

  Run& run_;
  Nodes& nodes_;
  const Processes& processes_;
  JobModel& job_;
  const EndOfJob& end_;
  const Excuses& excuses_;
  Agents& agents_;
  std::deque<nla::action::Spawn> asked_;
  std::set<std::uint32_t> grown_;              // ops that had hosts added
  std::optional<nla::action::Spawn> growing_;  // waits for hosts
  Slice added_;                                // the last ones
  bool taken_ = false;
};

}  // namespace scela::sim
