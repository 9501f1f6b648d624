// The options of Open MPI's mpirun, of versions 4 and 5. A word may have one dash or two.
#include "launcher/core/compat/option_rows.h"
#include "launcher/core/compat/peer_values.h"

namespace scela::peer_tables {
namespace openmpi_rows {

constexpr std::string_view kNoDaemons = "ignored: agents are started for this job, and end with it";
constexpr std::string_view kNoVm = "no daemons outlive a job";
constexpr std::string_view kOneRun = "run the job by itself, without --dvm and --hnp";
constexpr std::string_view kRuntime =
    "ignored: it is for Open MPI's own runtime, which does not run here";
constexpr std::string_view kMcaValue =
    "of the parameter, the libraries in the ranks see OMPI_MCA_NAME; of the runtime's own, "
    "oob_tcp_if_include is --network, and others have no effect";
constexpr std::string_view kShownAs = "in the form of scela-run's --show-map";
constexpr std::string_view kLogForm = "the lines are those of scela-run";
constexpr std::string_view kNoDebugger = "scela-run starts no debugger but gdb";
constexpr std::string_view kReleased =
    "the ranks go on with the event PMIX_DEBUGGER_RELEASE, or those of --stop-on-exec with SIGCONT";
constexpr std::string_view kAttach =
    "call scela-run --gdb all ./program, or start scela-run by the debugger";
constexpr std::string_view kNoRestart = "failed ranks are not started again";
constexpr std::string_view kLibraryOnly = "the option is not passed to the library";
constexpr std::string_view kByMca = "set it by --mca NAME VALUE";
constexpr std::string_view kNoFiles = "no files are copied to the hosts";
constexpr std::string_view kCopyFirst =
    "copy them before the job, or use a directory that the hosts share";
constexpr std::string_view kNoXml = "output has no XML form";
constexpr std::string_view kJson =
    "set SCELA_STATS=json for figures, or SCELA_OUTPUT_DIR=DIR for files";
constexpr std::string_view kNoSet = "ranks choose cores from all that the node allows";
constexpr std::string_view kTaskset = "use --rankfile, or start mpirun by taskset";
constexpr std::string_view kIgnoredNames =
    "ignored: names are looked up when the hosts are reached";

// clang-format off
constexpr PeerOption kRows[] = {
    same("-h --help", "--help"),
    same("-V --version", "--version"),
    near("-v --verbose", "--verbose", kLogForm),
    near("-q --quiet", "", "ignored: scela-run says nothing about a job that goes well"),
    same("-n --n -np --np -c", kOne, "--np={}", "2"),
    same("-N -npernode --npernode", kOne, "--ppn={}", "2", openmpi_per_node),
    same("-pernode --pernode", kNone, "--ppn=1", "", openmpi_one_per_node),
    refused("-npersocket --npersocket", kOne, "a number of ranks for each socket cannot be given", "give -N and --map-by socket"),
    near("--ppr", kOne, "--ppn=N", "2:node", "the object must be node", openmpi_ppr),
    same("-H -host --host", kOne, "--hosts=HOST:N,...", "a,b:2", openmpi_hosts),
    near("-hostfile --hostfile -machinefile --machinefile", kOne, "--hostfile={}", "hosts", "a file beside --host is refused"),
    near("-default-hostfile --default-hostfile", kOne, "--hostfile={}", "hosts", "a file beside --host is refused"),
    same("-x", kOne, "--env=NAME=VALUE", "NAME=1", openmpi_export),
    same("-wd --wd -wdir --wdir", kOne, "--wdir={}", "/tmp"),
    same("-path --path", kOne, "--path={}", "/opt/bin"),
    same("--map-by", kOne, "--map-by=WHAT or --ppn=N", "ppr:2:node", openmpi_mapping),
    near("--rank-by", kOne, "--rank-by={}", "node", "known are slot, node, fill, core, l3cache, numa and socket (package)", openmpi_ranking),
    near("--bind-to", kOne, "--bind-to={}", "core", "known are none, hwthread, core, l3cache, numa and socket (package)", openmpi_binding),
    same("-bind-to-core --bind-to-core", "--bind-to=core"),
    same("-bind-to-socket --bind-to-socket", "--bind-to=socket"),
    same("-bycore --bycore", "--map-by=core --rank-by=core"),
    same("-bynode --bynode", "--map-by=node --rank-by=node"),
    same("-byslot --byslot", "--map-by=slot --rank-by=slot"),
    same("-cpus-per-proc --cpus-per-proc -cpus-per-rank --cpus-per-rank", kOne, "--cpus-per-rank={}", "2"),
    same("-oversubscribe --oversubscribe", "--oversubscribe"),
    near("-nooversubscribe --nooversubscribe", "", "ignored: this is the default where hosts have slots"),
    near("-use-hwthread-cpus --use-hwthread-cpus", "--bind-to=hwthread", "each rank is bound to a hardware thread"),
    near("-rf --rankfile", kOne, "--rankfile={}", "ranks", "relative hosts (+n0) are not known"),
    refused("-cpu-list --cpu-list", kOne, kNoSet, kTaskset),
    refused("-cpu-set --cpu-set", kOne, kNoSet, kTaskset),
    refused("-nolocal --nolocal", kNone, "this machine is a host like others", "leave it out of --host, or set SCELA_EXCLUDE=HOST"),
    same("-report-bindings --report-bindings", "--report-bindings"),
    near("-display-map --display-map", "--show-map", kShownAs),
    near("-display-devel-map --display-devel-map", "--show-map", kShownAs),
    near("-display-diffable-map --display-diffable-map", "--show-map", kShownAs),
    near("-display-allocation --display-allocation", "--show-map", kShownAs),
    near("-display-devel-allocation --display-devel-allocation", "--show-map", kShownAs),
    near("-display-topo --display-topo", "--show-map", kShownAs),
    near("--display", kOne, "--show-map or --report-bindings", "map,bind", kShownAs, openmpi_display),
    near("-do-not-launch --do-not-launch", "--dry-run", "the plan is shown in the form of --dry-run"),
    near("-tag-output --tag-output", kNone, "--label=[1,%r]<std%s>:", "", "the job is always 1, and ranks have as many digits as the largest", openmpi_tag),
    near("-timestamp-output --timestamp-output", "--timestamp", "the time is that of the line on its host, as 12:34:56.789"),
    near("--output", kOne, "--label, --timestamp or --output-dir=DIR", "tag,timestamp", "known are tag, as --tag-output, rank, timestamp and dir=DIR; the files are rank.R.out and rank.R.err", openmpi_output),
    near("-output-filename --output-filename", kOne, "--output-dir={}", "out", "the files are DIR/rank.R.out and DIR/rank.R.err, and lines are not shown"),
    refused("-merge-stderr-to-stdout --merge-stderr-to-stdout", kNone, "each stream of a rank stays apart", "write mpirun ... 2>&1"),
    same("-stdin --stdin", kOne, "--stdin={}", "all"),
    refused("-xml --xml", kNone, kNoXml, kJson),
    refused("-xml-file --xml-file", kOne, kNoXml, kJson),
    refused("-xterm --xterm", kOne, "no rank gets a window", "call scela-run --tmux ./program for a pane of tmux for each rank"),
    near("-timeout --timeout", kOne, "--timeout={}", "60", "the exit status is 124"),
    near("-get-stack-traces --get-stack-traces", "--stack-traces", "the stacks are read by gdb, and equal ones are shown once"),
    near("-report-state-on-timeout --report-state-on-timeout", "", "ignored: the ranks are always counted by the way they ended"),
    refused("--spawn-timeout", kOne, "the start of ranks has no limit of its own", "set SCELA_CONNECT_TIMEOUT=TIME for each host, or give --timeout"),
    near("-mca --mca", kPair, "--env=OMPI_MCA_NAME=VALUE", "btl self,tcp", kMcaValue, openmpi_mca),
    near("-gmca --gmca --omca --gomca", kPair, "--env=OMPI_MCA_NAME=VALUE", "btl self,tcp", kMcaValue, openmpi_mca),
    near("--pmixmca --gpmixmca", kPair, "--env=PMIX_MCA_NAME=VALUE", "psec native", "of the parameter, the libraries in the ranks see PMIX_MCA_NAME", openmpi_pmixmca),
    near("--prtemca", kPair, "--network=LIST", "prte_if_include ib0", "prte_if_include is --network; all else is for Open MPI's own runtime and ignored", openmpi_prtemca),
    refused("-am --am --amca", kOne, "files of parameters are not read", kByMca),
    refused("-tune --tune", kOne, "files of parameters are not read", kByMca),
    near("-allow-run-as-root --allow-run-as-root", "", "ignored: any user may run jobs"),
    near("--app", kOne, "PROGRAM : PROGRAM", "programs", "each line of the file is a program with its options; options before --app hold too", programs_of_file),
    near("-prefix --prefix", kOne, "", "/opt/openmpi", "ignored: no part of Open MPI is started on hosts; set LD_LIBRARY_PATH by -x if the program needs it"),
    near("-noprefix --noprefix", "", kRuntime),
    near("-launch-agent --launch-agent", kOne, "", "orted", kRuntime),
    near("-leave-session-attached --leave-session-attached", "", kNoDaemons),
    near("-debug-daemons --debug-daemons", "--verbose", kLogForm),
    near("-debug-daemons-file --debug-daemons-file", "--verbose", "the lines are those of scela-run, on standard error"),
    near("-d -debug-devel --debug-devel", "--verbose", kLogForm),
    refused("-debug --debug -tv --tv", kNone, kNoDebugger, kAttach),
    refused("-debugger --debugger", kOne, kNoDebugger, kAttach),
    refused("-output-proctable --output-proctable", kAttached, "the table of processes is printed on request only", "run scela-run --attach PID with the process number of this mpirun"),
    near("--stop-on-exec", "--stop-on-exec", kReleased),
    near("--stop-in-init", "--stop-in-init", kReleased),
    refused("--stop-in-app", kAttached, kNoDebugger, kAttach),
    near("--test-suicide", kOne, "", "1", kRuntime),
    refused("-dvm --dvm", kNone, kNoVm, kOneRun),
    refused("-hnp --hnp", kOne, kNoVm, kOneRun),
    near("-novm --novm", "", kNoDaemons),
    near("-max-vm-size --max-vm-size", kOne, "", "4", kNoDaemons),
    refused("--daemonize --system-server --set-sid --no-ready-msg", kNone, kNoVm, kOneRun),
    refused("--keepalive --singleton", kOne, kNoVm, kOneRun),
    near("-fwd-mpirun-port --fwd-mpirun-port", "", kNoDaemons),
    near("-enable-instant-on-support --enable-instant-on-support", "", kRuntime),
    near("-use-regexp --use-regexp", "", kRuntime),
    near("-do-not-resolve --do-not-resolve", "", kIgnoredNames),
    near("-personality --personality", kOne, "", "ompi", "ignored: scela-run finds out which PMI a program needs"),
    near("-ompi-server --ompi-server", kOne, "", "file:x", "ignored: agents serve published names, within a job"),
    refused("-report-events --report-events", kOne, "no tool is called back", "set SCELA_TRACE=FILE for a trace"),
    refused("-report-pid --report-pid", kOne, "scela-run does not print its process number", "write sh -c 'echo $$; exec mpirun ...'"),
    refused("-report-uri --report-uri", kOne, kNoVm, kOneRun),
    near("-report-child-jobs-separately --report-child-jobs-separately", "", "ignored: spawned ranks are ranks of the job"),
    near("-show-progress --show-progress", "--verbose", kLogForm),
    refused("-index-argv-by-rank --index-argv-by-rank", kNone, "all ranks of a program have the same arguments", "read SCELA_RANK in a script"),
    refused("-s -preload-binary --preload-binary", kNone, kNoFiles, kCopyFirst),
    refused("-preload-files --preload-files", kOne, kNoFiles, kCopyFirst),
    refused("-set-cwd-to-session-dir --set-cwd-to-session-dir", kNone, "ranks have no session directory", "give --wdir DIR"),
    refused("--tmpdir", kOne, "ranks have no session directory", "give -x TMPDIR=DIR"),
    near("-cf --cartofile", kOne, "", "x", kRuntime),
    refused("-continuous --continuous", kNone, kNoRestart, "set SCELA_ON_FAILURE=wait for a job that goes on without them"),
    near("-disable-recovery --disable-recovery", "", "ignored: failed ranks are never started again"),
    refused("-enable-recovery --enable-recovery", kNone, kNoRestart, "set SCELA_ON_FAILURE=wait for a job that goes on without them"),
    refused("-max-restarts --max-restarts", kOne, kNoRestart, "start the job again in a loop of the shell"),
    near("--with-ft", kOne, "--on-failure=wait", "ulfm", "the other ranks go on when one fails"),
    near("--forward-signals", kOne, "", "SIGUSR1", "ignored: SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are passed on"),
    near("--stream-buffering", kOne, "", "1", "ignored: output is shown as whole lines"),
    refused("--pset", kOne, "programs get no names for sets of processes", "give each program an argument of its own"),
    refused("--initial-errhandler", kOne, kLibraryOnly, kByMca),
    refused("--display-comm --display-comm-finalize", kNone, kLibraryOnly, "give --mca ompi_display_comm mpi_init"),
    near("--soft --arch --file", kOne, "", "x", "ignored, as by Open MPI"),
};
// clang-format on

}  // namespace openmpi_rows

std::span<const PeerOption> openmpi() {
  return openmpi_rows::kRows;
}

}  // namespace scela::peer_tables
