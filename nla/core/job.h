// What every agent must know of the job to start its ranks: sent once, the same bytes to all
// agents.
//
// Values; encode/decode are inverse of each other and decode checks every field.
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
#include "nla/core/spawn_request.h"

namespace scela::nla {

enum class OnFailure : std::uint8_t { kill, wait };
enum class Label : std::uint8_t { none, rank, host };
// How ranks reach their node's agent, and what they speak: PMI over a descriptor that they inherit;
// PMI over a port of the node; PMGR, protocol 8; what MVAPICH 1 made of that; PMIx, to a server of
// the node's own (docs/pmix.md); nothing.
enum class PmiKind : std::uint8_t { fd, port, pmgr, pmgr_mvapich1, pmix, none };

struct App {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "K=V", on top of Job::env
  std::string wdir;              // empty: the launcher's own directory, Job::wdir
  std::string path;              // directories searched before PATH, ':'-separated; may be empty
  RankSet ranks;                 // of the job's ranks, those that run this
  friend bool operator==(const App&, const App&) = default;
};

// Ranks that a rank has asked for while the job runs (PMI spawn). They follow the job's in number,
// and have fences, a key-value space and a numbering of their own.
struct World {
  Rank first = 0;         // its ranks: [first, first + map.size())
  Rank parent = 0;        // who has asked for it
  std::vector<App> apps;  // their ranks partition those
  RankMap map;            // of rank - first
  KeyValues preput;       // what its key-value space begins with
  // Names of nodes that the job got since it began, from this number on; only where ranks speak
  // PMIx.
  std::uint32_t first_host = 0;
  std::vector<std::string> hosts = {};
  RankSet ranks() const { return RankSet::run(first, map.size()); }
  friend bool operator==(const World&, const World&) = default;
};

struct Job {
  std::string id;         // unique per job: names of directories, the PMI key-value space
  std::vector<App> apps;  // at least one; their ranks partition [0, map.size())
  RankMap map;
  std::vector<std::string> env;  // "K=V", complete
  std::string wdir;
  RankSet stdin_ranks;  // who gets standard input; others read end of file
  OnFailure on_failure = OnFailure::kill;
  PlacementPolicy placement;                              // of its ranks on each node
  std::vector<std::pair<Rank, CoreChoice>> chosen_cores;  // of ranks that have places of their own
  PmiKind pmi = PmiKind::fd;
  // What ranks are told as the universe size, unless they are more; negative: there is no limit.
  std::int32_t universe = 0;
  std::uint32_t grace_ms = 2000;  // between the first signal and SIGKILL
  cache::PolicyKind cache_policy = cache::PolicyKind::hcmab;
  std::uint64_t cache_limit = 0;  // cache::Place::limit
  bool trace = false;             // agents send a report at the end: spans, ranks' accounts
  // The same command for its own sake on each node, one rank each: where a node lacks the
  // launcher's directory it runs at home.
  bool once_per_host = false;
  std::uint32_t host_timeout_ms = 0;  // for all ranks of a node, from their start; 0: none
  // What the agent of a rank puts before every line that it writes (common/core/line_marks.h).
  Label label = Label::none;
  bool timestamps = false;
  bool plain_output = false;  // on standard error only
  std::int32_t ahead_s = 0;   // of UTC, as seen by who reads the timestamps
  // Who has a pseudo-terminal for its standard streams, of this size and with these modes at first:
  // one rank or none. All that it writes is its standard output.
  RankSet terminal_ranks;
  WindowSize window;
  TerminalModes modes;
  // Names of the nodes, by number, later ones included; only where ranks speak PMIx.
  std::vector<std::string> hosts;

  // Since it began, and so no part of encode(): `apps` and `map` hold theirs too.
  std::vector<World> worlds;

  // What its first ranks are told: `universe`, but not less than they are; -1: there is no limit.
  std::int64_t universe_size() const;

  // Position in apps of a rank's program; apps.size() if the rank is not in the job.
  std::size_t app_of(Rank rank) const;

  // Worlds are numbered from 1; 0 is the job as it began. Of a rank of the job:
  std::size_t world_of(Rank rank) const;
  RankSet ranks_of_world(std::size_t world) const;
  const RankMap& map_of_world(std::size_t world) const;
  std::size_t first_app_of_world(std::size_t world) const;
  std::string name_of_world(std::size_t world) const;  // of its key-value space too
  // Before every key of it: no protocol has keys that begin so. Empty for 0.
  static std::string key_prefix(std::size_t world);
  // Without its worlds: what encode() gives.
  Job as_it_began() const;
  // Every node that has ranks has some of `ranks`, which are all ranks of one world: what they have
  // agreed on is known everywhere.
  bool is_everywhere(const RankSet& ranks) const;
  // Error (protocol): it is malformed, or does not begin where the job ends.
  Result<void> add(World world);

  friend bool operator==(const Job&, const Job&) = default;

 private:
  RankMap first_map_;                     // of world 0, once there are others
  std::vector<std::size_t> first_apps_;   // of the others
  RankSet nodes_;                         // that have ranks, likewise (numbers of nodes)
  std::vector<RankSet> nodes_of_worlds_;  // likewise, world 0 first
};

std::string encode(const Job& job);
Result<Job> decode_job(std::string_view bytes);

std::string encode(const World& world);
Result<World> decode_world(std::string_view bytes);

}  // namespace scela::nla
