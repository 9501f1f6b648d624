// The faults of a schedule: each hits the agent that serves a host at that moment, or its link.
// One thread uses this part.
#pragma once

#include "tests/sim/node/node_ends.h"

namespace scela::sim {

class Faults {
 public:
  Faults(Run& run, Network& network, Nodes& nodes, Agents& agents, NodeEnds& node_ends)
      : run_(run), network_(network), nodes_(nodes), agents_(agents), node_ends_(node_ends) {}

  // The task fault. Does nothing if no agent serves the host.
  void hit(const Fault& fault);

 private:
  Run& run_;
  Network& network_;
  Nodes& nodes_;
  Agents& agents_;
  NodeEnds& node_ends_;
};

}  // namespace scela::sim
