// Explores every order of events that can happen to a few processes that connect: breadth first,
// each state once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/comm-channel/core/connect/connect_world.h"

namespace scela::channel::connect::test {

// Says which events happen once each, at any time, and how often the other events may happen.
struct Scenario {
  Options options;
  std::vector<std::uint32_t> nodes;  // of each process
  std::vector<std::pair<std::uint32_t, PeerId>> wants;
  std::vector<std::uint32_t> leaves;  // these processes leave
  std::vector<std::uint32_t> mortal;  // these may die
  int losses = 0, copies = 0, deaths = 0;
  // Wake-ups while something is on its way. Other wake-ups only come when nothing is on its way.
  int early = 0;
  int breaks = 0;   // sends that fail without a death
  int failing = 0;  // queue pairs that cannot be made
  int late = 0;     // RC queue pairs that connect late
  std::size_t max_states = 3'000'000;
};

struct Explored {
  std::size_t states = 0, rests = 0;
  std::string wrong;  // empty, or the fault and its steps
};

Explored explore(const Scenario& scenario, Transitions* transitions = nullptr);

}  // namespace scela::channel::connect::test
