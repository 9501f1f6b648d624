#include "common/core/variables/task_variables.h"

#include <algorithm>
#include <iterator>

namespace scela {
namespace {

constexpr std::string_view kNames[] = {
    // Slurm. SLURM_NTASKS and SLURM_NPROCS are there in a job script too, where they are no number
    // of ranks of scela-run's job.
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS", "SLURM_TASK_PID",
    "SLURM_STEPID", "SLURM_LAUNCH_NODE_IPADDR", "SLURM_NTASKS", "SLURM_NPROCS",
    "SLURM_DISTRIBUTION", "SLURM_TOPOLOGY_ADDR", "SLURM_TOPOLOGY_ADDR_PATTERN",
    // PBS and Torque.
    "PBS_TASKNUM", "PBS_NODENUM", "PBS_VNODENUM",
    // Flux. Its PMI library would speak to Flux's server.
    "FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_PMI_LIBRARY_PATH",
    // HTCondor, LSF, PALS.
    "_CONDOR_PROCNO", "LSF_PM_TASKID", "PALS_RANKID", "PALS_NODEID", "PALS_LOCAL_RANKID",
    "PALS_LOCAL_SIZE",
    // Grid Engine: the command of qrsh, and its connection.
    "QRSH_COMMAND", "QRSH_PORT", "QRSH_WRAPPER"};
// An srun in a rank would take the binding for its own, and fail.
constexpr std::string_view kPrefixes[] = {"SLURM_STEP_", "SLURM_CPU_BIND", "SLURM_MEM_BIND",
                                          "SLURM_SRUN_COMM_"};

}  // namespace

bool is_of_task(std::string_view name) {
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

}  // namespace scela
