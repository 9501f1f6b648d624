// Computes how long it takes to start n agents with c ranks each: Table 2.1 of the founding thesis
// (section 2.2.1), its hierarchical launch (Fig. 2.2), and a small event model of the agents' tree.
//
// Three constants describe a cluster: T_conn to reach a node, T_nla to set an agent up there,
// T_launch to start one process. Everything is in milliseconds. The model knows nothing of how
// agents talk, but its tree has the shape of theirs (common/core/kary_tree.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "common/core/kary_tree.h"

namespace scela::bench {

struct Constants {
  std::string name;
  double conn = 0;
  double nla = 0;
  double launch = 0;
  double hop = 0;  // one message over one link of the tree
};

// The right side of Table 2.1: each process is started over a connection of its own.
inline double without_agents(const Constants& t, double nodes, double ranks_per_node) {
  return nodes * ranks_per_node * (t.conn + t.launch);
}

// The left side of Table 2.1: the launcher reaches one node after the other, and agents start ranks
// in parallel.
inline double with_agents(const Constants& t, double nodes, double ranks_per_node) {
  return nodes * (t.conn + t.nla) + ranks_per_node * t.launch;
}

// The launcher of Fig. 2.2 starts one agent. Each step starts as many agents again as there are.
inline std::uint32_t doubling_steps(std::uint32_t nodes) {
  std::uint32_t steps = 1;
  for (std::uint64_t started = 1; started < nodes; started *= 2)
    ++steps;
  return steps;
}
inline double doubling(const Constants& t, std::uint32_t nodes, double ranks_per_node) {
  return doubling_steps(nodes) * (t.conn + t.nla) + ranks_per_node * t.launch;
}

enum class Starts {
  one_by_one,  // an agent reaches its children one after the other, as the launcher of Table 2.1
  together,    // all at once, as ScELA does (decision D4): what an agent does meanwhile costs it
               // nothing
};

// The tree of agents: each agent starts its children as soon as it runs. When all have reported (a
// hop a level up, a hop a level down again), ranks are started.
inline double tree(const Constants& t, std::uint32_t nodes, std::uint32_t ranks_per_node,
                   std::uint32_t degree, Starts starts) {
  struct Arrival {
    double at;
    Slice below;
    bool operator<(const Arrival& other) const { return at > other.at; }
  };
  std::priority_queue<Arrival> arrivals;
  arrivals.push({0, {0, nodes}});  // the launcher itself, which is on no node
  double last = 0;
  while (!arrivals.empty()) {
    const Arrival agent = arrivals.top();
    arrivals.pop();
    last = std::max(last, agent.at);
    double at = agent.at;
    for (const Slice& child : split(agent.below, degree)) {
      const double done = (starts == Starts::together ? agent.at : at) + t.conn + t.nla;
      arrivals.push({done, {child.first + 1, child.end}});
      at = done;
    }
  }
  const std::uint32_t levels =
      height({0, nodes + 1}, degree) - 1;  // as if the launcher were a node
  return last + 2 * levels * t.hop + ranks_per_node * t.launch;
}

}  // namespace scela::bench
