// What the user reads about a job: its plan before (--show-map), its verdict after, and the exit
// status.
//
// Values in, text out. Knows no process and no descriptor. The exit table here is the only one: the
// manual page prints it, exit_status() returns its codes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/error.h"
#include "common/core/rank_map.h"
#include "common/core/rank_set.h"
#include "launcher/core/mapping.h"

namespace scela {

// Exit statuses of scela-run itself; a failing rank's own code passes through.
enum ExitStatus : int {
  kExitSuccess = 0,
  kExitUnclean = 1,  // a rank ended without finalizing, or broke the PMI protocol
  kExitUsage = 64,   // numbers as in sysexits.h where it has one
  kExitUnreachable = 68,
  kExitInternal = 70,
  kExitLaunch = 71,
  kExitOutput = 74,
  kExitTimeout = 124,        // as timeout(1)
  kExitNotExecutable = 126,  // as the shells
  kExitNotFound = 127,
  kExitSignal = 128,  // plus the signal's number
};

struct ExitRow {
  std::string_view code;  // "64", "128+N"
  std::string_view meaning;
};
std::span<const ExitRow> exit_table();
int exit_status(ErrorKind kind);  // of an error that ended scela-run before or instead of a verdict

// How one rank ended.
struct RankOutcome {
  enum class Kind : std::uint8_t {
    exited,          // code
    signaled,        // signal, core_dumped
    unfinalized,     // joined the job (PMI init), then exited with 0 without finalizing
    aborted,         // asked for the end of the job (PMI abort): code, message
    broke_protocol,  // sent PMI that its grammar does not allow: message
    not_found,       // the program does not exist on the node: message
    not_executable,  // no permission, or not a program: message
    not_started,     // anything else before the program ran: message
    lost,            // its node or agent is gone: message
    timed_out,       // ran for as long as --host-timeout allows
    killed_by_us,    // ended because the job ended: never the cause of it
  };
  Kind kind = Kind::exited;
  int code = 0;
  int signal = 0;
  bool core_dumped = false;
  std::string message;

  bool failed() const { return kind == Kind::exited ? code != 0 : kind != Kind::killed_by_us; }
  // The outcome of a program that could not be executed with this errno.
  static RankOutcome exec_failed(int error_number);
  friend bool operator==(const RankOutcome&, const RankOutcome&) = default;
};

// A host that had no agent when the job began, or none any more.
struct MissingHost {
  std::string host;
  std::string phase;  // of its start
  std::string why;
  std::string hint = {};  // what to do about it; hosts with the same cause share the first one's
  friend bool operator==(const MissingHost&, const MissingHost&) = default;
};

// All that is known when the job has ended. Fill with add(), then set the rest.
struct JobOutcome {
  struct Group {
    RankOutcome outcome;  // equal for all its ranks but for the message, which is the first rank's
    RankSet ranks;
  };
  struct FirstFailure {
    Rank rank = 0;
    std::string host;
    std::string program;
    RankOutcome outcome;
  };
  std::vector<Group> groups;
  std::optional<FirstFailure> first;  // the first failure in time, not the lowest rank
  std::optional<std::chrono::milliseconds> timed_out;  // the limit that was reached
  std::optional<int> interrupted;                      // the signal scela-run itself received
  std::optional<Error>
      error;  // the job could not start, or scela-run failed (its kind sets the status)
  std::vector<std::string> failed_nodes;  // names, in the order they failed
  std::vector<MissingHost> missing;       // hosts that the job did without, or would have needed

  // Where the program ran once on each host, the verdict is about hosts: see hosts_report.h.
  bool once_per_host = false;
  std::vector<std::string> hosts;  // by rank; those that missed the tree are in `missing` only
  RankSet lost;                    // of these, whose agent was lost, whatever became of the rank
  bool tell_all = false;           // the summary is shown even if every host did well

  void add(Rank rank, const RankOutcome& outcome) { add(RankSet::single(rank), outcome); }
  void add(const RankSet& ranks, const RankOutcome& outcome);
};

int exit_status(const RankOutcome& outcome);
int exit_status(const JobOutcome& job);
// The verdict for standard error: a short summary, then the one line that says the cause, last so
// that it stays in sight. Ends with a newline; empty if every rank exited with 0.
std::string verdict_text(const JobOutcome& job);
// "killed by signal 11 (SIGSEGV, Segmentation fault), core dumped", "exited with code 3", ...
std::string cause_text(const RankOutcome& outcome);
std::string signal_text(int signal);  // "SIGSEGV, Segmentation fault"

// The plan of a job. Views: the caller's values must outlive the call.
struct MapReport {
  const RankMap& map;
  const std::vector<std::string>& node_names;
  const std::vector<std::int64_t>& parents;  // per node: its parent's index, -1 for scela-run
  const std::vector<SegmentRanks>& segments;
  const std::vector<std::vector<std::string>>& commands;  // argv per segment
};
// The tree with names and ranks, then a line per program. Leaves alike under one parent share a
// line.
std::string map_text(const MapReport& report);
// Where the ranks of a node will be bound.
struct NodeBindings {
  std::string node;
  std::string has;                                  // its processors; or why nothing can be said
  std::vector<std::pair<Rank, std::string>> ranks;  // and the place of each
  std::optional<Error> refused = {};                // the node will not start them
};
// A line for each node and one for each place on it, after a heading; nodes alike share theirs.
// Empty if there are none.
std::string bindings_text(const std::vector<NodeBindings>& nodes);
// argv as a shell would need it, words quoted where they must be.
std::string command_text(const std::vector<std::string>& argv);

}  // namespace scela
