// Where the progress threads of a node's ranks run (P1: the nearest idle core each). Pure.
//
// hwloc is the judge of the topology that this goes by (common/os/topology.h), and is not linked.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/core/topology.h"

namespace scela::collectives {

struct ThreadPlace {
  CpuSet cpus;        // empty: not bound
  bool idle = false;  // no rank may run there
  // "core 1 of socket 0, nearest idle to processors 0", and what stands in the way of better ones.
  std::string why;
};

// `machine`: the processors that the job may use. `ranks`: those of each rank. All ranks of a node
// that ask with equal arguments get answers that fit together: as few threads as can be on a core,
// and of those cores the one that shares most with its rank's first processor.
std::vector<ThreadPlace> places_of_threads(const Topology& machine,
                                           const std::vector<CpuSet>& ranks);

}  // namespace scela::collectives
