// Tests which allocation is found in the environments of jobs.
#include "launcher/core/detect/detect.h"

#include <catch2/catch.hpp>
#include <map>

#include "common/core/text.h"

namespace scela {
namespace {

using Words = std::vector<std::string>;
using Files = std::map<std::string, std::string>;
using Hosts = std::vector<AllocatedHost>;

constexpr auto kNone = std::nullopt;

// Reads made-up files.
FileReader reader(const Files& files) {
  return [files](const std::string& path) -> Result<std::string> {
    const auto found = files.find(path);
    if (found != files.end()) return found->second;
    return fail(Error{ErrorKind::usage, cat("open host file '", path, "'"), "",
                      "No such file or directory", ""});
  };
}

Result<Detection> detected(const Words& environment, const Files& files = {},
                           std::optional<Scheduler> wanted = kNone,
                           const std::string& host_name = "head") {
  const Sources read = {reader(files), [](const Words&) -> Result<std::string> {
                          return fail(Error{ErrorKind::usage, "", "", "no command is known", ""});
                        }};
  return detect({environment, host_name, wanted}, read);
}

Allocation found(const Words& environment, const Files& files = {}) {
  auto detection = detected(environment, files);
  REQUIRE(detection);
  REQUIRE(detection->allocation);
  return *detection->allocation;
}

// Recorded: Slurm 22.05.8, salloc -N3 --exclusive.
const Words kSlurmJob = {"SLURM_CLUSTER_NAME=simulated",  "SLURM_JOBID=2",
                         "SLURM_JOB_CPUS_PER_NODE=2(x3)", "SLURM_JOB_ID=2",
                         "SLURM_JOB_NAME=interactive",    "SLURM_JOB_NODELIST=node[001-003]",
                         "SLURM_JOB_NUM_NODES=3",         "SLURM_NNODES=3",
                         "SLURM_NODELIST=node[001-003]",  "SLURM_NODE_ALIASES=(null)",
                         "SLURM_TASKS_PER_NODE=2(x3)"};
// Recorded: Slurm 22.05.8, salloc -N2 -n3 srun -N1 -n1.
const Words kSlurmStep = {"SLURMD_NODENAME=node001",
                          "SLURM_JOB_CPUS_PER_NODE=2(x2)",
                          "SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0=2(x2)",
                          "SLURM_JOB_ID=3",
                          "SLURM_JOB_NODELIST=node[001-002]",
                          "SLURM_NODELIST=node[001-002]",
                          "SLURM_PROCID=0",
                          "SLURM_STEP_ID=0",
                          "SLURM_STEP_NODELIST=node001",
                          "SLURM_STEP_TASKS_PER_NODE=1",
                          "SLURM_TASKS_PER_NODE=1"};
// Recorded: Slurm 22.05.8, salloc -w node[001-002] -n3, with SLURM_HOSTFILE and srun -m arbitrary.
const Words kSlurmArbitrary = {"SLURM_DISTRIBUTION=arbitrary",
                               "SLURM_HOSTFILE=/srv/hf",
                               "SLURM_JOB_ID=4",
                               "SLURM_JOB_NODELIST=node[001-002]",
                               "SLURM_JOB_CPUS_PER_NODE=2(x2)",
                               "SLURM_STEP_NODELIST=node[001-002]",
                               "SLURM_STEP_TASKS_PER_NODE=1,2"};
// Recorded: Slurm 22.05.8, salloc -N1 -n2 : -N1 -n1.
const Words kSlurmHet = {"SLURM_HET_SIZE=2",
                         "SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0=2",
                         "SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1=2",
                         "SLURM_JOB_ID=5",
                         "SLURM_JOB_NODELIST_HET_GROUP_0=node001",
                         "SLURM_JOB_NODELIST_HET_GROUP_1=node002",
                         "SLURM_NTASKS=3",
                         "SLURM_TASKS_PER_NODE_HET_GROUP_0=2",
                         "SLURM_TASKS_PER_NODE_HET_GROUP_1=1"};
// Recorded: Grid Engine 8.1.9, qsub -pe scela 4.
const Words kGridEngine = {"ARC=lx-amd64",
                           "ENVIRONMENT=BATCH",
                           "JOB_ID=1",
                           "JOB_NAME=job.sh",
                           "NHOSTS=2",
                           "NQUEUES=2",
                           "NSLOTS=4",
                           "PE=scela",
                           "PE_HOSTFILE=/spool/node001/active_jobs/1.1/pe_hostfile",
                           "SGE_CELL=default",
                           "SGE_ROOT=/var/lib/gridengine",
                           "SGE_TASK_ID=undefined"};
const Files kGridEngineFiles = {{"/spool/node001/active_jobs/1.1/pe_hostfile",
                                 "node001 2 all.q@node001 UNDEFINED\n"
                                 "node002 2 all.q@node002 UNDEFINED\n"}};
// After the manuals: OpenPBS, qsub -l select=2:ncpus=2:mpiprocs=2.
const Words kPbs = {"NCPUS=2",
                    "OMP_NUM_THREADS=2",
                    "PBS_ENVIRONMENT=PBS_BATCH",
                    "PBS_JOBCOOKIE=000000005C8E3F75000000006F3A1B2C",
                    "PBS_JOBID=17.head",
                    "PBS_MOMPORT=15003",
                    "PBS_NODEFILE=/var/spool/pbs/aux/17.head",
                    "PBS_NODENUM=0",
                    "PBS_TASKNUM=1"};
const Files kPbsFiles = {{"/var/spool/pbs/aux/17.head", "n1.cluster\nn1.cluster\nn2.cluster\n"}};

// In the script of a resource manager with a PMIx server.
const Words kManager = {"PMIX_NAMESPACE=batch", "PMIX_RANK=0", "PMIX_SERVER_URI2=m.0;tcp4://h:2",
                        "PMIX_SERVER_URI41=m.0;tcp4://h:1"};
constexpr std::string_view kTold =
    "scela-pmix allocation 1\nserver m.0\nquery PMIX_QUERY_ALLOCATION\nhost a 2\nhost b -\nend\n";

// Detects with a scela-pmix that writes this text, or fails if there is none. `calls` gets its
// words.
Result<Detection> told(const Words& environment, std::optional<std::string_view> text, Words& calls,
                       std::optional<Scheduler> wanted = kNone) {
  const Sources read = {reader({}), [&](const Words& words) -> Result<std::string> {
                          for (const std::string& word : words)
                            calls.push_back(word);
                          if (text) return std::string(*text);
                          return fail(Error{ErrorKind::usage, "", "", "it tells none", ""});
                        }};
  return detect({environment, "head", wanted}, read);
}

TEST_CASE("detect: a PMIx server tells hosts and slots to a command") {
  Words calls;
  const auto found = told(kManager, kTold, calls);
  REQUIRE((found && found->allocation));
  CHECK(calls == Words{"scela-pmix", "--allocation"});
  CHECK(found->allocation->scheduler == Scheduler::pmix);
  CHECK(found->allocation->hosts == Hosts{{"a", 2, kNone}, {"b", kNone, kNone}});
  CHECK(found->allocation->source == "PMIX_SERVER_URI41=m.0;tcp4://h:1, PMIX_QUERY_ALLOCATION");
}

TEST_CASE("detect: a PMIx server that tells nothing is set aside, unless --launch pmix asks it") {
  Words calls;
  const auto none = told(kManager, kNone, calls);
  REQUIRE(none);
  CHECK_FALSE(none->allocation);
  REQUIRE(none->set_aside.size() == 1);
  CHECK(none->set_aside[0].text.find("it tells none") != std::string::npos);
  calls.clear();
  CHECK_FALSE(told({}, kNone, calls, Scheduler::pmix));
  CHECK(calls == Words{"scela-pmix", "--allocation", "--asked"});
  CHECK_FALSE(told(kManager, "host a\n", calls, Scheduler::pmix));
  for (const std::string host : {"a;b 1", "$a 1"}) {
    const std::string text = "scela-pmix allocation 1\nhost " + host + "\nend\n";
    CHECK_FALSE(told(kManager, text, calls, Scheduler::pmix));
  }
}

TEST_CASE("detect: servers of ranks and of mpirun 4 are not asked, nor one beside a scheduler") {
  Words calls;
  Words rank = kManager;
  rank.emplace_back("SCELA_JOB_ID=1");
  CHECK(told(rank, kTold, calls)->set_aside.empty());
  Words mpirun = kManager;
  mpirun.emplace_back("OMPI_MCA_orte_hnp_uri=1.0;tcp://h:1");
  CHECK(told(mpirun, kTold, calls)->set_aside.size() == 1);
  CHECK_FALSE(told(mpirun, kTold, calls, Scheduler::pmix));
  Words slurm = kSlurmJob;
  slurm.insert(slurm.end(), kManager.begin(), kManager.end());
  CHECK(told(slurm, kTold, calls)->allocation->scheduler == Scheduler::slurm);
  CHECK(calls.empty());
}

TEST_CASE("detect: a PMIx server tells of lost nodes, also beside another scheduler") {
  const auto tells = [](Scheduler scheduler, const Words& environment) {
    return tells_node_losses(scheduler, Environment(environment));
  };
  CHECK(tells(Scheduler::pmix, {}));
  CHECK(tells(Scheduler::slurm, kManager));
  CHECK_FALSE(tells(Scheduler::slurm, {}));
  CHECK_FALSE(tells(Scheduler::host_file, kManager));
  CHECK_FALSE(tells(Scheduler::slurm, {kManager[3], "OMPI_MCA_orte_hnp_uri=1.0;tcp://h:1"}));
}

TEST_CASE("detect: nothing is found where no scheduler has set a variable") {
  const auto none = detected({"HOME=/root", "PATH=/bin"});
  REQUIRE(none);
  CHECK_FALSE(none->allocation);
  CHECK(none->set_aside.empty());
  CHECK_FALSE(detected({"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=", "PE_HOSTFILE="})->allocation);
}

TEST_CASE("detect: a job of Slurm has its node list, with tasks as slots") {
  const Allocation job = found(kSlurmJob);
  CHECK(job.scheduler == Scheduler::slurm);
  CHECK(job.job_id == "2");
  CHECK(job.hosts == Hosts{{"node001", 2, 2}, {"node002", 2, 2}, {"node003", 2, 2}});
  CHECK(allocation_text(job) ==
        "Slurm, job 2: 3 hosts, 6 slots, 6 processors (SLURM_JOB_NODELIST=node[001-003])");
}

TEST_CASE("detect: without tasks, the slots of Slurm are processors divided by those of a task") {
  const Words job = {"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=a,b", "SLURM_JOB_CPUS_PER_NODE=8,3",
                     "SLURM_CPUS_PER_TASK=4"};
  CHECK(found(job).hosts == Hosts{{"a", 2, 8}, {"b", 1, 3}});
  CHECK(found({"SLURM_NODELIST=a"}).hosts == Hosts{{"a", kNone, kNone}});
}

TEST_CASE("detect: a step of Slurm has the hosts of the step, not those of its job") {
  const Allocation step = found(kSlurmStep);
  CHECK(step.hosts == Hosts{{"node001", 1, kNone}});
  CHECK(step.source == "SLURM_STEP_NODELIST=node001");
}

TEST_CASE("detect: an arbitrary distribution of Slurm counts how often its file names a host") {
  const Files files = {{"/srv/hf", "node002\nnode001\nnode002\n"}};
  CHECK(found(kSlurmArbitrary, files).hosts == Hosts{{"node002", 2, kNone}, {"node001", 1, kNone}});
  const auto foreign = detected(kSlurmArbitrary, {{"/srv/hf", "node009\n"}});
  REQUIRE_FALSE(foreign);
  CHECK(foreign.error().text().find("'node009' is not a host of the job") != std::string::npos);
}

TEST_CASE("detect: the parts of a heterogeneous job of Slurm are one list") {
  const Allocation job = found(kSlurmHet);
  CHECK(job.hosts == Hosts{{"node001", 2, 2}, {"node002", 1, 2}});
  CHECK(job.job_id == "5");
}

TEST_CASE("detect: a job of Grid Engine has the slots of its parallel environment") {
  const Allocation job = found(kGridEngine, kGridEngineFiles);
  CHECK(job.scheduler == Scheduler::grid_engine);
  CHECK(job.job_id == "1");
  CHECK(job.hosts == Hosts{{"node001", 2, kNone}, {"node002", 2, kNone}});
  Words array = kGridEngine;
  array.back() = "SGE_TASK_ID=3";
  CHECK(found(array, kGridEngineFiles).job_id == "1.3");
}

TEST_CASE("detect: a job of PBS has a slot for each line of its node file") {
  const Allocation job = found(kPbs, kPbsFiles);
  CHECK(job.scheduler == Scheduler::pbs);
  CHECK(job.job_id == "17.head");
  CHECK(job.hosts == Hosts{{"n1.cluster", 2, kNone}, {"n2.cluster", 1, kNone}});
}

TEST_CASE("detect: a job of LSF, by its host file, its pairs or its list") {
  const Files files = {{"/f", "h1\nh1\nh2\n"}, {"/affinity", "h1.x 0,1\nh1.x 2\nh2.x 4-7\n"}};
  const Allocation job = found({"LSB_JOBID=9", "LSB_DJOB_HOSTFILE=/f", "LSB_MCPU_HOSTS=h9 1",
                                "LSB_AFFINITY_HOSTFILE=/affinity"},
                               files);
  CHECK(job.hosts == Hosts{{"h1", 2, 3}, {"h2", 1, 4}});
  CHECK(job.job_id == "9");
  CHECK(found({"LSB_MCPU_HOSTS=h1 4 h2 2"}).hosts == Hosts{{"h1", 4, kNone}, {"h2", 2, kNone}});
  CHECK(found({"LSB_HOSTS=h1 h2 h1"}).hosts == Hosts{{"h1", 2, kNone}, {"h2", 1, kNone}});
}

TEST_CASE("detect: Cobalt counts nodes, LoadLeveler tasks, HTCondor the slots of contacts") {
  CHECK(found({"COBALT_NODEFILE=/f", "COBALT_JOBID=3"}, {{"/f", "n1\nn2\n"}}).hosts ==
        Hosts{{"n1", kNone, kNone}, {"n2", kNone, kNone}});
  CHECK(found({"LOADL_HOSTFILE=/f"}, {{"/f", "n1\nn1\n"}}).hosts == Hosts{{"n1", 2, kNone}});
  const Words condor = {"_CONDOR_PROCNO=0", "_CONDOR_NPROCS=3", "_CONDOR_SCRATCH_DIR=/s",
                        "CONDOR_CONTACT_FILE=/s/contact"};
  const Files files = {{"/s/contact", "0 w1 4444 me /d 1\n1 w2 4444 me /d 1\n2 w1 4445 me /d 1\n"}};
  CHECK(found(condor, files).hosts == Hosts{{"w1", 2, kNone}, {"w2", 1, kNone}});
}

TEST_CASE("detect: the MPI Operator's host file, in both dialects, with full names") {
  const Files files = {{"/etc/mpi/hostfile", "pi-worker-0.pi.ns.svc slots=2\n"},
                       {"/h", "pi-worker-0.pi.ns.svc:2\npi-worker-1.pi.ns.svc:2\n"}};
  const Allocation job = found({"K_MPI_JOB_ROLE=launcher"}, files);
  CHECK(job.hosts == Hosts{{"pi-worker-0.pi.ns.svc", 2, kNone}});
  CHECK(job.source == "K_MPI_JOB_ROLE=launcher, /etc/mpi/hostfile");
  for (const char* name : {"HYDRA_HOST_FILE", "OMPI_MCA_orte_default_hostfile",
                           "PRTE_MCA_prte_default_hostfile", "I_MPI_HYDRA_HOST_FILE"}) {
    CHECK(found({cat(name, "=/h")}, files).hosts.size() == 2);
  }
  CHECK_FALSE(detected({"K_MPI_JOB_ROLE=worker"}, files)->allocation);
}

// Follows flux-environment(7) of flux-core 0.88: what a script of flux batch has.
const Words kFlux = {"FLUX_URI=local:///tmp/flux-Bq3/local-0", "FLUX_ENCLOSING_ID=f2WbVzEn",
                     "FLUX_KVS_NAMESPACE=primary"};

Result<Detection> in_flux(const Words& environment, const Result<std::string>& answer,
                          std::optional<Scheduler> wanted = kNone,
                          const std::string& resources = "") {
  const Sources read = {reader({}), [&](const Words& words) -> Result<std::string> {
                          if (words == Words{"flux", "getattr", "hostlist"}) return answer;
                          CHECK(words == Words{"flux", "kvs", "get", "resource.R"});
                          return resources;
                        }};
  return detect({environment, "head", wanted}, read);
}

TEST_CASE("detect: an instance of Flux has the hosts that a command tells, in the brokers' order") {
  const auto flux = in_flux(kFlux, "n[10,8-9]\n");
  REQUIRE(flux);
  REQUIRE(flux->allocation);
  CHECK(flux->allocation->scheduler == Scheduler::flux);
  CHECK(flux->allocation->job_id == "f2WbVzEn");
  CHECK(flux->allocation->hosts ==
        Hosts{{"n10", kNone, kNone, 0}, {"n8", kNone, kNone, 1}, {"n9", kNone, kNone, 2}});
  CHECK(flux->allocation->source ==
        "FLUX_URI=local:///tmp/flux-Bq3/local-0, flux getattr hostlist");
}

TEST_CASE("detect: a host with several brokers of Flux counts once, with the first one's rank") {
  const auto flux = in_flux(kFlux, "n1,n1,n2,n1,n3");
  REQUIRE(flux);
  CHECK(flux->allocation->hosts ==
        Hosts{{"n1", kNone, kNone, 0}, {"n2", kNone, kNone, 2}, {"n3", kNone, kNone, 4}});
}

TEST_CASE("detect: the slots of Flux are the cores of its resource set") {
  const std::string resources =
      R"({"version": 1, "execution": {"R_lite": [{"rank": "0,2", "children": {"core": "0-3"}},)"
      R"( {"rank": "1", "children": {"core": "2,4-5", "gpu": "0"}}], "nodelist": ["n[8-10]"]}})";
  const auto flux = in_flux(kFlux, "n[8-10]", kNone, resources);
  REQUIRE(flux);
  CHECK(flux->allocation->hosts ==
        Hosts{{"n8", 4, kNone, 0}, {"n9", 3, kNone, 1}, {"n10", 4, kNone, 2}});
  CHECK(flux->allocation->source ==
        "FLUX_URI=local:///tmp/flux-Bq3/local-0, flux getattr "
        "hostlist, flux kvs get resource.R");
  // Brokers of one host that have the same cores share them.
  const auto shared = in_flux(kFlux, "n1,n1,n2", kNone, resources);
  CHECK(shared->allocation->hosts == Hosts{{"n1", 6, kNone, 0}, {"n2", 4, kNone, 2}});
  // A host that the set leaves out gets one rank.
  CHECK(in_flux(kFlux, "n[8-11]", kNone, resources)->allocation->hosts.back() ==
        AllocatedHost{"n11", kNone, kNone, 3});
}

TEST_CASE("detect: a resource set of Flux that is not understood gives no slots") {
  for (const char* text :
       {"{", "[]", "null", R"({"version": 2, "execution": {"R_lite": []}})",
        R"({"version": 1, "execution": {"R_lite": {"rank": "0"}}})",
        R"({"version": 1, "execution": {"R_lite": [{"rank": "0", "children": {"core": "3-1"}}]}})",
        R"({"version": 1, "execution": {"R_lite": [{"rank": "x", "children": {"core": "0"}}]}})",
        R"({"version": 1, "execution": {"R_lite": [{"rank": "0", "children": "core"}]}})"}) {
    const auto flux = in_flux(kFlux, "n8", kNone, text);
    REQUIRE(flux);
    CHECK(flux->allocation->hosts == Hosts{{"n8", kNone, kNone, 0}});
    CHECK(flux->allocation->source.ends_with("flux getattr hostlist"));
  }
}

TEST_CASE("detect: hosts of Flux that cannot be learned are an error with the command's words") {
  const Error error{ErrorKind::usage, "x", "", "'flux getattr hostlist' ended with code 1", ""};
  const auto failed = in_flux(kFlux, fail(error));
  REQUIRE_FALSE(failed);
  const std::string text = failed.error().text();
  for (const char* part : {"FLUX_URI=local:///tmp/flux-Bq3/local-0", "read the allocation of Flux",
                           "'flux getattr hostlist' ended with code 1", "unset FLUX_URI"})
    CHECK(text.find(part) != std::string::npos);
  CHECK(in_flux(kFlux, "n[1-").error().text().find("a bracket is not closed") != std::string::npos);
  CHECK(in_flux(kFlux, "").error().text().find("names no hosts") != std::string::npos);
}

TEST_CASE("detect: a task of a job of Flux has no instance, which matters if it is not alone") {
  Words task = kFlux;
  task.insert(task.end(), {"FLUX_JOB_ID=f3", "FLUX_TASK_RANK=0", "FLUX_JOB_NNODES=2"});
  const auto two = in_flux(task, "n[1-9]");
  REQUIRE_FALSE(two);
  CHECK(two.error().text().find("by flux batch or flux alloc") != std::string::npos);
  task.back() = "FLUX_JOB_NNODES=1";
  const auto one = in_flux(task, "n[1-9]");
  REQUIRE(one);
  CHECK_FALSE(one->allocation);
  CHECK(one->set_aside.size() == 1);
  CHECK_FALSE(in_flux(task, "n[1-9]", Scheduler::flux));
}

TEST_CASE("detect: a file that is gone with its job is named, with what to do") {
  const auto gone = detected(kGridEngine);
  REQUIRE_FALSE(gone);
  const std::string text = gone.error().text();
  CHECK(text.find("Grid Engine") != std::string::npos);
  CHECK(text.find("PE_HOSTFILE=/spool/node001/active_jobs/1.1/pe_hostfile") != std::string::npos);
  CHECK(text.find("has the job ended?") != std::string::npos);
  CHECK(text.find("name hosts with -w") != std::string::npos);
}

TEST_CASE("detect: a damaged list is an error that names the variable") {
  const auto broken = detected({"SLURM_JOB_NODELIST=n[1-"});
  REQUIRE_FALSE(broken);
  CHECK(broken.error().kind == ErrorKind::usage);
  CHECK(broken.error().text().find("SLURM_JOB_NODELIST=n[1-") != std::string::npos);
  const auto counts = detected({"SLURM_JOB_NODELIST=n[1-3]", "SLURM_TASKS_PER_NODE=2"});
  REQUIRE_FALSE(counts);
  CHECK(counts.error().text().find("it has 1 counts for 3 hosts") != std::string::npos);
  const auto empty = detected({"PBS_NODEFILE=/f"}, {{"/f", "\n"}});
  REQUIRE_FALSE(empty);
  CHECK(empty.error().text().find("it names no hosts") != std::string::npos);
}

TEST_CASE(
    "detect: of two schedulers, the one with this machine is used, and the other is told of") {
  Words both = kSlurmJob;
  both.insert(both.end(), kPbs.begin(), kPbs.end());
  const auto here = detected(both, kPbsFiles, kNone, "n2");
  REQUIRE(here);
  CHECK(here->allocation->scheduler == Scheduler::pbs);
  REQUIRE(here->set_aside.size() == 1);
  CHECK(here->set_aside[0].scheduler == Scheduler::slurm);
  CHECK(here->set_aside[0].text.find("Slurm, job 2: 3 hosts") == 0);
  CHECK(detected(both, kPbsFiles)->allocation->scheduler == Scheduler::slurm);
}

TEST_CASE("detect: the user chooses between two schedulers") {
  Words both = kSlurmJob;
  both.insert(both.end(), kPbs.begin(), kPbs.end());
  CHECK(detected(both, kPbsFiles, Scheduler::pbs)->allocation->scheduler == Scheduler::pbs);
  const auto missing = detected(both, kPbsFiles, Scheduler::lsf);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().text().find("no variable of such a job is set") != std::string::npos);
}

TEST_CASE("detect: a scheduler that cannot be read does not hide another one") {
  Words both = kSlurmJob;
  both.push_back("PBS_NODEFILE=/gone");
  const auto one = detected(both);
  REQUIRE(one);
  CHECK(one->allocation->scheduler == Scheduler::slurm);
  REQUIRE(one->set_aside.size() == 1);
  CHECK(one->set_aside[0].text.find("PBS_NODEFILE=/gone") != std::string::npos);
}

TEST_CASE("detect: names of a machine with and without its domain are the same machine") {
  CHECK(is_same_machine("n1", "n1"));
  CHECK(is_same_machine("n1.cluster", "n1"));
  CHECK(is_same_machine("n1", "n1.cluster"));
  CHECK_FALSE(is_same_machine("n1.a", "n1.b"));
  CHECK_FALSE(is_same_machine("n10", "n1"));
  CHECK_FALSE(is_same_machine("", "n1"));
}

}  // namespace
}  // namespace scela
