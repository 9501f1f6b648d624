// Chooses the processors for the progress threads of a node's ranks (P1: the nearest idle core
// each). bind_this_thread() uses it. It has no side effects, so any thread may call it.
//
// Tests compare the topology that it reads (common/os/machine_topology.h) with hwloc, which is not
// linked.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/core/placement/topology.h"

namespace scela::collectives {

// The place of one progress thread.
struct ThreadPlace {
  CpuSet cpus;        // empty: leave it unbound
  bool idle = false;  // true: no rank may run there
  // For people: the place, such as "core 1 of socket 0, nearest idle to processors 0", and the
  // reason why no better place was taken. If `cpus` is empty, the reason for that.
  std::string why;
};

// Returns the places of the threads, by rank. `machine` has the processors that the job may use.
// `ranks` has the processors on which each rank of the node may run. If all ranks of a node ask
// with equal arguments, their answers are equal, so each takes its own entry. A core gets as few
// threads as possible. Among such cores, the one nearest to its rank's first processor is taken. If
// no core is idle, idle hardware threads are taken; if none is, the rank's own processors.
std::vector<ThreadPlace> places_of_threads(const Topology& machine,
                                           const std::vector<CpuSet>& ranks);

}  // namespace scela::collectives
