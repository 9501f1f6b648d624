// Finds the hosts of a job that no list names. Either a program of the user's is asked for the
// hosts of a job (--host-discovery-script), such as discover_hosts.sh of the MPI Operator and of
// horovodrun, which prints the pods that run. It is run again while it names too few hosts, and
// for each restart of the job. Or agents join by themselves (--listen). launcher/command.cpp and
// launcher/restarts.cpp use it. Blocks; the main thread.
#pragma once

#include "common/core/result.h"
#include "launcher/core/options/options.h"
#include "launcher/hosts/late_hosts.h"
#include "launcher/plan/job_hosts.h"

namespace scela {

// With --listen, it waits for agents that join, until they are enough, and they
// are the hosts. Returns an error if they are too few when the time is over.
//
// Else it puts the host list of the program into LaunchContext::hostfile_text, if
// Options::hostfile is such a program; else it does nothing. While the list lacks hosts
// (lack_of_hosts()), the program is run again until the time of the patience of `search` is
// over. A host in LaunchContext::missing that the program does not name any more is forgotten
// there: it is new if it is named later.
//
// Returns HostPatience::error() if the search is given up. Returns another error if the program
// cannot be run, fails, or prints no host list. A list that is
// too short at the end is no error here; the plan finds it.
Result<void> discover_hosts(const Options& options, LaunchContext& context, HostSearch& search);

}  // namespace scela
