#include "launcher/core/detect/bulk_command.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace bulk_command_test {

using namespace scela;

namespace {

bool has(const std::vector<std::string>& list, const std::string& word) {
  return std::ranges::find(list, word) != list.end();
}

}  // namespace

TEST_CASE("bulk command: srun starts one task on each host, beside all other steps") {
  const auto words =
      srun_words({"SLURM_JOB_ID=1"}, {"n1", "n2-ib"}, {"/opt/agent", "--dial", "a:1"});
  CHECK(words.front() == "srun");
  for (const char* word : {"--overlap", "--mem=0", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1",
                           "--nodelist=n1,n2-ib", "--cpu-bind=none", "--mpi=none", "--input=all",
                           "--no-kill", "--kill-on-bad-exit=0", "--wait=0"})
    CHECK(has(words, word));
  CHECK_FALSE(has(words, "--external-launcher"));
  CHECK(std::vector(words.end() - 3, words.end()) ==
        std::vector<std::string>{"/opt/agent", "--dial", "a:1"});
}

// src/common/env.c of Slurm 23.11: variables for the launchers of others.
TEST_CASE("bulk command: a Slurm that has --external-launcher says so in each job") {
  const std::vector<std::string> job = {"SLURM_JOB_ID=1",
                                        "PRTE_MCA_plm_slurm_args=--external-launcher"};
  const auto words = srun_words(job, {"n1"}, {"agent"});
  CHECK(has(words, "--external-launcher"));
  CHECK_FALSE(has(words, "--overlap"));
  CHECK(has_external_launcher({"HYDRA_LAUNCHER_EXTRA_ARGS=--external-launcher"}));
  CHECK_FALSE(has_external_launcher({"SLURM_VERSION=23.11.4", "X=--external-launcher-not"}));
}

TEST_CASE("bulk command: srun gets no options from the variables of the step around it") {
  const auto kept = srun_environment(
      {"PATH=/bin", "SLURM_JOB_ID=7", "SLURM_CONF=/etc/s", "SLURM_CPU_BIND=mask_cpu:0x1",
       "SRUN_DEBUG=3", "SLURM_MEM_PER_CPU=1", "SLURM_MEM_PER_NODE=2", "SLURM_NTASKS=9",
       "SLURM_STDINMODE=none", "SLURM_WORKING_CLUSTER=c:head:6817:9728:102", "SLURMD_NODENAME=n1",
       "MYSLURM_X=1"});
  CHECK(kept == std::vector<std::string>{"PATH=/bin", "SLURM_JOB_ID=7", "SLURM_CONF=/etc/s",
                                         "SLURM_WORKING_CLUSTER=c:head:6817:9728:102",
                                         "MYSLURM_X=1", "SLURM_EXTERNAL_LAUNCHER=1"});
}

}  // namespace bulk_command_test
