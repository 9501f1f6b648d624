// Chooses the hosts of a job: the hosts that the user names or simulates, minus the excluded ones.
// It also chooses the spares (hosts that replace others that do not answer), and the hosts of a
// single program. Some hosts join the tree of agents only when ranks are spawned there.
//
// plan.cpp, launcher/command.cpp, launcher/spawn/host_expansion.cpp and pmi_choice.cpp use it. As
// in plan.h, all functions compute values from values and may be called from any thread. Errors are
// the user's (kind usage, unless stated otherwise) and say what to change.
//
// A node number is the position of a host in Plan::hosts, the hosts that have an agent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/core/kary_tree.h"
#include "common/core/placement/rank_map.h"
#include "common/core/rank_set.h"
#include "common/core/result.h"
#include "common/core/terminal_modes.h"
#include "launcher/core/detect/allocation.h"
#include "launcher/core/map/mapping.h"
#include "launcher/core/options/options.h"
#include "launcher/core/report/job_report.h"

namespace scela {

struct Plan;

// Says which reason --pmi auto had for its choice. Options::pmi has the choice itself.
struct PmiChoice {
  // Text for the user; empty if there was no choice to make.
  std::string why;
  // The programs show no need. If PMIx is chosen then, they get PMI-1 and PMI-2 besides.
  bool guessed = false;
};

// The environment of scela-run, on which the rules of the plan depend. launcher/command.cpp fills
// it.
struct LaunchContext {
  std::int64_t began_ns = 0;                 // monotonic clock at the start of scela-run
  std::string job_id;                        // unique; makes names of files and keys
  std::string run_id;                        // the job_id of the first start (--restart)
  std::uint32_t restarts = 0;                // starts of the job before this one
  std::string host_name;                     // name of this machine
  std::string directory;                     // working directory of scela-run
  std::vector<std::string> environment;      // scela-run's own, as "NAME=VALUE"
  std::optional<std::string> hostfile_text;  // if Options::hostfile is set
  std::optional<std::string> joined_hosts;   // the hosts of agents that joined, as a host file
  std::optional<Allocation> allocation;      // the job's hosts, if the options name none
  bool terminal_input = false;               // standard input is a terminal
  std::optional<WindowSize> window;          // of the terminal at standard input
  std::optional<TerminalModes> modes;        // of the terminal at standard input
  std::uint32_t processors = 1;              // processors scela-run may use here
  std::int32_t ahead_s = 0;                  // seconds local time is ahead of UTC
  std::vector<MissingHost> missing;          // unreachable hosts, to be left out
  // The result of choose_pmi() (pmi_choice.h).
  PmiChoice pmi_choice;
};

// A host of the list that has no rank and no agent. Its agent is started when ranks are spawned
// there.
struct AgentlessHost {
  MapNode node;
  // The reason why the last attempt to start its agent failed, or empty. After a failure, only a
  // spawn that names this host makes another attempt.
  std::string why;
};

// Says how a AgentlessHost is reached, or why it can never be reached.
struct HostLookup {
  std::string name;
  std::string contact;  // how its agent is started; a line
  std::string why;      // empty: it may be reached
};

// Returns true if the options name and simulate no hosts at all. The job then runs on the hosts of
// LaunchContext::allocation, or on this machine.
bool names_no_hosts(const Options& options);

// Returns the hosts of the job in host-list order, without the excluded ones and
// LaunchContext::missing. Hosts that a single program names come after those of the job. Returns an
// error if a list is malformed or no host is left (kind unreachable if all hosts are missing).
Result<std::vector<HostEntry>> find_hosts(const Options& options, const LaunchContext& context);

// Returns true if some host, in the tree or in Plan::later, is not this machine. Returns false if
// the nodes are simulated or all agents are started here (--sim-nodes, --launch local).
bool is_remote(const Options& options, const Plan& plan, const LaunchContext& context);

// Returns true if all nodes that have ranks are this machine, or are simulated on it. Requires that
// the plan is complete.
bool has_ranks_here_only(const Plan& plan, const LaunchContext& context);

// Returns true if hosts are named (or Options::on_each_host stands for them) but no number of
// ranks, slots or placement: the program runs once on each host, as under pdsh and clush. `hosts`
// has the hosts that find_hosts() returned.
bool is_once_per_host(const Options& options, const std::vector<HostEntry>& hosts);
// Finds the hosts and returns is_once_per_host() of them. Returns false if the hosts cannot be
// found; make_plan() then reports the error.
bool runs_once_per_host(const Options& options, const LaunchContext& context);

// Returns the names and slots of the hosts, in the same order, as map_ranks() takes them.
std::vector<MapNode> nodes_of(const std::vector<HostEntry>& hosts);

// Returns the positions in `hosts` of the hosts that one program names for itself (App::hosts), in
// the order in which it names them. Returns an empty list if it names none: all hosts then apply.
// Returns an error if such a host is not in `hosts`.
Result<std::vector<std::uint32_t>> nodes_of_program(const App& app,
                                                    const std::vector<MapNode>& hosts);
// Returns the options, without the hosts that single programs name and that are not in `left`.
// Returns an error (kind unreachable) if a program that names hosts has none left.
Result<Options> without_missing_hosts(const Options& options, const std::vector<MapNode>& left);

// Removes the spare hosts (Options::spares) from the end of `hosts` and returns them, in host-list
// order. `missing` is the number of hosts that are missing from the start; as many spares fewer are
// set aside. Returns an error if no host would be left, or if the program runs once on each host.
Result<std::vector<HostEntry>> take_spares(std::vector<HostEntry>& hosts, const Options& options,
                                           std::size_t missing);
// Sets Plan::min_nodes, the smallest number of agents with which the job may start. Requires that
// the plan's hosts, spares and missing hosts are set. Returns an error (kind usage or unreachable)
// if the plan has fewer hosts.
Result<void> choose_min_nodes(Plan& plan, const Options& options);
// Returns the numbers of nodes that have an agent and are not needed: spares that replace no failed
// node. `failed` has the numbers of the nodes without an agent. Returns an empty set without
// spares.
RankSet unused_spares(const Plan& plan, const RankSet& failed);

// Returns a map with the same ranks in the same order; node `i` of `map` becomes node `numbers[i]`.
// `numbers` has an entry for each node of the map.
RankMap renumbered(const RankMap& map, const std::vector<std::uint32_t>& numbers);
// Removes the hosts without a rank from `hosts` and returns them, as they need no agent yet. The
// other hosts get the numbers 0, 1, ... in the same order, and `map` is changed to these numbers.
std::vector<AgentlessHost> drop_idle_hosts(std::vector<HostEntry>& hosts, RankMap& map);
// Moves hosts from Plan::later to the end of Plan::hosts. `positions` are indices into Plan::later,
// ascending. Returns the node numbers that the hosts get, in the order of `positions`.
Slice add_later(Plan& plan, const std::vector<std::size_t>& positions);

}  // namespace scela
