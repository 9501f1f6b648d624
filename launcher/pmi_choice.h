// --pmi auto, which is the default: what the programs of a job speak, told from their files on this
// machine. A guess where they show nothing: a node that cannot serve PMIx then starts them without.
//
// Follows PATH and the loader as a node would. A program that is not here, or is linked to no MPI
// (scripts and interpreters), goes with the job's other programs, and else by what `mpiexec` is
// here; but a command that runs once on each host finds PMI, for which nothing has to be started.
#pragma once

#include <string>
#include <vector>

#include "common/core/result.h"
#include "launcher/core/options.h"
#include "launcher/plan.h"

namespace scela {

// Leaves in `options.pmi` what was chosen; `why`, for a person, is empty where nothing had to be.
// Error (usage): the programs of the job speak different things.
Result<PmiChoice> choose_pmi(Options& options, const Surroundings& around);

// Lines for a person about programs that find nothing of what they need by the stated --pmi. Such a
// job goes on: MPI libraries have each rank run alone then.
std::vector<std::string> warn_of_pmi(const Options& options, const Surroundings& around);

}  // namespace scela
