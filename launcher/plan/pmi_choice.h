// Resolves --pmi auto, the default: finds which PMI the programs of a job use, from their files on
// this machine. launcher/command.cpp uses it. The functions block on file reads and share no state
// between calls.
//
// They follow PATH and the loader as a node would. A program may be absent here or linked to no MPI
// (scripts and interpreters). It then gets what the other programs of the job need. If all programs
// are of this kind, the choice is a guess: a node that cannot serve PMIx starts them without it. In
// this case, a command that runs once on each host gets PMI, which needs no server.
#pragma once

#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options/options.h"
#include "launcher/plan/plan.h"

namespace scela {

// Chooses for PmiKind::automatic: stores PmiKind::pmix or PmiKind::fd in `options.pmi`. Any other
// value of options.pmi stays. In the result, `why` is text for the user, and it is empty if there
// was no choice to make. Returns an error (kind usage) if the programs of the job need different
// PMIs.
Result<PmiChoice> choose_pmi(Options& options, const LaunchContext& context);

// Returns a line for the user for each program that does not find what it needs under the stated
// --pmi. Returns no lines if no program is known to need another PMI. Such a job goes on: MPI
// libraries then have each rank run alone.
std::vector<std::string> warn_of_pmi(const Options& options, const LaunchContext& context);

}  // namespace scela
