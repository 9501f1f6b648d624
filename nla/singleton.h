// The rank that stands for a process which no launcher has started (singleton init,
// pmi/protocol/singinit.h): a program of its own, started by the agent like any rank, which
// connects to that process and passes its PMI on, both ways.
//
// That process is nobody's child here: it is not signalled, and its end shows as that of its
// connection. So does the job's end to it: this program is killed then.
#pragma once

#include <cstdint>
#include <string>

namespace scela::nla {

// In a rank of scela-run: speaks for the process that listens on this port of this machine until it
// has closed its connection, or the agent has. The exit status; what went wrong is told on standard
// error.
int stand_for_singleton(const std::string& port);

}  // namespace scela::nla
