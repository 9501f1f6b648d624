// Binding of memory: from the NUMA domains of a node and the processors of a rank to the domains
// that the rank's memory comes from. The agents use it to bind. This part is pure: it computes
// values only. common/os/machine_topology.h reads a machine.
//
// Domains have the operating system's numbers here, which the kernel expects. They are not the
// numbers of common/core/placement/topology.h. A domain may have processors but no memory, and one
// may have memory but no processors.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/core/placement/topology.h"
#include "common/core/rank_set.h"
#include "common/core/result.h"

namespace scela {

// Says where a rank's memory comes from. none: as the kernel chooses. local: only from the domains
// of the rank's processors. prefer: from them while they have free memory, then from others.
// interleave: page by page from one of them after the other.
enum class MemoryBinding : std::uint8_t { none, local, prefer, interleave };

// Returns the word of the option, such as "local".
std::string_view name_of(MemoryBinding binding);

// Domains, by the operating system's numbers.
using DomainSet = RankSet;

// A NUMA domain, as the machine describes it.
struct MemoryDomain {
  std::uint32_t number = 0;
  CpuSet cpus;              // its processors; may be empty
  bool has_memory = false;  // memory that this job may use
  // The distance to each domain of the machine, in their order. Empty: it is not known.
  std::vector<std::uint32_t> distances;
};

// Returns the domains that are nearest to these processors and have memory. That is each domain of
// a processor, or, in place of one without memory, all of those at the least distance from it.
// `machine` has all domains, in ascending order of their numbers. Error (launch): the machine tells
// of no domain of these processors, or none has memory that this job may use.
Result<DomainSet> nearest_domains(const std::vector<MemoryDomain>& machine, const CpuSet& cpus);

}  // namespace scela
