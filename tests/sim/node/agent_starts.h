// The starts of agents: how long each takes, and how it fails if the schedule says so.
// One thread uses this part.
#pragma once

#include "tests/sim/job/job_model.h"
#include "tests/sim/node/agents.h"
#include "tests/sim/node/node_ends.h"

namespace scela::sim {

class AgentStarts {
 public:
  AgentStarts(Run& run, Network& network, Nodes& nodes, const JobModel& job, Agents& agents,
              NodeEnds& node_ends)
      : run_(run),
        network_(network),
        nodes_(nodes),
        job_(job),
        agents_(agents),
        node_ends_(node_ends) {}

  void on(std::uint32_t index, const nla::action::StartChild& action);

  // The tasks child_begun, start_agent and child_failed.
  void begun(std::uint32_t link_index);
  void start(std::uint32_t link_index);
  void failed(std::uint32_t link_index, nla::StartPhase phase, bool handed_back);

 private:
  // An agent is to be started at the end of this link. The host decides how that will go.
  void begin(std::uint32_t link_index);
  // Returns how long a host waits until others have been started (--fanout).
  Micros turn_of(std::uint32_t host) const;
  // Returns true if the link to this host comes up and ends before the agent says anything.
  bool stillborn(std::uint32_t host) const;

  Run& run_;
  Network& network_;
  Nodes& nodes_;
  const JobModel& job_;
  Agents& agents_;
  NodeEnds& node_ends_;
};

}  // namespace scela::sim
