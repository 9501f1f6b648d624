// The options of Slurm's srun, of versions 22.05 to 24.
#include "launcher/core/compat/option_rows.h"
#include "launcher/core/compat/peer_values.h"

namespace scela::peer_tables {
namespace srun_rows {

constexpr std::string_view kQueue = "ignored: there is no queue and no accounting";
constexpr std::string_view kAllHere = "ignored: a job has all of its hosts at once";
constexpr std::string_view kNoScheduler = "scela-run does not share out this resource";
constexpr std::string_view kAskSlurm =
    "ask for it in the allocation (salloc, sbatch), and leave it out here";
constexpr std::string_view kNoGpus = "scela-run does not share out GPUs";
constexpr std::string_view kSetVisible = "let the program choose its GPU by SCELA_LOCAL_RANK";
constexpr std::string_view kNoHooks = "no other programs run beside the ranks";
constexpr std::string_view kInScript =
    "write the commands in a script around srun, or around the program";
constexpr std::string_view kNoCopy = "no files are copied to the hosts";
constexpr std::string_view kCopyFirst =
    "copy them before the job, or use a directory that the hosts share";
constexpr std::string_view kPerObject = "a number of ranks for each core or socket cannot be given";
constexpr std::string_view kByMapping = "give --ntasks-per-node and --cpu-bind";
constexpr std::string_view kFilesOfTasks =
    "'all', or names with %t, and %N, %n, %j and %% if need be; both streams of a task go to "
    "files, "
    "with .out and .err at the ends of their names";
constexpr std::string_view kOwnUser = "ranks run as the user of the login";
constexpr std::string_view kLoginAs = "set SCELA_USER=NAME";

// clang-format off
constexpr PeerOption kRows[] = {
    near("-A --account", kOne, "", "x", kQueue),
    near("--acctg-freq", kOne, "", "task=1", kQueue),
    refused("--accel-bind", kOne, kNoGpus, kSetVisible),
    refused("--bb", kOne, kNoScheduler, kAskSlurm),
    refused("--bbf", kOne, kNoScheduler, kAskSlurm),
    refused("--bcast", kAttached, kNoCopy, kCopyFirst),
    near("--bcast-exclude", kOne, "", "/lib", "ignored: no files are copied to the hosts"),
    refused("-b --begin", kOne, "a job begins at once", "start srun by at(1)"),
    near("-c --cpus-per-task", kOne, "--cpus-per-rank={}", "2", "cores are counted, and each rank is bound to its own"),
    near("--comment", kOne, "", "x", kQueue),
    near("--compress", kAttached, "", "", "ignored: no files are copied to the hosts"),
    refused("--container", kOne, "no container is started", "start the program by the container's command, as in srun podman run ..."),
    near("--container-id", kOne, "", "x", kQueue),
    refused("--cpu-freq", kOne, "the clock of processors is not set", "set it by cpupower on the hosts"),
    near("-d --dependency", kOne, "", "singleton", "ignored: a job begins at once"),
    near("--deadline", kOne, "", "now+1hour", "ignored: a job begins at once; its limit is --time"),
    near("--delay-boot", kOne, "", "1", kQueue),
    same("-D --chdir", kOne, "--wdir={}", "/tmp"),
    near("--export", kOne, "--env-pass=all|none|NAMES, --genv=NAME=VALUE", "ALL,NAME=1", "ranks never inherit variables of this login, such as SSH_CONNECTION", srun_export),
    refused("--export-file", kOne, "variables are not read from a file", "give --export=NAME=VALUE,..."),
    near("-e --error", kOne, "--output-dir=DIR --output-name=NAME", "job.%t.err", kFilesOfTasks, srun_error),
    refused("--epilog", kOne, kNoHooks, kInScript),
    near("-E --preserve-env", "", "ignored: SLURM_NNODES and SLURM_NTASKS set nothing here"),
    near("--external-launcher", "", kAllHere),
    refused("--gres", kOne, kNoScheduler, kAskSlurm),
    near("--gres-flags", kOne, "", "x", kQueue),
    near("-H --hold", "", "ignored: a job begins at once"),
    near("-i --input", kOne, "--stdin={}", "none", "known are all, none and the number of a task; files are refused", srun_input),
    near("-I --immediate", kAttached, "", "", "ignored: a job begins at once"),
    near("--jobid", kOne, "", "1", "ignored: the hosts are those of -w or of SLURM_JOB_NODELIST"),
    near("-J --job-name", kOne, "", "x", kQueue),
    near("-k --no-kill", kAttached, "--on-failure=wait", "", "the other ranks go on also if a task fails"),
    same("-K --kill-on-bad-exit", kAttached, "--on-failure=kill|wait", "1", srun_kill),
    near("-l --label", "--label", "the numbers of tasks have as many digits as the largest"),
    near("-L --licenses", kOne, "", "x", kQueue),
    near("-M --clusters", kOne, "", "x", kQueue),
    near("-m --distribution", kOne, "--map-by=slot|node", "cyclic", "known are block and cyclic, and what follows a colon is not obeyed", srun_distribution),
    near("--mail-type", kOne, "", "END", kQueue),
    near("--mail-user", kOne, "", "me", kQueue),
    near("--mcs-label", kOne, "", "x", kQueue),
    same("--mpi", kOne, "--pmi={}", "pmi2", srun_mpi),
    refused("--multi-prog", kNone, "the programs are not read from a file", "write them on the command line, with ':' between them"),
    same("-n --ntasks", kOne, "--np={}", "2"),
    near("--nice", kAttached, "", "", kQueue),
    same("--ntasks-per-node --tasks-per-node", kOne, "--ppn={}", "2"),
    near("-N --nodes", kOne, "--hosts=FIRST-HOSTS", "1", "the hosts are the first ones of -w or of SLURM_JOB_NODELIST", srun_nodes),
    near("-F --nodefile", kOne, "--hosts=^{}", "hosts", "the hosts keep the order of the file", srun_nodefile),
    near("-o --output", kOne, "--output-dir=DIR --output-name=NAME", "job.%t.out", kFilesOfTasks, srun_output),
    near("--open-mode", kOne, "", "append", "ignored: no file is opened for output"),
    same("-O --overcommit", "--oversubscribe"),
    near("--overlap", "", kAllHere),
    near("--het-group --pack-group", kOne, "", "0", kAllHere),
    near("-p --partition", kOne, "", "x", kQueue),
    near("--power", kOne, "", "x", kQueue),
    near("--prefer", kOne, "", "x", kQueue),
    near("--priority", kOne, "", "1", kQueue),
    refused("--prolog", kOne, kNoHooks, kInScript),
    near("--profile", kOne, "", "none", kQueue),
    refused("--propagate", kAttached, "limits are those of the login on each host", "set them by ulimit in a script"),
    same("--pty", "--pty"),
    near("--quit-on-interrupt", "", "ignored: a signal always ends the job"),
    near("-q --qos", kOne, "", "x", kQueue),
    near("-Q --quiet", "", "ignored: scela-run says nothing about a job that goes well"),
    near("--reboot", "", kQueue),
    same("-r --relative", kOne, "--hosts=OTHER-HOSTS", "0", srun_relative),
    near("-s --oversubscribe --share", "", kAllHere),
    near("-S --core-spec", kOne, "", "1", kQueue),
    near("--send-libs", kAttached, "", "", "ignored: no files are copied to the hosts"),
    refused("--signal", kOne, "no signal is sent before the time limit", "set SCELA_GRACE=TIME, the time between SIGTERM and SIGKILL"),
    near("--slurmd-debug", kOne, "--verbose", "1", "the lines are those of scela-run"),
    near("--spread-job", "", "ignored: ranks without slots are always spread over all hosts"),
    near("--stepmgr", "", kQueue),
    near("--switches", kOne, "", "1", kQueue),
    refused("--task-epilog", kOne, kNoHooks, kInScript),
    refused("--task-prolog", kOne, kNoHooks, kInScript),
    near("--thread-spec", kOne, "", "1", kQueue),
    same("-T --threads", kOne, "--fanout={}", "32"),
    near("--treewidth", kOne, "--degree={}", "16", "the number is that of the children of each agent"),
    same("-t --time", kOne, "--timeout=TIME", "1:30:00", srun_time),
    near("--time-min", kOne, "", "1", kQueue),
    near("--test-only", "--dry-run", "the plan is shown in the form of --dry-run"),
    near("-u --unbuffered", "", "ignored: output is shown as whole lines, as soon as they are complete"),
    near("--use-min-nodes", "", kAllHere),
    near("-v --verbose", "--verbose", "the lines are those of scela-run"),
    near("-W --wait", kOne, "", "0", "only 0 is known, which is no limit from the first end of a task on", srun_wait),
    near("--wckey", kOne, "", "x", kQueue),
    near("-X --disable-status", "", "ignored: a signal always ends the job"),
    refused("--x11", kAttached, "no X11 connection is forwarded", "export DISPLAY where the X server can be reached"),
    near("--cluster-constraint", kOne, "", "x", kQueue),
    near("--contiguous", "", kAllHere),
    refused("-C --constraint", kOne, kNoScheduler, kAskSlurm),
    near("--mem", kOne, "", "4G", "ignored with a warning: memory is neither reserved nor limited", srun_memory),
    refused("--mincpus", kOne, kNoScheduler, kAskSlurm),
    near("--reservation", kOne, "", "x", kQueue),
    refused("--tmp", kOne, kNoScheduler, kAskSlurm),
    same("-w --nodelist", kOne, "--hosts={}", "n[1-2]", srun_nodelist),
    near("-x --exclude", kOne, "--hosts=OTHER-HOSTS", "n1", "names that are in no list are no error", srun_exclude),
    near("-Z --no-allocate", "", kAllHere),
    near("--exact", "", kAllHere),
    near("--exclusive", kAttached, "", "", kAllHere),
    refused("--mem-per-cpu", kOne, kNoScheduler, kAskSlurm),
    refused("--resv-ports", kAttached, "no ports are reserved", "let the MPI library choose its ports"),
    near("--cpu-bind", kOne, "--bind-to=WHAT", "cores", "known are none, cores, sockets, ldoms and threads, behind 'verbose,' or 'quiet,'", srun_binding),
    near("--mem-bind", kOne, "--mem-bind=local|prefer|none", "local", "known are none, local, prefer, rank (as local) and sort, behind 'verbose,' or 'quiet,'", srun_mem_bind),
    near("--hint", kOne, "", "nomultithread", "ignored with a warning: --cpu-bind and -c say where tasks run", srun_hint),
    refused("--network", kOne, "resources of a switch are not asked for", "leave it out, or set SCELA_NETWORK to a network of the hosts"),
    near("--msg-timeout", kOne, "", "10", "ignored: each phase of a start has the limit SCELA_CONNECT_TIMEOUT"),
    refused("--sockets-per-node", kOne, kNoScheduler, kAskSlurm),
    refused("--cores-per-socket", kOne, kNoScheduler, kAskSlurm),
    refused("--threads-per-core", kOne, kNoScheduler, kAskSlurm),
    refused("-B --extra-node-info", kOne, kNoScheduler, kAskSlurm),
    refused("--ntasks-per-core", kOne, kPerObject, kByMapping),
    refused("--ntasks-per-socket", kOne, kPerObject, kByMapping),
    refused("--ntasks-per-gpu", kOne, kNoGpus, kSetVisible),
    refused("--tres-per-task --tres-bind", kOne, kNoScheduler, kAskSlurm),
    refused("--cpus-per-gpu", kOne, kNoGpus, kSetVisible),
    refused("-G --gpus", kOne, kNoGpus, kSetVisible),
    refused("--gpu-bind", kOne, kNoGpus, kSetVisible),
    refused("--gpu-freq", kOne, kNoGpus, kSetVisible),
    refused("--gpus-per-node", kOne, kNoGpus, kSetVisible),
    refused("--gpus-per-socket", kOne, kNoGpus, kSetVisible),
    refused("--gpus-per-task", kOne, kNoGpus, kSetVisible),
    refused("--mem-per-gpu", kOne, kNoGpus, kSetVisible),
    refused("--gid", kOne, kOwnUser, kLoginAs),
    refused("--uid", kOne, kOwnUser, kLoginAs),
    near("--ctrl-comm-ifhn", kOne, "", "x", "ignored: SCELA_NETWORK chooses the network of agents"),
    near("--mpi-combine", kOne, "", "yes", kAllHere),
    same("-h --help", "--help"),
    same("--usage", "--help"),
    same("-V --version", "--version"),
};
// clang-format on

}  // namespace srun_rows

std::span<const PeerOption> srun() {
  return srun_rows::kRows;
}

}  // namespace scela::peer_tables
