// From what the user asked to what the tree is told: mapping, job, degree; which hosts there are is
// told by job_hosts.h.
//
// Values in, values out: the surroundings (environment, directory, host name, the host file's text)
// are passed in, so every rule is testable without them. Errors are the user's (kind usage) and say
// what to change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/core/result.h"
#include "common/core/topology.h"
#include "launcher/core/mapping.h"
#include "launcher/core/options.h"
#include "launcher/job_hosts.h"
#include "nla/core/job.h"

namespace scela {

// Machines alike: what they may use before simulated nodes share it out.
struct MachineKind {
  Topology topology;
  RankSet nodes;
};

struct Plan {
  std::vector<std::string> hosts;                   // in tree order
  std::vector<std::optional<std::uint32_t>> slots;  // per host, as the user stated them
  std::vector<LaterHost> later;                     // those of the list that are not in the tree
  bool remote = false;                              // some of all these are reached over ssh
  // The program runs once on each host: hosts are named, but no number of ranks or slots. Rank and
  // node numbers are the same then.
  bool once_per_host = false;
  RankSet idle;                        // nodes that have an agent even if they have no rank
  std::uint32_t unused_slots = 0;      // of hosts that were left out because they have no rank
  std::uint32_t spares = 0;            // the last so many hosts have no ranks at first
  std::uint32_t min_nodes = 0;         // agents without which nothing is started
  std::vector<MissingHost> missing;    // hosts that are left out from the start
  std::vector<SegmentRanks> segments;  // ranks per program
  std::vector<std::vector<std::string>> commands;  // argv per program, as the user knows it
  std::uint32_t degree = 1;
  std::uint32_t node_shares = 1;  // nodes that share this machine's cores, later ones too
  StdinTarget stdin_to;
  // Where no slots are stated, what hosts tell of their processors says how many ranks they have
  // room for: until then the map is a guess, and none of them is left out.
  bool counts_room = false;
  std::vector<MachineKind> machines;  // as they have told: see machines.h
  bool pty = false;                   // who reads standard input has a terminal
  nla::Job job;
  PmiChoice pmi_choice;

  std::vector<std::int64_t> parents() const;  // per node, -1: scela-run
  const std::string& program_of(Rank rank) const;
};

Result<Plan> make_plan(const Options& options, const Surroundings& around);

// Maps the ranks onto the nodes that have an agent, the numbers of nodes staying as they are.
// Error: they do not hold the ranks, or a program's own hosts are all among the `failed`.
Result<void> map_again(Plan& plan, const Options& options, const RankSet& failed);

// Its tree with names and ranks, and its programs.
std::string map_text(const Plan& plan);

}  // namespace scela
