// Every order of what can happen to a few processes that connect: breadth first, each state once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/comm-channel/core/connect_world.h"

namespace scela::channel::connect::test {

// What is to happen, once each and at any time, and how often the rest may.
struct Scenario {
  Options options;
  std::vector<std::uint32_t> nodes;  // of each process
  std::vector<std::pair<std::uint32_t, PeerId>> wants;
  std::vector<std::uint32_t> leaves;  // these processes leave
  std::vector<std::uint32_t> mortal;  // these may die
  int losses = 0, copies = 0, deaths = 0;
  int early = 0;    // wake-ups while something is on its way: others only come when nothing is
  int breaks = 0;   // sends that fail without anybody's death
  int failing = 0;  // queue pairs that cannot be made
  int late = 0;     // queue pairs of RC that are connected some time after that was wanted
  std::size_t most_states = 3'000'000;
};

struct Explored {
  std::size_t states = 0, rests = 0;
  std::string wrong;  // empty, or what and after which steps
};

Explored explore(const Scenario& scenario, Transitions* transitions = nullptr);

}  // namespace scela::channel::connect::test
