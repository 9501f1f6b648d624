// The timers of the agents. One thread uses this part.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "tests/sim/job/end_of_job.h"
#include "tests/sim/node/agents.h"
#include "tests/sim/node/per_node.h"

namespace scela::sim {

// A start that takes longer may be given up by an agent that must end; nothing else may.
inline constexpr Micros kPatience = 1'000'000;

class Timers {
 public:
  Timers(Run& run, const Nodes& nodes, Agents& agents, EndOfJob& end)
      : run_(run), nodes_(nodes), agents_(agents), end_(end) {}

  void on(std::uint32_t index, const nla::action::SetTimer& action);
  void on(std::uint32_t index, const nla::action::CancelTimer& action);
  // The task timer. Does nothing if the timer was cancelled or set again meanwhile.
  void fire(std::uint32_t index, nla::Timer which, std::uint64_t generation);
  // Fails for each timer that is set when the agent finishes.
  void check_none(std::uint32_t index);

 private:
  struct Timer {
    bool armed = false;
    std::uint64_t generation = 0;
  };

  Run& run_;
  const Nodes& nodes_;
  Agents& agents_;
  EndOfJob& end_;
  PerNode<std::array<Timer, nla::kTimers>> timers_;
};

}  // namespace scela::sim
