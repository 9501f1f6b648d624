// The variables that a scheduler sets for one task of a step. scela-run and agents may be such a
// task themselves, and ranks must not inherit what is true of it: many programs take SLURM_PROCID
// for their rank. launcher/plan removes these variables from the environment that ranks inherit
// from scela-run, and nla/node those that an agent was started with.
//
// Variables of the job as a whole (SLURM_JOB_ID, PBS_NODEFILE, JOB_ID, LSB_JOBID) stay. Variables
// of PMI and PMIx are not here: agents replace them (nla/ranks/rank_starter.h).
#pragma once

#include <string_view>

namespace scela {

// Returns true if the variable with this name describes a single task or step: its number, its
// binding, its number among the tasks of its node, and the number of tasks.
bool is_of_task(std::string_view name);

}  // namespace scela
