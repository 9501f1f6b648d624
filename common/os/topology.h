// The machine this process runs on, as Linux tells of it in /sys: its processors and what they
// share, and which of them this process may use.
//
// Allowed is what sched_getaffinity says, which is within what the control group allows. Files that
// are missing (a container without /sys, a virtual machine without caches) cost what they would
// have told: every processor is a core of its own then, of one socket and one NUMA domain, without
// L3 caches.
#pragma once

#include <string>
#include <vector>

#include "common/core/topology.h"

namespace scela {

// `allowed`: processors that may be used, as allowed_cpus() has them. Files are looked for below
// `root` (a test's; "" is the system's).
Topology read_topology(const std::vector<int>& allowed, const std::string& root = {});
// Of this process.
Topology read_topology();

}  // namespace scela
