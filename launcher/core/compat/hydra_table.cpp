// The options of Hydra 4, the mpiexec of MPICH. A word may have one dash or two.
#include "launcher/core/compat/option_rows.h"
#include "launcher/core/compat/peer_values.h"

namespace scela::peer_tables {
namespace hydra_rows {

constexpr std::string_view kWholeJob = "it holds for all programs of the job";
constexpr std::string_view kOwnNetwork =
    "ignored: agents are reached by the hosts' names, and -iface chooses a network";
constexpr std::string_view kOwnParts = "ignored: scela-run has no such parts to choose from";
constexpr std::string_view kFilesByRank =
    "names need %r and may have %h; both streams of a rank go to files, with .out and .err at the "
    "ends of their names";
constexpr std::string_view kOutputDir =
    "set SCELA_OUTPUT_DIR=DIR, or call scela-run --output-dir DIR";
constexpr std::string_view kNoGpus = "scela-run shares out whole GPUs";
constexpr std::string_view kSetVisible = "let the program choose its GPU by SCELA_LOCAL_RANK";

// clang-format off
constexpr PeerOption kRows[] = {
    same("-h -help", "--help"),
    same("-genv", kVariable, "--genv={}", "NAME=1"),
    same("-genvlist", kOne, "--env-pass={}", "HOME,PATH"),
    near("-genvnone", "--env-pass=none", "ranks find the variables SCELA_* and PMI_* of their own, and no PATH"),
    same("-genvall", "--env-pass=all"),
    near("-f -hostfile -machinefile", kOne, "--hosts=HOST:N,...", "hosts", "of the keys behind a host, slots, max_slots and port are known, binding and user are not", hydra_hostfile),
    same("-hosts -host -hostlist -machine -machines -machinelist", kOne, "--hosts=HOST:N,...", "a,b:2", hydra_hosts),
    same("-ppn", kOne, "--hosts=HOST:N,...", "2", hydra_ppn),
    refused("-rankmap", kOne, "ranks are placed by hosts and slots, or by a file", "set SCELA_RANKFILE=FILE, or call scela-run --rankfile FILE"),
    near("-profile", "--stats", "the statistics are those of scela-run"),
    refused("-output-from", kOne, "the output of one rank alone cannot be chosen", kOutputDir),
    near("-prepend-rank -l", kNone, "--label=PATTERN", "", "lines begin with '[3] ', and ranks have as many digits as the largest", hydra_label),
    near("-prepend-pattern", kOne, "--label=PATTERN", "%r@%h: ", "known are %r, %h and %p, the host's number; %g and %t are refused", hydra_pattern),
    near("-outfile-pattern -outfile", kOne, "--output-dir=DIR --output-name=NAME", "out/%r.out", kFilesByRank, hydra_output),
    near("-errfile-pattern -errfile", kOne, "--output-dir=DIR --output-name=NAME", "out/%r.err", kFilesByRank, hydra_error),
    same("-wdir", kOne, "--wdir={}", "/tmp"),
    near("-configfile", kOne, "PROGRAM : PROGRAM", "programs", "each line of the file is a program with its options; options before -configfile hold too", programs_of_file),
    same("-env", kVariable, "--env={}", "NAME=1"),
    near("-envlist", kOne, "--env-pass={}", "HOME,PATH", kWholeJob),
    near("-envnone", "--env-pass=none", kWholeJob),
    near("-envall", "--env-pass=all", kWholeJob),
    same("-n -np", kOne, "--np={}", "2"),
    near("-launcher -bootstrap", kOne, "--launch=ssh|rsh:rsh|local|sge|lsf", "fork", "known are ssh, rsh, fork, sge and lsf; other values are refused", hydra_launcher),
    near("-launcher-exec -bootstrap-exec", kOne, "--launch=ssh-exec:{}", "ssh", "the program gets '-p PORT' for a host with a port, the host and the command"),
    refused("-enable-x", kNone, "no X11 connection is forwarded", "export DISPLAY by -genv where the X server can be reached"),
    near("-disable-x", "", "ignored: no X11 connection is forwarded"),
    near("-rmk", kOne, "", "user", "only 'user' is known: hosts come from the command line", hydra_rmk),
    near("-topolib", kOne, "", "hwloc", kOwnParts),
    near("-bind-to -binding", kOne, "--bind-to=WHAT", "core", "known are none, hwthread, core, l3cache, numa and socket, with :1 at most", hydra_binding),
    near("-map-by", kOne, "--map-by=WHAT", "socket", "known are hwthread, core, l3cache, numa and socket, with :1 at most", hydra_mapping),
    near("-membind", kOne, "--mem-bind=WHAT", "firsttouch", "known are none, firsttouch, bind:numa and interleave:numa, of the processors of each rank", hydra_membind),
    near("-demux", kOne, "", "poll", kOwnParts),
    near("-verbose -v -debug", "--verbose", "the lines are those of scela-run"),
    near("-info -version", "--version", "the version is that of scela-run"),
    near("-print-all-exitcodes", "", "ignored: standard error always counts the ranks by the way they ended"),
    same("-iface", kOne, "--network={}", "eth0"),
    near("-nameserver", kOne, "", "host:1", "ignored: agents serve published names"),
    near("-disable-auto-cleanup", "--on-failure=wait", "an MPI_Abort of a rank still ends the job"),
    same("-enable-auto-cleanup", "--on-failure=kill"),
    near("-disable-hostname-propagation -enable-hostname-propagation", "", "ignored: ranks find the names of hosts in SCELA_NODE"),
    refused("-order-nodes", kOne, "hosts keep their order", "write the hosts in the order that is wanted"),
    near("-localhost", kOne, "", "node0", kOwnNetwork),
    same("-usize", kOne, "--usize={}", "INFINITE"),
    same("-pmi-port", "--pmi=port"),
    refused("-skip-launch-node", kNone, "this machine is a host like others", "leave it out of -hosts, or set SCELA_EXCLUDE=HOST"),
    same("-g -gpus-per-proc", kOne, "--gpus-per-rank={}", "1"),
    refused("-gpu-subdevs-per-proc", kOne, kNoGpus, kSetVisible),
    near("-hybrid-hosts", "", "ignored: each host looks for the program by its own PATH"),
};
// clang-format on

}  // namespace hydra_rows

std::span<const PeerOption> hydra() {
  return hydra_rows::kRows;
}

}  // namespace scela::peer_tables
