// Chooses the hosts of a job: the hosts that the user names or simulates, minus the excluded ones.
// It also chooses the spares, the hosts that join the tree only when ranks are spawned there, and
// the hosts of a single program.
//
// plan.cpp, launcher/command.cpp, launcher/spawn/host_expansion.cpp and pmi_choice.cpp use it. As
// in plan.h, all functions compute values from values and may be called from any thread. Errors are
// the user's (kind usage, unless stated otherwise) and say what to change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/core/kary_tree.h"
#include "common/core/rank_map.h"
#include "common/core/rank_set.h"
#include "common/core/result.h"
#include "common/core/terminal.h"
#include "launcher/core/map/mapping.h"
#include "launcher/core/options/options.h"
#include "launcher/core/report/report.h"

namespace scela {

struct Plan;

// Says why --pmi auto made its choice.
struct PmiChoice {
  std::string why;  // for the user
  // The programs show no need, so they get PMI-1 and PMI-2 besides PMIx.
  bool guessed = false;
};

struct LaunchContext {
  std::string job_id;
  std::string host_name;                     // name of this machine
  std::string directory;                     // working directory of scela-run
  std::vector<std::string> environment;      // "K=V"
  std::optional<std::string> hostfile_text;  // if Options::hostfile is set
  bool terminal_input = false;               // standard input is a terminal
  std::optional<WindowSize> window;          // of the terminal at standard input
  std::optional<TerminalModes> modes;        // of the terminal at standard input
  std::uint32_t processors = 1;              // processors scela-run may use here
  std::int32_t ahead_s = 0;                  // seconds local time is ahead of UTC
  std::vector<MissingHost> missing;          // unreachable hosts, to do without
  PmiChoice pmi_choice;
};

// A host of the list that has no rank. Its agent is started when ranks are spawned there.
struct LaterHost {
  MapNode node;
  // Why the last attempt failed. Only a spawn that names this host makes another attempt.
  std::string why;
};

// Says how a LaterHost is reached, or why it can never be reached.
struct FoundHost {
  std::string name;
  std::string contact;
  std::string why;  // empty: it may be reached
};

// Returns true if the options name no hosts at all. The job then runs on this machine.
bool names_no_hosts(const Options& options);

// Returns the hosts of the job in host-list order, without the missing ones. Returns an error (kind
// unreachable) if all hosts are missing.
Result<std::vector<HostEntry>> find_hosts(const Options& options, const LaunchContext& context);

// Returns true if some host, in the tree or in Plan::later, is not this machine and is not
// simulated.
bool is_remote(const Options& options, const Plan& plan, const LaunchContext& context);

// Returns true if all nodes that have ranks are this machine, or are simulated on it.
bool has_ranks_here_only(const Plan& plan, const LaunchContext& context);

// Returns true if hosts are named but no number of ranks, slots or placement: the program runs once
// on each host, as under pdsh and clush.
bool is_once_per_host(const Options& options, const std::vector<HostEntry>& hosts);
// Finds the hosts and returns is_once_per_host() of them. Returns false if the hosts cannot be
// found; make_plan() then reports the error.
bool runs_once_per_host(const Options& options, const LaunchContext& context);

std::vector<MapNode> nodes_of(const std::vector<HostEntry>& hosts);

// Returns the positions in `hosts` of the hosts that one program names for itself.
Result<std::vector<std::uint32_t>> own_nodes(const App& app, const std::vector<MapNode>& hosts);
// Removes from each program's own hosts those that are not in `left`. Returns an error (kind
// unreachable) if a program has no host left.
Result<Options> without_missing_hosts(const Options& options, const std::vector<MapNode>& left);

// Removes the spare hosts from the end of `hosts` and returns them. `missing` is the number of
// hosts that are missing from the start; spares have already replaced them.
Result<std::vector<HostEntry>> take_spares(std::vector<HostEntry>& hosts, const Options& options,
                                           std::size_t missing);
// Sets Plan::min_nodes, the smallest number of agents with which the job may start. Returns an
// error (kind usage or unreachable) if the plan has fewer hosts.
Result<void> choose_min_nodes(Plan& plan, const Options& options);
// Returns the nodes that have an agent and are not needed: spares that replace no failed node.
RankSet unneeded(const Plan& plan, const RankSet& failed);

// Returns a map with the same ranks in the same order; node `i` of `map` becomes node `numbers[i]`.
RankMap renumbered(const RankMap& map, const std::vector<std::uint32_t>& numbers);
// Removes the hosts without a rank from `hosts` and returns them, as they need no agent yet. The
// other hosts move up, and `map` gets their new numbers.
std::vector<LaterHost> drop_idle_hosts(std::vector<HostEntry>& hosts, RankMap& map);
// Moves hosts from Plan::later into the tree. `positions` are indices into Plan::later, ascending.
// Returns the node numbers that the hosts get.
Slice add_later(Plan& plan, const std::vector<std::size_t>& positions);

}  // namespace scela
