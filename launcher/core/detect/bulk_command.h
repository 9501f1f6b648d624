// The command of a bulk starter: one command that starts the agents of all nodes of a job.
// launcher/hosts/bulk_start.cpp executes it. Pure.
//
// Only Slurm's srun is known. It starts one task on each node, which shares the processors and the
// memory of the node with all other steps of the job, and has no binding.
#pragma once

#include <string>
#include <vector>

namespace scela {

// Returns true if srun has --external-launcher, as it has since Slurm 23.11: such a step uses none
// of the job's resources. Older versions refuse the option. Slurm itself tells launchers to use it,
// by a variable in the environment of each job, so srun need not be asked for its version.
bool has_external_launcher(const std::vector<std::string>& environment);

// Returns the arguments of srun, which is the first of them, for scela-run with this environment.
// `agent` are the words that each node executes.
std::vector<std::string> srun_words(const std::vector<std::string>& environment,
                                    const std::vector<std::string>& hosts,
                                    const std::vector<std::string>& agent);

// Returns the environment for srun, of that of scela-run. srun reads its options from variables
// too, and those of the step around scela-run (its tasks, memory, binding, output) are not meant
// for the agents. So only the variables by which srun finds the job and the cluster stay.
std::vector<std::string> srun_environment(const std::vector<std::string>& environment);

}  // namespace scela
