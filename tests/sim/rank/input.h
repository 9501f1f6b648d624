// Standard input on its way from the user's terminal to the ranks that read it.
//
// The root reads it by the task stdin_more, as far as its credit goes. The agents of those ranks
// write it, and are told by the task stdin_taken how much was taken. One thread uses this part.
#pragma once

#include <vector>

#include "tests/sim/job/node_jobs.h"
#include "tests/sim/node/agents.h"
#include "tests/sim/rank/sim_processes.h"

namespace scela::sim {

class Input {
 public:
  Input(Run& run, const Nodes& nodes, Processes& processes, const NodeJobs& node_jobs,
        Agents& agents)
      : run_(run),
        nodes_(nodes),
        processes_(processes),
        node_jobs_(node_jobs),
        agents_(agents),
        ranks_(processes.size()) {}

  void on(std::uint32_t index, const nla::action::ReadStdin& action);
  void on(std::uint32_t index, const nla::action::WriteStdin& action);

  // The rank reads what has come. Returns true if the step is done.
  bool read(Rank rank, const Op& op);
  // The agent of this node may have to be told that input was taken.
  void want_taken(std::uint32_t index);
  // The task stdin_taken.
  void taken(std::uint32_t index);
  // The task stdin_more: the root reads a piece or the end.
  void more();

 private:
  struct OfRank {
    std::uint64_t read = 0;
    std::uint64_t progress = 0;  // within one step
  };
  struct OfNode {
    std::uint64_t given = 0;  // bytes that its agent has written to its ranks
    std::uint64_t taken = 0;  // bytes that its agent was told of
    bool end = false;
    bool taking = false;  // a task stdin_taken is scheduled
  };
  // The reading of the user's terminal.
  enum class Source : std::uint8_t {
    waiting,    // for credit
    scheduled,  // a task stdin_more is scheduled
    ended,      // the root was given the end
  };

  void want_more();

  Run& run_;
  const Nodes& nodes_;
  Processes& processes_;
  const NodeJobs& node_jobs_;
  Agents& agents_;
  std::vector<OfRank> ranks_;
  PerNode<OfNode> of_node_;
  Source source_ = Source::waiting;
  std::uint64_t credit_ = 0;  // of the root
  std::uint64_t given_ = 0;   // to the root
};

}  // namespace scela::sim
