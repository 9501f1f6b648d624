// The job: all that every agent must know of it to start its ranks. scela-run sends it once, the
// same bytes to all agents. An agent is the process of the job on one node. Nodes are numbered from
// 0 in the order of the host list, ranks from 0 in the whole job.
//
// Values, for any thread. encode() and decode are inverse to each other, and decode checks every
// field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/policy.h"
#include "common/core/placement/placement.h"
#include "common/core/placement/rank_map.h"
#include "common/core/result.h"
#include "common/core/terminal_modes.h"
#include "nla/core/wire/request_names.h"
#include "nla/core/wire/training.h"

namespace scela::nla {

// If a rank fails, either all others are ended too, or the job goes on without that rank.
enum class OnFailure : std::uint8_t { kill, wait };
// How ranks reach their node's agent, and the protocol that they use:
//   fd             PMI over a descriptor that they inherit
//   port           PMI over a port of the node
//   pmgr           PMGR, protocol 8
//   pmgr_mvapich1  what MVAPICH 1 made of PMGR
//   pmix           PMIx, to a server of the node's own (docs/design/pmix.md)
//   none           no protocol
enum class PmiKind : std::uint8_t { fd, port, pmgr, pmgr_mvapich1, pmix, none };

// The App::wdir that stands for the home directory of the login on each node.
inline constexpr std::string_view kHomeDirectory = "~";

// One program of the job, and the ranks that run it.
struct App {
  std::vector<std::string> argv;  // the program and its arguments
  // Variables ("K=V") beside those of Job::env, which they replace.
  std::vector<std::string> env;
  // Its working directory; empty: Job::wdir; kHomeDirectory: the home directory of the login.
  std::string wdir;
  // Directories that are searched before PATH, separated by ':'. May be empty.
  std::string path;
  RankSet ranks;  // the job's ranks that run this
  // argv is one text for the user's login shell on the node, which gets it as "-c TEXT".
  bool by_shell = false;
  friend bool operator==(const App&, const App&) = default;
};

// Ranks that a rank has asked for while the job runs (PMI spawn). Their numbers follow those of all
// earlier ranks. They have fences, a key-value space and a numbering of their own.
struct World {
  Rank first = 0;         // its ranks are [first, first+map.size())
  Rank parent = 0;        // the rank that asked for it
  std::vector<App> apps;  // their ranks partition the world's
  // The node of each of its ranks; the index of a rank is rank - first.
  RankMap map;
  KeyValues preput;  // the first content of its key space
  Stops stops = {};
  // The names of nodes that the job got since it began, from this number on. Only used if ranks
  // use PMIx.
  std::uint32_t first_host = 0;
  std::vector<std::string> hosts = {};
  // Returns the numbers of its ranks in the job.
  RankSet ranks() const { return RankSet::run(first, map.size()); }
  friend bool operator==(const World&, const World&) = default;
};

// The job as it is: as scela-run sent it, with the worlds that were added since.
struct Job {
  // Unique for each job: 1 to 128 letters, digits, '-', '_' and '.'. It names directories and the
  // PMI key-value space.
  std::string id;
  std::vector<App> apps;  // at least one; ranks partition the map
  // The node of each rank, by node number.
  RankMap map;
  // The variables ("K=V") and the working directory of all ranks.
  std::vector<std::string> env;
  std::string wdir;
  // The ranks that get standard input; all others read end of file.
  RankSet stdin_ranks;
  OnFailure on_failure = OnFailure::kill;
  PlacementPolicy placement;                              // of the ranks on each node
  std::vector<std::pair<Rank, CoreChoice>> chosen_cores;  // for ranks with places of their own
  PmiKind pmi = PmiKind::fd;
  // The number of processes that ranks are told MPI may have (MPI_UNIVERSE_SIZE), but never less
  // than the job's first ranks. If negative, there is no limit.
  std::int32_t universe = 0;
  // Milliseconds from the first signal to SIGKILL, if ranks are to end.
  std::uint32_t grace_ms = 2000;
  cache::PolicyKind cache_policy = cache::PolicyKind::hcmab;
  // The most bytes of pairs in a node's cache, for policies that evict (cache::Place::limit).
  std::uint64_t cache_limit = 0;
  // Agents send a report at the end: spans and the ranks' counters.
  bool trace = false;
  // The job runs one command for its own sake on each node, with one rank each. If a node lacks the
  // launcher's directory, the command runs in the home directory.
  bool once_per_host = false;
  // Processes that the ranks left running are left alone if the job ends by itself. Otherwise they
  // are ended with it.
  bool keep = false;
  // For all ranks of a node, from their start, in milliseconds; 0: no limit.
  std::uint32_t host_timeout_ms = 0;
  // The pattern of the label that a rank's agent puts before every line that the rank writes
  // (common/core/line_marks.h). Empty: lines have no label.
  std::string label;
  // Each line of output begins with the time of day; `ahead_s` says in which time zone.
  bool timestamps = false;
  // Label and time are put before lines of standard error only.
  bool plain_output = false;
  // The time zone of the timestamps: seconds ahead of UTC.
  std::int32_t ahead_s = 0;
  // The ranks that have a pseudo-terminal for their standard streams: at most one, or kMaxTerminals
  // (nla/core/wire/terminal_input.h) if `input_by_rank`. A terminal begins with this size and these
  // modes. All that such a rank writes is its standard output.
  RankSet terminal_ranks;
  // Standard input is a stream of records of which each is for one of terminal_ranks, and for no
  // other rank. A rank that does not read loses keys, as at a terminal, and keeps no other rank.
  bool input_by_rank = false;
  WindowSize window;
  TerminalModes modes;
  // The ranks of world 0 that a debugger wants stopped. Those that are stopped before the first
  // instruction of their program also go on with SIGCONT.
  Stops stops;
  // These ranks run under a debugger: their programs' words follow those of `debugger`.
  RankSet debugged_ranks;
  std::vector<std::string> debugger;
  // The names of the nodes by number, including those of later nodes. Only used if ranks speak
  // PMIx.
  std::vector<std::string> hosts;
  // The properties that only jobs of training frameworks have.
  Training training;

  // The worlds that were added since the job began; world number n is at n - 1. They are no part of
  // encode(). `apps` and `map` hold theirs too.
  std::vector<World> worlds;

  // Returns the universe size that the job's first ranks are told: `universe`, but at least their
  // number. -1 means that there is no limit.
  std::int64_t universe_size() const;

  // Returns the position in `apps` of a rank's program. Returns apps.size() if the rank is not in
  // the job.
  std::size_t app_of(Rank rank) const;

  // Returns the number of the world of a rank, which must be in the job: 0 if the job began with
  // the rank, and otherwise from 1 on.
  std::size_t world_of(Rank rank) const;
  // Returns the ranks of a world, as numbered in the job.
  RankSet ranks_of_world(std::size_t world) const;
  // Returns the nodes of a world's ranks, by the rank's number in the world.
  const RankMap& map_of_world(std::size_t world) const;
  // Returns the ranks of a world that are to be stopped, by their numbers in the world.
  const Stops& stops_of_world(std::size_t world) const {
    return world == 0 ? stops : worlds[world - 1].stops;
  }
  // Returns true if the rank, which must be in the job, is to be stopped before the first
  // instruction of its program.
  bool stops_on_exec(Rank rank) const;
  // Returns the position in `apps` of the first one of that world.
  std::size_t first_app_of_world(std::size_t world) const;
  // Returns the name of a world's key-value space: the job's id, and for later worlds also the
  // number.
  std::string name_of_world(std::size_t world) const;
  // Returns the prefix that every key of a world has in the agents' caches. No protocol has keys
  // that begin so. It is empty for world 0.
  static std::string key_prefix(std::size_t world);
  // Returns a copy of the job without its worlds, as the first decode_job() returned it.
  Job as_it_began() const;
  // Returns true if `ranks` are all ranks of one world, and every node that has ranks has some of
  // them. Then every node knows what they have agreed on.
  bool is_everywhere(const RankSet& ranks) const;
  // Appends a world to `worlds`, `map`, `apps` and `hosts`. Returns a protocol error, and changes
  // nothing, if the world is malformed or its first rank does not follow the last rank of the job.
  Result<void> add(World world);

  friend bool operator==(const Job&, const Job&) = default;

 private:
  RankMap first_map_;                     // map of world 0, if there are others
  std::vector<std::size_t> first_apps_;   // first app of each other world
  RankSet nodes_;                         // numbers of nodes with ranks, likewise
  std::vector<RankSet> nodes_of_worlds_;  // by world, world 0 first, likewise
};

// Returns the job without its worlds, in the form that decode_job() reads.
std::string encode(const Job& job);
// Returns a protocol error if the bytes are malformed or a value is impossible.
Result<Job> decode_job(std::string_view bytes);

// Returns the world in the form that decode_world() reads.
std::string encode(const World& world);
// Returns a protocol error if the bytes or the map are malformed. Job::add() checks the rest.
Result<World> decode_world(std::string_view bytes);

}  // namespace scela::nla
