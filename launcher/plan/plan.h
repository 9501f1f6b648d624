// Turns what the user asked for into what the tree gets: mapping, job and degree. job_hosts.h
// chooses the hosts.
//
// The command, the session, and the parts that reach or add hosts use it. All functions compute
// values from values: the launch context (environment, directory, host name, text of the host file)
// are parameters, so every rule is testable without them. They may be called from any thread.
// Errors are the user's (kind usage, unless stated otherwise) and say what to change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "common/core/topology.h"
#include "launcher/core/map/mapping.h"
#include "launcher/core/options/options.h"
#include "launcher/plan/job_hosts.h"
#include "nla/core/wire/job.h"

namespace scela {

// Equal machines, with the processors that may be used before simulated nodes divide them.
struct MachineKind {
  Topology topology;
  RankSet nodes;
};

struct Plan {
  std::vector<std::string> hosts;                   // in tree order
  std::vector<std::optional<std::uint32_t>> slots;  // per host, as the user stated them
  std::vector<LaterHost> later;                     // hosts of the list outside the tree
  bool remote = false;                              // some of these need ssh or a program
  // The program runs once on each host: hosts are named, but no number of ranks or slots. Rank
  // numbers and node numbers are then the same.
  bool once_per_host = false;
  RankSet idle;                                    // nodes with an agent even without ranks
  std::uint32_t unused_slots = 0;                  // of hosts left out for having no rank
  std::uint32_t spares = 0;                        // last hosts, without ranks at first
  std::uint32_t min_nodes = 0;                     // fewer agents: the job does not start
  std::vector<MissingHost> missing;                // hosts left out from the start
  std::vector<SegmentRanks> segments;              // ranks per program
  std::vector<std::vector<std::string>> commands;  // argv per program, for the user
  std::uint32_t degree = 1;
  std::uint32_t node_shares = 1;  // nodes that share this machine's cores
  StdinTarget stdin_to;
  // True if the number of ranks on hosts without stated slots follows from the processors that they
  // report. Until they report, the map is a guess, and no host is left out.
  bool counts_room = false;
  std::vector<MachineKind> machines;  // as reported: see launcher/plan/host_topologies.h
  bool pty = false;                   // the rank that reads stdin has a pty
  nla::Job job;
  PmiChoice pmi_choice;

  std::vector<std::int64_t> parents() const;  // per node; -1 is scela-run
  const std::string& program_of(Rank rank) const;
};

// Makes the plan of a job. Errors have the kind usage, or unreachable if hosts are missing.
Result<Plan> make_plan(const Options& options, const LaunchContext& context);

// Maps the ranks onto the nodes that are not in `failed`; the nodes keep their numbers. Returns an
// error if these nodes do not hold the ranks, or if all hosts of a program are in `failed`. The
// kind is then unreachable if any node failed.
Result<void> map_again(Plan& plan, const Options& options, const RankSet& failed);

// Returns the tree with names and ranks, and the programs of the plan.
std::string map_text(const Plan& plan);

}  // namespace scela
