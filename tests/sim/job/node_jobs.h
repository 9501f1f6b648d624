// The agents' knowledge of the job: each knows the ranks of its node, those that it starts, and
// those that it was told have failed. One thread uses this part.
#pragma once

#include "tests/sim/job/excuses.h"
#include "tests/sim/node/per_node.h"
#include "tests/sim/node/sim_nodes.h"
#include "tests/sim/rank/sim_processes.h"

namespace scela::sim {

class NodeJobs {
 public:
  NodeJobs(Run& run, const Nodes& nodes, Processes& processes, const JobModel& job,
           const EndOfJob& end, const Excuses& excuses)
      : run_(run), nodes_(nodes), processes_(processes), job_(job), end_(end), excuses_(excuses) {}

  void on(std::uint32_t index, const nla::action::UseJob& action);
  // Requires an agent other than the root.
  void on(std::uint32_t index, const nla::action::AddWorld& action);
  void on(std::uint32_t index, const nla::action::StartRanks& action);
  void on(std::uint32_t index, const nla::action::EndRanks& action);
  void on(std::uint32_t index, const nla::action::RanksFailed& action);
  void on(std::uint32_t index, const nla::action::NodesLost& action);
  void on(std::uint32_t index, const nla::action::Reconnected& action);
  // The simulated user has no question about the processes of ranks, so no agent may look at them.
  void on(std::uint32_t index, const nla::action::InspectRanks& action);
  void on(std::uint32_t index, const nla::action::Inspected& action);

  // Returns the ranks of this node, as its agent was told.
  const RankSet& own(std::uint32_t index) const { return of_node_[index].own; }

 private:
  struct OfNode {
    bool has_job = false;
    RankSet own;
    RankSet to_start;        // of its own, as its agent was told last
    RankSet failed;          // ranks that its own were told of
    std::size_t worlds = 0;  // that it has been told of
  };

  // Returns true if a rank of a lost host need not have been reported as failed: it ended well
  // before, or was not to run.
  bool need_not_fail(Rank rank) const;

  Run& run_;
  const Nodes& nodes_;
  Processes& processes_;
  const JobModel& job_;
  const EndOfJob& end_;
  const Excuses& excuses_;
  PerNode<OfNode> of_node_;
};

}  // namespace scela::sim
