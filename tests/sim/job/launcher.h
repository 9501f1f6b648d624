// The launcher's shell: it begins, launches the job or gives it up when the tree is complete, and
// passes on what the user does. It also checks what the root shows of the start.
// One thread uses this part.
#pragma once

#include "tests/sim/job/end_of_job.h"
#include "tests/sim/job/job_model.h"
#include "tests/sim/node/agents.h"

namespace scela::sim {

class Launcher {
 public:
  Launcher(Run& run, Nodes& nodes, JobModel& job, EndOfJob& end, Agents& agents)
      : run_(run), nodes_(nodes), job_(job), end_(end), agents_(agents) {}

  void on(std::uint32_t index, const nla::action::AllReady& action);
  void on(std::uint32_t index, const nla::action::AllLaunched& action);
  void on(std::uint32_t index, const nla::action::NodeFailed& action);
  void on(std::uint32_t index, const nla::action::ShowLog& action);

  // The task begin.
  void begin();
  // The task decide: the tree is complete, or is known to be incomplete.
  void decide();
  // The task user: the user sends a signal or stops the job.
  void user(const Stimulus& stimulus);

 private:
  // Sends the job to the agents.
  void launch();
  // Describes the job that the schedule asks for.
  void make_job();

  Run& run_;
  Nodes& nodes_;
  JobModel& job_;
  EndOfJob& end_;
  Agents& agents_;
  bool all_ready_ = false;
  bool all_launched_ = false;
  std::uint64_t never_ready_ = 0;  // of JobModel::failed_hosts
};

}  // namespace scela::sim
