// The traces of the agents: each agent sends its own to the root before it ends.
// One thread uses this part.
#pragma once

#include <map>

#include "tests/sim/node/agents.h"
#include "tests/sim/node/per_node.h"

namespace scela::sim {

class Traces {
 public:
  Traces(Run& run, const Nodes& nodes, Agents& agents)
      : run_(run), nodes_(nodes), agents_(agents) {}

  void on(std::uint32_t index, const nla::action::TracePiece& action);
  void on(std::uint32_t index, const nla::action::Finishing& action);
  // The task measure: the agent of this node is given its trace and its measurements.
  void measure(std::uint32_t index);
  // Returns how many traces arrived whole.
  std::uint64_t complete() const;

 private:
  enum class Arrival : std::uint8_t {
    none,
    part,   // the last piece has not come
    whole,  // nothing may follow
  };

  Run& run_;
  const Nodes& nodes_;
  Agents& agents_;
  std::map<std::uint32_t, Arrival> traces_;  // by the agent's host
  PerNode<bool> finishing_;
};

}  // namespace scela::sim
