// The command of a bulk starter: one command that starts the agents of all nodes of a job.
// launcher/hosts/bulk/bulk_start.cpp executes it. Pure.
//
// Slurm's srun starts one task on each node, which shares the processors and the memory of the node
// with all other steps of the job, and has no binding. Flux's exec starts one process on each
// broker, outside of the jobs of the instance. Both give each agent a copy of standard input, which
// has the secret of the job. srun is slow at that, so its agents may get a credential as well
// (nla/dial/dial_credential.h).
//
// pbsdsh (PBS) is not used. Its tasks get /dev/null for standard input and no variable of its
// caller, so nothing can bring them a secret but their arguments, which all users of a host can
// read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/core/detect/allocation.h"

namespace scela {

// A command that starts all agents of a job.
struct BulkStarter {
  Scheduler scheduler = Scheduler::slurm;  // or flux
  std::string command = "srun";            // its name, for texts: "srun", "flux exec"
  std::vector<AllocatedHost> hosts;        // of the job, with the numbers that the command takes
};

// The agent that each node executes.
struct BulkAgent {
  std::string path;   // on the nodes
  std::string dial;   // the addresses that it dials (nla/dial/dial_in.h)
  std::string build;  // that it must have
  // The secret for agents of srun, sealed. Without it they read standard input only.
  std::string credential = {};
};

// Returns true if srun has --external-launcher, as it has since Slurm 23.11: such a step uses none
// of the job's resources. Older versions refuse the option. Slurm itself tells launchers to use it,
// by a variable in the environment of each job, so srun need not be asked for its version.
bool has_external_launcher(const std::vector<std::string>& environment);

// Returns the hosts in groups, each for one command: srun brings standard input to one part of a
// heterogeneous job of Slurm only. There is one group if the job has no parts.
std::vector<std::vector<std::string>> bulk_parts(const BulkStarter& starter,
                                                 const std::vector<std::string>& environment,
                                                 const std::vector<std::string>& hosts);

// Returns the arguments of the command, of which the first is the program, for scela-run with this
// environment. `hosts` are hosts of the starter, perhaps with or without their domain.
std::vector<std::string> bulk_words(const BulkStarter& starter,
                                    const std::vector<std::string>& environment,
                                    const std::vector<std::string>& hosts, const BulkAgent& agent);

// Returns the arguments of the command that calls this agent once more on these hosts, to remove
// the directories of the job (nla/node/job_sweep.h).
std::vector<std::string> sweep_words(const BulkStarter& starter,
                                     const std::vector<std::string>& environment,
                                     const std::vector<std::string>& hosts,
                                     const std::string& agent, const std::string& job_id);

// Returns the environment for the command, of that of scela-run. srun reads its options from
// variables too, and those of the step around scela-run (its tasks, memory, binding, output) are
// not meant for the agents. An agent hands its own environment to commands that inherit nothing of
// scela-run's (--env-pass none, and commands that run once on each host). So only the variables of
// a login stay, and those by which srun finds the job and the cluster. flux exec passes its
// broker's environment, whatever this one is.
std::vector<std::string> bulk_environment(const BulkStarter& starter,
                                          const std::vector<std::string>& environment);

}  // namespace scela
