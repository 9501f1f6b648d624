// The machine of this process, as Linux reports it in /sys: its processors, what they share, and
// which of them this process may use.
//
// A process may use what sched_getaffinity reports, which is within what the control group allows.
// Files may be missing (a container without /sys, a virtual machine without caches). Without them
// every processor is a core of its own, of one socket and one NUMA domain, without L3 caches. The
// functions read files and keep no state.
#pragma once

#include <string>
#include <vector>

#include "common/core/placement/memory_domains.h"
#include "common/core/placement/topology.h"

namespace scela {

// Reads the topology of this machine. `allowed` are the processors that may be used, as
// allowed_cpus() returns them. Files are looked for below `root`; "" is the system, another value
// serves tests. It never fails: files that are missing count as above.
Topology read_topology(const std::vector<int>& allowed, const std::string& root = {});
// Reads the NUMA domains of this machine, in ascending order of their numbers. The memory that
// counts is that of the control group of this process. The list is empty if the machine does not
// report domains. `root` is as above.
std::vector<MemoryDomain> read_memory_domains(const std::string& root = {});
// Reads the topology of this machine, with the processors that this process may use.
Topology read_topology();

}  // namespace scela
