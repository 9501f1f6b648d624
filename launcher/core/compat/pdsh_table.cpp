// The options of pdsh and of its usual modules, which are those of pdcp too, and those of dshbak.
#include "launcher/core/compat/option_rows.h"
#include "launcher/core/compat/peer_values.h"

namespace scela::peer_tables {
namespace pdsh_rows {

constexpr std::string_view kNoGroups = "scela-run knows no groups of hosts";
constexpr std::string_view kListHosts = "write the hosts as -w LIST, or as -w ^FILE";
constexpr std::string_view kNoModules = "scela-run has no modules";
constexpr std::string_view kLeaveOut = "leave it out";
constexpr std::string_view kFilesByHost = "dshbak's files are not written";
constexpr std::string_view kOutputDir =
    "run the command with SCELA_OUTPUT_DIR=DIR: its files are HOST.out and HOST.err";

// clang-format off
constexpr PeerOption kPdsh[] = {
    same("-w", kOne, "--hosts={}", "n[1-2],n5", pdsh_hosts),
    same("-x", kOne, "--exclude={}", "n1", pdsh_exclude),
    same("-S", "--exit-status=max"),
    same("-h", "--help"),
    near("-s", "", "ignored, as outside AIX"),
    near("-q", "--show-config", "all settings are shown, in the form of --show-config"),
    near("-b", "", "ignored: one signal always ends the job"),
    same("-l", kOne, "--user={}", "root"),
    near("-t", kOne, "--connect-timeout={}", "10", "it is the limit of each phase of reaching a host"),
    same("-u", kOne, "--host-timeout={}", "60"),
    same("-f", kOne, "--fanout={}", "32"),
    near("-R", kOne, "--launch=ssh|rsh:rsh", "ssh", "known are ssh and rsh; exec and other modules are refused", pdsh_module),
    refused("-M", kOne, kNoModules, kLeaveOut),
    refused("-L", kNone, kNoModules, "run pdsh -h, which lists the options"),
    same("-N", "--label=no"),
    near("-d", "--verbose", "the lines are those of scela-run"),
    same("-V", "--version"),
    refused("-k", kNone, "hosts on which the command goes well are not disturbed", "set SCELA_ON_FAILURE=kill"),
    refused("-a", kNone, kNoGroups, kListHosts),
    refused("-A", kNone, kNoGroups, kListHosts),
    refused("-g", kOne, kNoGroups, kListHosts),
    refused("-X", kOne, kNoGroups, "write the hosts as -x LIST"),
    refused("-F", kOne, kNoGroups, kListHosts),
    refused("-i", kNone, kNoGroups, kListHosts),
    refused("-v", kNone, "no service is asked which hosts are up", "leave it out: hosts that cannot be reached are told, and the others go on"),
    refused("-j", kOne, "no scheduler is asked for hosts", "write -w \"$SLURM_JOB_NODELIST\""),
    refused("-P", kOne, "no scheduler is asked for hosts", "write the hosts of sinfo -h -o %N as -w LIST"),
    refused("-C", kOne, "no scheduler is asked for hosts", "write the hosts of sinfo -h -o %N as -w LIST"),
    refused("-r", kNone, "no files are copied", "use scp or rsync for each host"),
    refused("-p", kNone, "no files are copied", "use scp or rsync for each host"),
    refused("-e", kOne, "no files are copied", "use scp or rsync for each host"),
};

constexpr PeerOption kDshbak[] = {
    same("-h", "--help"),
    near("-c", kNone, "", "", "hosts of the same output share a header, which names them as n[1-4,7]", dshbak_coalesce),
    refused("-d", kOne, kFilesByHost, kOutputDir),
    refused("-f", kNone, kFilesByHost, kOutputDir),
};
// clang-format on

}  // namespace pdsh_rows

std::span<const PeerOption> pdsh() {
  return pdsh_rows::kPdsh;
}
std::span<const PeerOption> dshbak() {
  return pdsh_rows::kDshbak;
}

}  // namespace scela::peer_tables
