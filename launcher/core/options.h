// What the user asked of scela-run, as values, and the parser that makes them.
//
// Three sources, each passed in as text: the command line, SCELA_* variables, a configuration file.
// A higher source wins over a lower one, in that order; below all three stand the defaults written
// here. Programs are separated by ":" (MPMD). Knows no file, environment or terminal: whoever calls
// has read them. Never throws; every error has kind usage and names the option and the source.
// Durations are std::chrono.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/rank_set.h"
#include "common/core/result.h"
#include "launcher/core/placement_options.h"
#include "launcher/core/rankfile.h"

namespace scela {

inline constexpr std::uint32_t kMaxRanks = 1u << 24;             // guards against a mistyped -n
inline constexpr std::uint32_t kMaxSimNodes = 1u << 16;          // agents on one machine
inline constexpr std::uint32_t kMaxConnLimit = 1u << 20;         // descriptors no process is given
inline constexpr std::uint32_t kDefaultMaxConn = 128;            // MAX_CONN, thesis section 2.2.2
inline constexpr std::uint32_t kDefaultMaxDepth = 3;             // MAX_DEPTH, thesis section 2.2.2
inline constexpr std::chrono::milliseconds kDefaultGrace{2000};  // between SIGTERM and SIGKILL
// What runs below a lost host goes on so long without a parent.
inline constexpr std::chrono::milliseconds kDefaultAdoptTimeout{10000};
inline constexpr std::uint32_t kDefaultFanout = 128;  // sshd's queue of a listening port
inline constexpr std::chrono::milliseconds kDefaultConnectTimeout{10000};
inline constexpr std::chrono::milliseconds kDefaultHeartbeat{2000};

enum class LaunchMethod { automatic, local, ssh, program };
enum class LinkKind { automatic, ssh, tcp };
enum class HostKeys { strict, accept_new };
enum class OnFailure { kill, wait };
enum class CachePolicy { hcs, hcma, hcmab, hcmab_lru, dht };
enum class PmiKind { fd, port, pmgr, pmgr_mvapich1, pmix, none, automatic };
enum class StatsFormat { none, text, json };
enum class NodesetOperation { fold, expand, count };

// Which ranks read scela-run's standard input; the others read /dev/null.
struct StdinTarget {
  enum class Kind { none, all, rank };
  Kind kind = Kind::rank;
  Rank rank = 0;  // meaningful for Kind::rank only
  friend bool operator==(const StdinTarget&, const StdinTarget&) = default;
};

// Which variables of scela-run's own environment the ranks inherit.
struct EnvPass {
  enum class Kind { all, none, names };
  Kind kind = Kind::all;
  std::vector<std::string> names;  // for Kind::names
  friend bool operator==(const EnvPass&, const EnvPass&) = default;
};

struct EnvVariable {
  std::string name;
  std::string value;
  friend bool operator==(const EnvVariable&, const EnvVariable&) = default;
};

// One program of the job: one segment of the command line between ":" words.
struct App {
  std::optional<std::uint32_t> np;   // ranks, >= 1; absent: decided by the mapping
  std::optional<std::uint32_t> ppn;  // ranks per node, >= 1
  std::optional<std::string> hosts;  // only where a later segment names its own; else the job's
  std::vector<EnvVariable> env;  // --genv first, then --env; each name once, the last value given
  std::optional<std::string> wdir;  // absent: scela-run's own working directory
  std::optional<std::string> path;  // directories searched for the program before $PATH
  std::vector<std::string> argv;    // program and arguments; never empty in a job
};

// What ranks are told as the universe size.
struct UniverseSize {
  enum class Kind { system, infinite, number };  // system: the slots of all hosts
  Kind kind = Kind::system;
  std::uint32_t number = 0;  // >= 1 for Kind::number
  friend bool operator==(const UniverseSize&, const UniverseSize&) = default;
};

struct NodesetRequest {
  NodesetOperation operation = NodesetOperation::fold;
  std::string spec;
};

struct Options {
  // Where. At most one of hosts and hostfile is set; neither: this machine (or the scheduler's
  // nodes).
  std::optional<std::string> hosts;     // text of -w, see hostfile.h
  std::optional<std::string> hostfile;  // a path, not yet read
  std::optional<std::string> exclude;   // text of -x
  LaunchMethod launch = LaunchMethod::automatic;
  std::string launch_program;              // for LaunchMethod::program: "ssh -x", "rsh"
  std::optional<std::uint32_t> sim_nodes;  // >= 1: that many agents on this machine
  bool oversubscribe = false;
  // Absent: the slots of all hosts. Else hosts without a rank have an agent too, for spawned ranks.
  std::optional<UniverseSize> usize;
  bool no_spawn = false;
  PlacementOptions placement;
  std::optional<std::string> rankfile;  // a path; whoever reads it fills in rank_places
  std::vector<RankPlace> rank_places;   // by rank; empty: no rankfile
  PmiKind pmi = PmiKind::automatic;     // how ranks reach their agent, and what they speak

  // The tree.
  std::optional<std::uint32_t> degree;  // >= 1; absent: from max_depth and max_conn
  std::uint32_t max_depth = kDefaultMaxDepth;
  std::uint32_t max_conn = kDefaultMaxConn;

  bool flat = false;                       // scela-run starts every agent itself
  std::uint32_t fanout = kDefaultFanout;   // sessions one process has under way at a time, >= 1
  std::uint32_t spares = 0;                // of the hosts, the last so many replace dead ones
  std::optional<std::uint32_t> min_nodes;  // >= 1: start with so many; absent: with all

  // Reaching the hosts.
  std::optional<std::string> agent;  // path of scela-nla, here and on the hosts
  bool forward_agent = false;
  std::optional<std::string> ssh_config;  // a file, or none
  HostKeys host_keys = HostKeys::strict;
  std::chrono::milliseconds connect_timeout = kDefaultConnectTimeout;  // per phase of a start
  LinkKind link = LinkKind::automatic;                      // what carries the agents' words
  std::chrono::milliseconds heartbeat = kDefaultHeartbeat;  // 0: none

  // The ranks.
  // Absent: all; where the program runs once per host on other machines, none.
  std::optional<EnvPass> env_pass;
  // Absent: rank 0; where the program runs once per host, all unless it is a terminal.
  std::optional<StdinTarget> stdin_to;
  std::vector<App> apps;  // at least one unless help, version or nodeset is set

  std::optional<CachePolicy> cache;  // absent: hcmab, or hcmab-lru with a limit
  std::string cache_where;           // what has named it: "SCELA_CACHE"; "": the command line
  std::uint64_t cache_limit = 0;     // bytes an agent's cache holds; 0: what the policy needs

  // Output.
  std::optional<bool> label;  // absent: yes where the program runs once per host
  bool gather = false;        // equal output is shown once, at the end; not with output_dir
  bool timestamp = false;     // every line of output begins with the time
  std::optional<std::string> output_dir;
  // The rank that reads standard input has a terminal; not with gather, output_dir, several
  // readers.
  bool pty = false;

  // The end of the job.
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds grace = kDefaultGrace;
  std::optional<OnFailure> on_failure;  // absent: kill, or wait where it runs once per host
  // What runs below a lost host goes on so long without a new parent (not with kill); 0: it ends.
  std::chrono::milliseconds adopt_timeout = kDefaultAdoptTimeout;
  std::optional<std::chrono::milliseconds> host_timeout;  // for what runs on one host

  // What to show.
  bool dry_run = false;
  bool show_map = false;
  StatsFormat stats = StatsFormat::none;
  std::optional<std::string> trace;   // file, Chrome trace format
  std::optional<std::string> record;  // file, core events for the simulator
  bool verbose = false;
  std::vector<std::string> verbose_subsystems;  // empty: all of them

  std::vector<std::string> warnings;  // lines for the user about what was not used

  // Instead of a job.
  bool version = false;
  bool help = false;
  std::optional<NodesetRequest> nodeset;
};

struct OptionSources {
  std::vector<std::string> words;                                // argv[1..]
  std::vector<std::pair<std::string, std::string>> environment;  // all of it; SCELA_* ones are used
  std::string config_name;                 // for error texts; unused if no text
  std::optional<std::string> config_text;  // absent: no configuration file
};

Result<Options> parse_options(const OptionSources& sources);

// The configuration file to read before parse_options: the one that --config or SCELA_CONFIG names
// (must exist), else the default of the user ($XDG_CONFIG_HOME/scela/scela-run.conf or
// $HOME/.config/scela/scela-run.conf; may be missing). Empty path: there is none.
struct ConfigChoice {
  std::string path;
  bool must_exist = false;
};
ConfigChoice config_choice(const OptionSources& sources);

// The text of --help: every option, in groups, at most 100 columns wide.
std::string help_text();

}  // namespace scela
