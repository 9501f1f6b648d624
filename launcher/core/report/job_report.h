// Formats the text that the user reads about a job: the plan before it (--show-map), the verdict
// after it, and the exit status. The command and the session use it.
//
// All functions are pure. The exit table here is the only one: the manual page prints it, and
// exit_status() returns its codes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/error.h"
#include "common/core/placement/rank_map.h"
#include "common/core/rank_set.h"
#include "launcher/core/map/mapping.h"

namespace scela {

// Exit statuses of scela-run itself. The exit code of a failed rank is passed through.
enum ExitStatus : int {
  kExitSuccess = 0,
  // A rank ended without finalizing, or broke the PMI protocol.
  kExitUnclean = 1,
  kExitUsage = 64,  // as sysexits.h, if it has the number
  kExitUnreachable = 68,
  kExitInternal = 70,
  kExitLaunch = 71,
  kExitOutput = 74,
  kExitTimeout = 124,        // as timeout(1)
  kExitNotExecutable = 126,  // as the shells
  kExitNotFound = 127,
  kExitSignal = 128,  // plus the number of the signal
};

// A row of the table of exit statuses, as the manual page prints it.
struct ExitRow {
  std::string_view code;  // "64", "128+N"
  std::string_view meaning;
};
// Returns all exit statuses and their meanings, in ascending order of the statuses.
std::span<const ExitRow> exit_table();
// Returns the status for an error that ended scela-run before, or instead of, a verdict.
int exit_status(ErrorKind kind);

// Says how the exit status follows from what failed (--exit-status). Errors of the whole job, such
// as a time limit or an interrupt, have their statuses under every rule.
enum class StatusRule : std::uint8_t {
  automatic,  // first; largest if the program ran once on each host
  first,      // the status of the rank that failed first in time
  largest,    // the largest status of any rank or host
  count,      // how many ranks or hosts failed, at most kMaxCount
  ignore,     // 0, whatever ranks and hosts did
};
// The largest status of StatusRule::count: this many or more have failed.
inline constexpr int kMaxCount = 101;

// Says how one rank ended. `kind` says which of the other fields have a meaning.
struct RankOutcome {
  enum class Kind : std::uint8_t {
    exited,    // code
    signaled,  // signal, core_dumped
    // The rank joined the job (PMI init), and then exited with 0 without finalizing.
    unfinalized,
    // The rank asked to end the job (PMI abort): code, message.
    aborted,
    // The rank sent PMI that the grammar does not allow: message.
    broke_protocol,
    // The program does not exist on the node: message.
    not_found,
    // The file has no execute permission, or is not a program: message.
    not_executable,
    // Another error came before the program ran: message.
    not_started,
    lost,       // its node or agent is gone: message
    timed_out,  // reached the limit of --host-timeout
    // The rank was ended because the job ended. It is never the cause of that.
    killed_by_us,
  };
  Kind kind = Kind::exited;
  // The exit code, or the code of PMI abort.
  int code = 0;
  int signal = 0;            // the number of the signal
  bool core_dumped = false;  // the kernel has written a core file
  std::string message;       // more about the cause; may be empty

  // Returns true unless the rank exited with 0 or was ended with the job.
  bool failed() const { return kind == Kind::exited ? code != 0 : kind != Kind::killed_by_us; }
  // Returns the outcome of a program that could not be executed with this errno.
  static RankOutcome exec_failed(int error_number);
  friend bool operator==(const RankOutcome&, const RankOutcome&) = default;
};

// A host that had no agent when the job began, or that lost it. The texts are for the user.
struct MissingHost {
  std::string host;
  std::string phase;  // the step of the start that failed
  std::string why;    // the reason of the failure
  // Says what to do about it. Hosts with the same phase and reason share the first host's hint.
  std::string hint = {};
  friend bool operator==(const MissingHost&, const MissingHost&) = default;
};

// The result of a job, and all that its report needs. The caller fills it with add() and then sets
// the other fields.
struct JobOutcome {
  // Ranks that ended in the same way.
  struct Group {
    // The outcome is equal for all ranks of the group. The message is that of the lowest rank.
    RankOutcome outcome;
    RankSet ranks;
  };
  // The rank that failed first, with the host and the program that it ran on.
  struct FirstFailure {
    Rank rank = 0;
    std::string host;
    std::string program;
    RankOutcome outcome;
  };
  std::vector<Group> groups;
  std::optional<FirstFailure> first;                   // first in time, not the lowest rank
  std::optional<std::chrono::milliseconds> timed_out;  // the limit that was reached
  std::optional<int> interrupted;                      // the signal that stopped the job
  // Says what a start waited for when `timed_out` or `interrupted` ended it; empty: nothing.
  std::string given_up_while = {};
  std::optional<Error> error;             // of the job; its kind sets the status
  std::vector<std::string> failed_nodes;  // names, in the order they failed
  // Those of failed_nodes that were lost only because the agent above them was.
  std::vector<std::string> cut_off_nodes = {};
  std::vector<MissingHost> missing;  // hosts left out, or that were needed

  // If the program ran once on each host, the verdict is about hosts (hosts_report.h).
  bool once_per_host = false;
  // The names of the hosts by rank. Hosts that missed the tree may be in `missing` only.
  std::vector<std::string> hosts;
  // The ranks on hosts that lost their agent, whatever the outcome of the rank is. It is empty
  // unless once_per_host is set.
  RankSet lost;
  // The hosts on which processes were left running and then ended, by the names of the processes.
  std::map<std::string, std::vector<std::string>> left_running = {};
  std::set<std::string> hosts_left_running = {};  // the hosts that are in left_running
  bool report_all = false;                        // report also if every host did well
  StatusRule rule = StatusRule::automatic;        // how exit_status() decides
  // Says what to do about a program that was not found; may be empty.
  std::string not_found_hint = {};

  // Notes that processes with these names were left running on a host. The host's first names
  // count, since a host reports once.
  void add_left_running(const std::string& host, const std::string& names) {
    if (hosts_left_running.insert(host).second) left_running[names].push_back(host);
  }
  // Adds the outcome of one or several ranks. Each rank is added once.
  void add(Rank rank, const RankOutcome& outcome) { add(RankSet::single(rank), outcome); }
  void add(const RankSet& ranks, const RankOutcome& outcome);
};

// Returns the exit status of scela-run if this rank failed first, or if the job ended in this way.
// The status of a job that succeeded is 0.
int exit_status(const RankOutcome& outcome);
int exit_status(const JobOutcome& job);
// Returns the verdict for standard error: a short summary, and last the line with the cause, so
// that it stays visible. Every line ends with a newline. Returns an empty string if every rank
// exited with 0 and no host is missing.
std::string verdict_text(const JobOutcome& job);
// Returns, for example, "killed by signal 11 (SIGSEGV, Segmentation fault), core dumped" or "exited
// with code 3".
std::string cause_text(const RankOutcome& outcome);
// Returns, for example, "SIGSEGV, Segmentation fault", or "signal 99" for an unknown number.
std::string signal_text(int signal);

// The plan of a job, for map_text(). It has references, so the caller's values must outlive the
// call. launcher/core/map/mapping.h explains segments.
struct MapReport {
  // The ranks on each node, and the names of the nodes by number.
  const RankMap& map;
  const std::vector<std::string>& node_names;
  // The index of each node's parent; -1 is scela-run.
  const std::vector<std::int64_t>& parents;
  // The ranks and the argv of each program.
  const std::vector<SegmentRanks>& segments;
  const std::vector<std::vector<std::string>>& commands;
};
// Returns the text of --show-map: the tree with names and ranks, and then one line per program. In
// large trees, similar leaves of one parent share a line.
std::string map_text(const MapReport& report);
// The processors to which the ranks of a node will be bound.
struct NodeBindings {
  std::string node;
  std::string has;                                  // its processors, or why unknown
  std::vector<std::pair<Rank, std::string>> ranks;  // each rank and its place
  std::optional<Error> refused = {};                // set if the node will refuse to start
};
// Returns the text of --show-map about bindings: a heading, a line for each node, and one for each
// rank's place on it. Similar nodes share their lines. Returns an empty string if there are no
// nodes.
std::string bindings_text(const std::vector<NodeBindings>& nodes);
// Returns argv as a shell needs it: words are quoted if necessary.
std::string command_text(const std::vector<std::string>& argv);

}  // namespace scela
