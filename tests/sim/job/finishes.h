// The finishes of agents: what must have ended before an agent does, and before the root does.
// One thread uses this part.
#pragma once

#include "tests/sim/job/sim_verdicts.h"
#include "tests/sim/node/timers.h"

namespace scela::sim {

// The most time from the moment a job must end to the launcher's last action. An agent waits 5 s
// per level for children that do not end (nla/core), and a chain here is up to 24 agents long.
inline constexpr Micros kEndBound = Micros{300} * 1'000'000;

class Finishes {
 public:
  Finishes(Run& run, Network& network, Nodes& nodes, const Processes& processes,
           const Leftovers& leftovers, const EndOfJob& end, NodeEnds& node_ends,
           const Output& output, Timers& timers, const Verdicts& verdicts)
      : run_(run),
        network_(network),
        nodes_(nodes),
        processes_(processes),
        leftovers_(leftovers),
        end_(end),
        node_ends_(node_ends),
        output_(output),
        timers_(timers),
        verdicts_(verdicts) {}

  void on(std::uint32_t index, const nla::action::Finish& action);

 private:
  // Returns what should have ended before this agent, as the end of a sentence, or an empty text.
  std::string too_early(std::uint32_t index);
  void check(std::uint32_t index);
  void check_root();

  Run& run_;
  Network& network_;
  Nodes& nodes_;
  const Processes& processes_;
  const Leftovers& leftovers_;
  const EndOfJob& end_;
  NodeEnds& node_ends_;
  const Output& output_;
  Timers& timers_;
  const Verdicts& verdicts_;
};

}  // namespace scela::sim
