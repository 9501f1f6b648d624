// Tests which variables of schedulers ranks do not inherit.
#include "common/core/variables/task_variables.h"

#include <catch2/catch.hpp>

namespace scela {
namespace {

TEST_CASE("task variables: variables of one task of a scheduler are found") {
  for (const char* name : {"SLURM_PROCID",   "SLURM_LOCALID",         "SLURM_NODEID",
                           "SLURM_STEP_ID",  "SLURM_STEPID",          "SLURM_STEP_NODELIST",
                           "SLURM_CPU_BIND", "SLURM_CPU_BIND_LIST",   "SLURM_MEM_BIND_TYPE",
                           "SLURM_GTIDS",    "SLURM_TASK_PID",        "SLURM_LAUNCH_NODE_IPADDR",
                           "SLURM_NTASKS",   "SLURM_SRUN_COMM_PORT",  "PBS_TASKNUM",
                           "FLUX_TASK_RANK", "FLUX_PMI_LIBRARY_PATH", "_CONDOR_PROCNO",
                           "LSF_PM_TASKID",  "PALS_RANKID",           "QRSH_COMMAND"}) {
    INFO(name);
    CHECK(is_of_task(name));
  }
}

TEST_CASE("task variables: variables of the whole job stay") {
  for (const char* name : {"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_CPUS_PER_TASK", "PBS_JOBID",
                           "PBS_NODEFILE", "JOB_ID", "PE_HOSTFILE", "NSLOTS", "LSB_JOBID",
                           "FLUX_URI", "_CONDOR_SCRATCH_DIR", "PATH", "SLURM_CPU", "", "TMPDIR"}) {
    INFO(name);
    CHECK_FALSE(is_of_task(name));
  }
}

}  // namespace
}  // namespace scela
