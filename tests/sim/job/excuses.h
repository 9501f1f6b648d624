// The excuses: what must have happened so that a request, a spawn or a rank may fail.
//
// This part keeps the operations that were cut by the loss of a parent, and asks the models of the
// nodes, the processes and the job for the rest. One thread uses it.
#pragma once

#include <set>
#include <vector>

#include "tests/sim/job/end_of_job.h"
#include "tests/sim/job/job_model.h"
#include "tests/sim/node/sim_nodes.h"
#include "tests/sim/rank/sim_processes.h"
#include "tests/sim/reference.h"

namespace scela::sim {

class Excuses {
 public:
  Excuses(const Run& run, const Nodes& nodes, const Processes& processes,
          const Reference& reference, const JobModel& job, const EndOfJob& end)
      : run_(run),
        nodes_(nodes),
        processes_(processes),
        reference_(reference),
        job_(job),
        end_(end) {}

  // The operation was under way when an agent above one of its members lost its parent.
  void cut(std::uint32_t op) { cut_ops_.insert(op); }

  // Returns true if the rank's node, or the way from there to the root, is lost.
  bool lost(Rank rank) const;
  // Returns true if an agent may stop waiting for agents that are being started.
  bool needs_no_more() const;
  // Returns true if one of the ranks of a world may not have been started.
  bool may_fail(const RankSet& spawned) const;
  // Returns true if the request of this rank for operation `index` may be answered with an error.
  bool excuse(std::uint32_t index, Rank rank) const;

 private:
  std::vector<std::uint32_t> islands(Rank rank) const;
  bool apart(Rank one, Rank other) const { return islands(one) != islands(other); }
  // Returns true if the rank is over or lost, or asked for the end of the job.
  bool bad(Rank rank) const;
  bool excuse_collective(std::uint32_t index, Rank rank) const;
  bool excuse_get(const Op& op) const;

  const Run& run_;
  const Nodes& nodes_;
  const Processes& processes_;
  const Reference& reference_;
  const JobModel& job_;
  const EndOfJob& end_;
  std::set<std::uint32_t> cut_ops_;
};

}  // namespace scela::sim
