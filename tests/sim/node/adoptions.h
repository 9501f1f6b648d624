// The adoptions: agents that have lost their parent, and the attempts of others to become it.
// One thread uses this part.
#pragma once

#include "tests/sim/job/excuses.h"
#include "tests/sim/rank/sim_programs.h"

namespace scela::sim {

class Adoptions {
 public:
  Adoptions(Run& run, Network& network, Nodes& nodes, const Processes& processes, Excuses& excuses,
            const Programs& programs)
      : run_(run),
        network_(network),
        nodes_(nodes),
        processes_(processes),
        excuses_(excuses),
        programs_(programs) {}

  void on(std::uint32_t index, const nla::action::AwaitAdoption& action);
  // The task attach: an attempt, until a time, to become the parent of an agent that runs. That
  // agent may not know yet that it has lost its own.
  void attach(std::uint32_t link_index, Micros until);

 private:
  // The ranks of this node and below cannot reach the others any more. What they do among each
  // other goes on, but for what was on its way.
  void cut_off(std::uint32_t index);

  Run& run_;
  Network& network_;
  Nodes& nodes_;
  const Processes& processes_;
  Excuses& excuses_;
  const Programs& programs_;
};

}  // namespace scela::sim
