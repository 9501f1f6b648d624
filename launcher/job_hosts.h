// Which hosts a job has: those that the user names or makes up, without the ones that are left out,
// and of these which are spares, which come into the tree only when ranks are spawned there, and
// which ones a program has for itself.
//
// Values in, values out, like plan.h. Errors are the user's (kind usage) and say what to change.
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
#include "launcher/core/mapping.h"
#include "launcher/core/options.h"
#include "launcher/core/report.h"

namespace scela {

struct Plan;

// What --pmi auto has chosen by.
struct PmiChoice {
  std::string why;       // for a person
  bool guessed = false;  // the programs show nothing: with PMIx they find PMI-1 and PMI-2 too
};

struct Surroundings {
  std::string job_id;
  std::string host_name;                     // of this machine
  std::string directory;                     // scela-run's own
  std::vector<std::string> environment;      // "K=V"
  std::optional<std::string> hostfile_text;  // when Options::hostfile is set
  bool terminal_input = false;               // standard input is a terminal
  std::optional<WindowSize> window;          // of that terminal
  std::optional<TerminalModes> modes;        // of that terminal
  std::uint32_t processors = 1;              // of this machine that scela-run may use
  std::int32_t ahead_s = 0;                  // of UTC, in local time
  std::vector<MissingHost> missing;          // hosts to do without: they cannot be reached
  PmiChoice pmi_choice;
};

// A host of the list without a rank: its agent is started when ranks are spawned there.
struct LaterHost {
  MapNode node;
  std::string why;  // of the last attempt that failed; only who names the host makes another
};

// How one of those is reached, or why it cannot be whatever happens.
struct FoundHost {
  std::string name;
  std::string contact;
  std::string why;  // empty: it may be reached
};

// Whether the command line says nothing of hosts: the job runs on this machine.
bool names_no_hosts(const Options& options);

// In host-list order, without those that are missing.
Result<std::vector<HostEntry>> find_hosts(const Options& options, const Surroundings& around);

// Whether some host is reached by more than starting a process here.
bool is_remote(const Options& options, const Plan& plan, const Surroundings& around);

// Whether all nodes that have ranks are this machine, or simulated on it.
bool has_ranks_here_only(const Plan& plan, const Surroundings& around);

// Hosts by name, and nothing that speaks of ranks: what pdsh and clush are used for.
bool is_once_per_host(const Options& options, const std::vector<HostEntry>& hosts);
// The same of the hosts that would be found. False for those that make_plan() refuses.
bool runs_once_per_host(const Options& options, const Surroundings& around);

std::vector<MapNode> nodes_of(const std::vector<HostEntry>& hosts);

// Positions among `hosts` of those that one program names for itself.
Result<std::vector<std::uint32_t>> own_nodes(const App& app, const std::vector<MapNode>& hosts);
// Each program goes on with those of its own hosts that are left. Error (unreachable): none is.
Result<Options> without_missing_hosts(const Options& options, const std::vector<MapNode>& left);

// Takes the spare hosts from the end of the list. `missing`: hosts that are missing from the start,
// which have been replaced already.
Result<std::vector<HostEntry>> take_spares(std::vector<HostEntry>& hosts, const Options& options,
                                           std::size_t missing);
// Sets Plan::min_nodes: how many agents the job must have at least.
Result<void> choose_min_nodes(Plan& plan, const Options& options);
// Of the nodes that have an agent, those that are not needed: spares that replace nobody.
RankSet unneeded(const Plan& plan, const RankSet& failed);

// The same ranks on nodes with other numbers.
RankMap renumbered(const RankMap& map, const std::vector<std::uint32_t>& numbers);
// Hosts without a rank need no agent yet: they are left out and returned, and the others move up.
std::vector<LaterHost> drop_idle_hosts(std::vector<HostEntry>& hosts, RankMap& map);
// Takes hosts (positions in Plan::later, ascending) into the tree: the nodes that they become.
Slice add_later(Plan& plan, const std::vector<std::size_t>& positions);

}  // namespace scela
