#include "launcher/core/detect/bulk_command.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace bulk_command_test {

using namespace scela;

namespace {

using Words = std::vector<std::string>;

bool has(const Words& list, const std::string& word) {
  return std::ranges::find(list, word) != list.end();
}

const BulkAgent kAgent{"/opt/agent", "a:1", "00ff"};

BulkStarter flux(const Words& hosts_in_order) {
  BulkStarter out{Scheduler::flux, "flux exec", {}};
  for (std::uint32_t rank = 0; rank < hosts_in_order.size(); ++rank)
    out.hosts.push_back({hosts_in_order[rank], std::nullopt, std::nullopt, rank});
  return out;
}

}  // namespace

TEST_CASE("bulk command: srun starts one task on each host, beside all other steps") {
  const auto words = bulk_words({}, {"SLURM_JOB_ID=1"}, {"n1", "n2-ib"}, kAgent);
  CHECK(words.front() == "srun");
  for (const char* word : {"--overlap", "--mem=0", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1",
                           "--nodelist=n1,n2-ib", "--cpu-bind=none", "--mpi=none", "--input=all",
                           "--no-kill", "--kill-on-bad-exit=0", "--wait=0"})
    CHECK(has(words, word));
  CHECK_FALSE(has(words, "--external-launcher"));
  CHECK(Words(words.end() - 7, words.end()) ==
        Words{"/opt/agent", "--dial", "a:1", "--name-from", "SLURMD_NODENAME", "--id", "00ff"});
}

TEST_CASE("bulk command: a credential of the secret goes to agents of srun, not of flux") {
  BulkAgent agent = kAgent;
  agent.credential = "MUNGE:abc:";
  const auto words = bulk_words({}, {"SLURM_JOB_ID=1"}, {"n1"}, agent);
  CHECK(Words(words.end() - 2, words.end()) == Words{"--credential", "MUNGE:abc:"});
  CHECK_FALSE(has(bulk_words(flux({"n1"}), {}, {"n1"}, agent), "MUNGE:abc:"));
}

// src/common/env.c of Slurm 23.11: variables for the launchers of others.
TEST_CASE("bulk command: a Slurm that has --external-launcher says so in each job") {
  const std::vector<std::string> job = {"SLURM_JOB_ID=1",
                                        "PRTE_MCA_plm_slurm_args=--external-launcher"};
  const auto words = bulk_words({}, job, {"n1"}, kAgent);
  CHECK(has(words, "--external-launcher"));
  CHECK_FALSE(has(words, "--overlap"));
  CHECK(has_external_launcher({"HYDRA_LAUNCHER_EXTRA_ARGS=--external-launcher"}));
  CHECK_FALSE(has_external_launcher({"SLURM_VERSION=23.11.4", "X=--external-launcher-not"}));
}

TEST_CASE("bulk command: srun gets no options from the variables of the step around it") {
  const auto kept =
      bulk_environment({}, {"PATH=/bin", "SLURM_JOB_ID=7", "SLURM_CONF=/etc/s",
                            "SLURM_CPU_BIND=mask_cpu:0x1", "SRUN_DEBUG=3", "SLURM_MEM_PER_CPU=1",
                            "SLURM_MEM_PER_NODE=2", "SLURM_NTASKS=9", "SLURM_STDINMODE=none",
                            "SLURM_WORKING_CLUSTER=c:head:6817:9728:102", "SLURMD_NODENAME=n1"});
  CHECK(kept == Words{"PATH=/bin", "SLURM_JOB_ID=7", "SLURM_CONF=/etc/s",
                      "SLURM_WORKING_CLUSTER=c:head:6817:9728:102", "SLURM_EXTERNAL_LAUNCHER=1"});
}

TEST_CASE("bulk command: each part of a heterogeneous job of Slurm has a command of its own") {
  const Words job = {"SLURM_JOB_ID=1", "SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n1",
                     "SLURM_JOB_NODELIST_HET_GROUP_1=n[2-3]"};
  CHECK(bulk_parts({}, job, {"n3", "n1", "n2"}) == std::vector<Words>{{"n1"}, {"n3", "n2"}});
  CHECK(bulk_parts({}, {"SLURM_JOB_ID=1"}, {"n3", "n1"}) == std::vector<Words>{{"n3", "n1"}});
  const auto words = bulk_words({}, job, {"n3", "n2"}, kAgent);
  CHECK(std::ranges::find(words, "--het-group=1") != words.end());
}

TEST_CASE("bulk command: agents of srun have the variables of a login only") {
  const auto kept =
      bulk_environment({}, {"PATH=/bin", "HOME=/root", "SECRET=x", "LC_ALL=C", "LCX=1"});
  CHECK(kept == Words{"PATH=/bin", "HOME=/root", "LC_ALL=C", "SLURM_EXTERNAL_LAUNCHER=1"});
}

TEST_CASE("bulk command: flux exec starts one process on the broker of each host") {
  const auto words =
      bulk_words(flux({"n0", "n1", "n2", "n3", "n4"}), {}, {"n4", "n0", "n2", "n3"}, kAgent);
  CHECK(words == Words{"flux", "exec", "-r", "0,2-4", "-d", "/", "/opt/agent", "--dial", "a:1",
                       "--own-name", "--id", "00ff"});
}

TEST_CASE("bulk command: flux exec gets the brokers' ranks, whatever the hosts' positions are") {
  // Two brokers on n0; this machine has lost its domain.
  BulkStarter starter = flux({"n0", "n2", "n9.cluster"});
  starter.hosts[1].number = 2;
  starter.hosts[2].number = 7;
  CHECK(bulk_words(starter, {}, {"n9", "n2"}, kAgent)[3] == "2,7");
}

TEST_CASE("bulk command: flux exec gets all variables, as it reads no options from them") {
  const Words own = {"PATH=/bin", "FLUX_URI=local:///run/flux", "SLURM_NTASKS=9"};
  CHECK(bulk_environment(flux({"n0"}), own) == own);
}

}  // namespace bulk_command_test
