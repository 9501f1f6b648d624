// The hangs: whether what does not go on has a reason that is not the agents' fault.
//
// A job that has not ended in time must be blocked by its own program, and is stopped then. When
// nothing is left to happen, everything must have ended. One thread uses this part.
#pragma once

#include "tests/sim/job/launcher.h"
#include "tests/sim/rank/sim_programs.h"
#include "tests/sim/rank/sim_terminal.h"

namespace scela::sim {

class Hangs {
 public:
  Hangs(Run& run, Nodes& nodes, const Processes& processes, const Reference& reference,
        const JobModel& job, EndOfJob& end, const Excuses& excuses, const NodeEnds& node_ends,
        const Programs& programs, Launcher& launcher)
      : run_(run),
        nodes_(nodes),
        processes_(processes),
        reference_(reference),
        job_(job),
        end_(end),
        excuses_(excuses),
        node_ends_(node_ends),
        programs_(programs),
        launcher_(launcher) {}

  // The task timeout: the job has had all the time there is. Stops it, or fails if it is stuck
  // without a reason.
  void timeout();
  // The run has nothing left to do. Fails if an agent or a rank has not ended.
  void check_quiet();

 private:
  void check_stalled();
  // Returns the ranks that wait for something that will never be done, by no fault of the agents:
  // each waits for a rank that has ended, or for one that waits so itself.
  RankSet blocked_by_program() const;
  bool waits_for_lost_cause(Rank rank, std::uint32_t index, const RankSet& blocked) const;
  bool waits_for_sender(std::uint32_t index, const RankSet& blocked) const;

  Run& run_;
  Nodes& nodes_;
  const Processes& processes_;
  const Reference& reference_;
  const JobModel& job_;
  EndOfJob& end_;
  const Excuses& excuses_;
  const NodeEnds& node_ends_;
  const Programs& programs_;
  Launcher& launcher_;
};

}  // namespace scela::sim
