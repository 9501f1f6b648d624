// Chooses the processors for the progress threads of a node's ranks (P1: the nearest idle core
// each). bind_this_thread() uses it. It has no side effects, so any thread may call it.
//
// Tests compare the topology that it reads (common/os/topology.h) with hwloc, which is not linked.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/core/topology.h"

namespace scela::collectives {

struct ThreadPlace {
  CpuSet cpus;        // empty: not bound
  bool idle = false;  // true: no rank may run there
  // Text such as "core 1 of socket 0, nearest idle to processors 0", with the reason why no better
  // place was taken.
  std::string why;
};

// Returns the places, by rank. `machine` has the processors that the job may use, and `ranks` those
// of each rank. If all ranks of a node ask with equal arguments, their answers are consistent. A
// core gets as few threads as possible. Among such cores, the one that shares most with its rank's
// first processor is taken.
std::vector<ThreadPlace> places_of_threads(const Topology& machine,
                                           const std::vector<CpuSet>& ranks);

}  // namespace scela::collectives
