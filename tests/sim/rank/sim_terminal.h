// The size of the user's terminal on its way to the ranks that have a terminal.
//
// The terminal gets one column more each time, so that a size tells how many changes there were.
// One thread uses this part.
#pragma once

#include "tests/sim/job/end_of_job.h"
#include "tests/sim/job/node_jobs.h"
#include "tests/sim/node/agents.h"
#include "tests/sim/rank/sim_processes.h"

namespace scela::sim {

class Terminal {
 public:
  Terminal(Run& run, Nodes& nodes, const Processes& processes, const NodeJobs& node_jobs,
           Agents& agents, const EndOfJob& end)
      : run_(run),
        nodes_(nodes),
        processes_(processes),
        node_jobs_(node_jobs),
        agents_(agents),
        end_(end) {}

  void on(std::uint32_t index, const nla::action::ResizeTerminal& action);
  // The task window: the user changes the size.
  void change();
  // Fails if the last size that came while a rank ran has not arrived. An agent ends only when it
  // is told to, and hears of all sizes before.
  void check_arrived();

 private:
  Run& run_;
  Nodes& nodes_;
  const Processes& processes_;
  const NodeJobs& node_jobs_;
  Agents& agents_;
  const EndOfJob& end_;
  std::uint16_t given_ = 0;
  std::uint16_t due_ = 0;    // the last one while the rank with a terminal ran
  std::uint16_t shown_ = 0;  // the last one that its node set
};

}  // namespace scela::sim
