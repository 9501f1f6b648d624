// The options of ClusterShell's clush, of version 1.9.
#include "launcher/core/compat/option_rows.h"
#include "launcher/core/compat/peer_values.h"

namespace scela::peer_tables {
namespace clush_rows {

constexpr std::string_view kNoGroups = "scela-run knows no groups of hosts";
constexpr std::string_view kListHosts = "write the hosts as -w LIST, or as --hostfile=FILE";
constexpr std::string_view kNoConfig = "files of clush are not read";
constexpr std::string_view kOwnConfig = "write defaults to ~/.config/scela/scela-run.conf";
constexpr std::string_view kNoCopy = "no files are copied";
constexpr std::string_view kByScp = "use scp or rsync for each host";
constexpr std::string_view kOwnTree = "ignored: scela-run makes a tree of agents by itself";

// clang-format off
constexpr PeerOption kRows[] = {
    same("--version", "--version"),
    same("-h --help", "--help"),
    refused("-s --groupsource", kOne, kNoGroups, kListHosts),
    same("-n --nostdin", "--stdin=none"),
    refused("--sudo", kNone, "no password is passed on", "write clush ... sudo -n COMMAND, or log in as root by -l"),
    near("--groupsconf", kOne, "", "x", "ignored: there are no groups of hosts"),
    refused("--conf", kOne, kNoConfig, kOwnConfig),
    refused("-O --option", kOne, kNoConfig, "give the option itself, such as -f, -t or -u"),
    same("-w", kOne, "--hosts={}", "n[1-2]", clush_hosts),
    same("-x", kOne, "--exclude={}", "n1", clush_exclude),
    refused("-a --all", kNone, kNoGroups, kListHosts),
    refused("-g --group", kOne, kNoGroups, kListHosts),
    refused("-X", kOne, kNoGroups, "write the hosts as -x LIST"),
    same("--hostfile --machinefile", kOne, "--hosts=^{}", "hosts"),
    near("--topology", kOne, "", "x", kOwnTree),
    refused("--pick", kOne, "hosts are not chosen at random", "choose them by scela-run --nodeset expand LIST | shuf"),
    near("-q --quiet", "", "ignored: scela-run says nothing about hosts that do well"),
    near("-v --verbose", "--verbose", "the lines are those of scela-run"),
    near("-d --debug", "--verbose", "the lines are those of scela-run"),
    near("-G --groupbase", "", "ignored: there are no groups of hosts"),
    refused("-L", kNone, "lines come as soon as hosts write them", "give -b, or sort the lines: clush ... | sort -s -t: -k1,1"),
    same("-N", "--label=no"),
    near("-P --progress", "", "ignored: no progress is shown"),
    near("-b --dshbak", "--gather", "the output is shown when all hosts have ended"),
    near("-B", "--gather", "standard error is not gathered; write 2>&1 in the command"),
    near("-r --regroup", "", "ignored: there are no groups of hosts"),
    same("-S --maxrc", "--exit-status=max"),
    near("--color", kOne, "", "never", "ignored: output has no colours"),
    near("--diff", "--diff", "outputs are compared with that of the most hosts, which is shown whole"),
    near("--outdir", kOne, "--output-dir={}", "out", "the files are DIR/HOST.out and DIR/HOST.err, and lines are not shown"),
    refused("--errdir", kOne, "files of standard error stand beside those of standard output", "give --outdir: the files of standard error are DIR/HOST.err"),
    refused("-c --copy", kNone, kNoCopy, kByScp),
    refused("--rcopy", kNone, kNoCopy, kByScp),
    refused("--dest", kOne, kNoCopy, kByScp),
    refused("-p", kNone, kNoCopy, kByScp),
    same("-f --fanout", kOne, "--fanout={}", "32"),
    same("-l --user", kOne, "--user={}", "root"),
    near("-o --options", kOne, "--launch=ssh-exec:ssh ... {}", "-p 22", "agents are started by the ssh command, and not by scela-run's own ssh", clush_ssh_options),
    near("-t --connect_timeout", kOne, "--connect-timeout={}", "10", "it is the limit of each phase of reaching a host"),
    same("-u --command_timeout", kOne, "--host-timeout={}", "60"),
    refused("-m --mode", kOne, kNoConfig, kOwnConfig),
    near("-R --worker", kOne, "--launch=ssh|rsh:rsh", "ssh", "known are ssh and rsh; exec and other workers are refused", pdsh_module),
    near("--remote", kOne, "", "yes", kOwnTree),
};
// clang-format on

}  // namespace clush_rows

std::span<const PeerOption> clush() {
  return clush_rows::kRows;
}

}  // namespace scela::peer_tables
