// The rank that stands for a process which no launcher has started (singleton init of PMI,
// pmi/protocol/singinit.h). It is a program of its own, which the agent (the process of a job on a
// node) starts like any rank. It connects to that process and passes its PMI on, both ways.
//
// That process is no child of the agent. It is not signalled, and its end shows as the end of its
// connection. It learns the job's end in the same way, since this program is killed then. scela-run
// uses the function; it is the only thread of its process.
#pragma once

#include <cstdint>
#include <string>

namespace scela::nla {

// Connects the process that listens on `port` (decimal) of this machine with the agent of this
// rank, and passes bytes between them. Returns when that process or the agent has closed its
// connection. Returns the exit status, and reports errors on standard error. Blocks.
int stand_for_singleton(const std::string& port);

}  // namespace scela::nla
