// Turns what the user asked for into what the agents get: the hosts of the tree, the number of
// children of each agent (degree), the map of ranks to hosts, and the job. job_hosts.h chooses the
// hosts.
//
// The command, the session, and the parts that reach or add hosts use it. All functions compute
// values from values: the launch context (environment, directory, host name, text of the host file)
// are parameters, so every rule is testable without them. They may be called from any thread.
// Errors are the user's (kind usage, unless stated otherwise) and say what to change.
//
// Nodes are numbered by their position in Plan::hosts. Sets of nodes are RankSets of such numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/core/placement/topology.h"
#include "common/core/result.h"
#include "launcher/core/map/mapping.h"
#include "launcher/core/options/options.h"
#include "launcher/plan/job_hosts.h"
#include "nla/core/wire/job.h"

namespace scela {

// Nodes of which the machines are equal. The topology has the processors that may be used before
// simulated nodes divide them.
struct MachineKind {
  Topology topology;
  RankSet nodes;
};

// The decisions about a job before it starts. The session changes them if agents are lost or ranks
// are spawned.
struct Plan {
  std::vector<std::string> hosts;                   // names; the index is the node number
  std::vector<std::optional<std::uint32_t>> slots;  // per host: as stated, or as reported
  std::vector<AgentlessHost> later;                 // without an agent until ranks spawn there
  bool remote = false;                              // some host, later too, is another machine
  // The program runs once on each host: hosts are named, but no number of ranks or slots. Rank
  // numbers and node numbers are then the same.
  bool once_per_host = false;
  RankSet idle;                      // nodes with an agent even without ranks
  std::uint32_t unused_slots = 0;    // slots of hosts that have no agent
  std::uint32_t spares = 0;          // the last hosts are spares, without ranks
  std::uint32_t min_nodes = 0;       // with fewer agents, no job starts
  std::vector<MissingHost> missing;  // hosts left out from the start
  // For each program: its ranks, and its argv as the user reads it.
  std::vector<SegmentRanks> segments;
  std::vector<std::vector<std::string>> commands;
  std::uint32_t degree = 1;                 // most children of an agent
  std::uint32_t nodes_on_this_machine = 1;  // simulated nodes on this machine, or 1
  StdinTarget stdin_to;                     // the ranks that read standard input
  // True if the number of ranks on hosts without stated slots follows from the processors that they
  // report. Until they report, the map is a guess, and no host is left out.
  bool slots_from_processors = false;
  // The topologies that the hosts reported (launcher/plan/host_topologies.h); empty before.
  std::vector<MachineKind> machines;
  std::optional<RankChoice> gdb;  // ranks that run under gdb
  // The ranks that are stopped for a debugger, at their start or in PMIx_Init.
  std::optional<RankChoice> stop_on_exec, stop_in_init;
  bool tmux = false;     // each of them, or each rank, has a pane even if it is only one
  bool pty = false;      // the rank that reads stdin has a terminal, that of scela-run
  bool panes = false;    // each of Job::terminal_ranks has a pane of tmux
  nla::Job job;          // the ranks, as agents get them
  PmiChoice pmi_choice;  // the reason of --pmi auto

  // Returns the number of each node's parent, by node; -1 is scela-run.
  std::vector<std::int64_t> parents() const;
  // Returns the host of a rank, or "" if the map has no such rank.
  std::string host_of(Rank rank) const;
  // Returns the name of the program that a rank runs, as the user wrote it or as a rank spawned it.
  const std::string& program_of(Rank rank) const;
};

// Makes the plan of a job. It reads no files. Errors have the kind usage, or unreachable if hosts
// are missing.
Result<Plan> make_plan(const Options& options, const LaunchContext& context);

// Maps the ranks onto the nodes that are not in `failed`; the nodes keep their numbers. The session
// calls it before the ranks start, if agents are missing or the slots became known. Returns an
// error if these nodes do not hold the ranks, or if all hosts of a program are in `failed`. The
// kind is then unreachable if any node failed.
Result<void> remap_ranks(Plan& plan, const Options& options, const RankSet& failed);

// Returns true if ranks can ask for more ranks through this PMI.
bool may_spawn(nla::PmiKind kind);

// Returns the text of --show-map: the tree with names and ranks, and the programs of the plan.
std::string map_text(const Plan& plan);

}  // namespace scela
