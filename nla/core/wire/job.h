// The job: all that every agent must know of it to start its ranks. scela-run sends it once, the
// same bytes to all agents.
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
#include "common/core/placement.h"
#include "common/core/rank_map.h"
#include "common/core/result.h"
#include "common/core/terminal.h"
#include "nla/core/wire/spawn_request.h"

namespace scela::nla {

// If a rank fails, either all others are ended too, or the job goes on without that rank.
enum class OnFailure : std::uint8_t { kill, wait };
// The text before each line that a rank writes: none, its number, or the name of its node.
enum class Label : std::uint8_t { none, rank, host };
// How ranks reach their node's agent, and the protocol that they speak:
//   fd             PMI over a descriptor that they inherit
//   port           PMI over a port of the node
//   pmgr           PMGR, protocol 8
//   pmgr_mvapich1  what MVAPICH 1 made of PMGR
//   pmix           PMIx, to a server of the node's own (docs/design/pmix.md)
//   none           no protocol
enum class PmiKind : std::uint8_t { fd, port, pmgr, pmgr_mvapich1, pmix, none };

struct App {
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string wdir;  // empty: the launcher's own, Job::wdir
  // Directories that are searched before PATH, separated by ':'. May be empty.
  std::string path;
  RankSet ranks;  // the job's ranks that run this
  // argv is one text for the user's login shell on the node, which gets it as "-c TEXT".
  bool by_shell = false;
  friend bool operator==(const App&, const App&) = default;
};

// Ranks that a rank has asked for while the job runs (PMI spawn). Their numbers follow the job's.
// They have fences, a key-value space and a numbering of their own.
struct World {
  Rank first = 0;         // its ranks are [first, first+map.size())
  Rank parent = 0;        // the rank that asked for it
  std::vector<App> apps;  // their ranks partition the world's
  RankMap map;            // the index is rank - first
  KeyValues preput;       // the first content of its key space
  // The names of nodes that the job got since it began, from this number on. Only used if ranks
  // speak PMIx.
  std::uint32_t first_host = 0;
  std::vector<std::string> hosts = {};
  RankSet ranks() const { return RankSet::run(first, map.size()); }
  friend bool operator==(const World&, const World&) = default;
};

struct Job {
  // Unique for each job; names directories and the PMI key-value space.
  std::string id;
  std::vector<App> apps;  // at least one; ranks partition the map
  RankMap map;
  std::vector<std::string> env;
  std::string wdir;
  // The ranks that get standard input; all others read end of file.
  RankSet stdin_ranks;
  OnFailure on_failure = OnFailure::kill;
  PlacementPolicy placement;                              // of the ranks on each node
  std::vector<std::pair<Rank, CoreChoice>> chosen_cores;  // for ranks with places of their own
  PmiKind pmi = PmiKind::fd;
  // The universe size that ranks are told, unless they are more. If negative, there is no limit.
  std::int32_t universe = 0;
  std::uint32_t grace_ms = 2000;  // from the first signal to SIGKILL
  cache::PolicyKind cache_policy = cache::PolicyKind::hcmab;
  std::uint64_t cache_limit = 0;  // see cache::Place::limit
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
  // The agent of a rank puts this before every line that the rank writes
  // (common/core/line_marks.h).
  Label label = Label::none;
  bool timestamps = false;
  bool plain_output = false;  // only on standard error
  // Seconds ahead of UTC of the reader of the timestamps.
  std::int32_t ahead_s = 0;
  // The rank, at most one, that has a pseudo-terminal for its standard streams. The terminal begins
  // with this size and these modes. All that the rank writes is its standard output.
  RankSet terminal_ranks;
  WindowSize window;
  TerminalModes modes;
  // The names of the nodes by number, including those of later nodes. Only used if ranks speak
  // PMIx.
  std::vector<std::string> hosts;

  // The worlds that came since the job began. They are no part of encode(), and `apps` and `map`
  // hold theirs too.
  std::vector<World> worlds;

  // Returns what the job's first ranks are told: `universe`, but at least their number. -1 means
  // that there is no limit.
  std::int64_t universe_size() const;

  // Returns the position in apps of a rank's program, and apps.size() if the rank is not in the
  // job.
  std::size_t app_of(Rank rank) const;

  // Worlds are numbered from 1; world 0 is the job as it began. world_of() requires a rank of the
  // job.
  std::size_t world_of(Rank rank) const;
  RankSet ranks_of_world(std::size_t world) const;
  const RankMap& map_of_world(std::size_t world) const;
  // Returns the position in `apps` of the first one of that world.
  std::size_t first_app_of_world(std::size_t world) const;
  std::string name_of_world(std::size_t world) const;  // also names its key-value space
  // Returns the prefix of every key of a world. No protocol has keys that begin so. It is empty for
  // 0.
  static std::string key_prefix(std::size_t world);
  // Returns the job without its worlds, as encode() gave it.
  Job as_it_began() const;
  // Returns true if `ranks` are all ranks of one world, and every node that has ranks has some of
  // them. Then every node knows what they have agreed on.
  bool is_everywhere(const RankSet& ranks) const;
  // Returns a protocol error if the world is malformed or does not begin where the job ends.
  Result<void> add(World world);

  friend bool operator==(const Job&, const Job&) = default;

 private:
  RankMap first_map_;                     // map of world 0, if there are others
  std::vector<std::size_t> first_apps_;   // first app of each other world
  RankSet nodes_;                         // numbers of nodes with ranks, likewise
  std::vector<RankSet> nodes_of_worlds_;  // by world, world 0 first, likewise
};

std::string encode(const Job& job);
// Returns a protocol error if the bytes are malformed or a value is impossible.
Result<Job> decode_job(std::string_view bytes);

std::string encode(const World& world);
// Returns a protocol error if the bytes or the map are malformed. Job::add() checks the rest.
Result<World> decode_world(std::string_view bytes);

}  // namespace scela::nla
