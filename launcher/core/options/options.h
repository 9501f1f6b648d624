// The options of scela-run as values, and the parser that makes them. The command, the session,
// launcher/plan/plan.cpp, launcher/plan/job_hosts.cpp and launcher/hosts/host_contacts.cpp use
// them.
//
// The parser has three sources, each passed in as text: the command line, SCELA_* variables and a
// configuration file. An earlier source in this order wins over a later one. If no source sets an
// option, the defaults in this header apply. Programs are separated by ":" (MPMD).
//
// The functions are pure: the caller reads files, environment and terminal. They never throw; every
// error has kind usage and names the option and the source. Durations are std::chrono types.
//
// "Once per host" means that hosts are named but no number of ranks, slots or placement. The
// program then runs once on each host, as under pdsh (is_once_per_host() of
// launcher/plan/job_hosts.h). In a scheduler's job Options::on_each_host stands for named hosts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/core/rank_set.h"
#include "common/core/result.h"
#include "launcher/core/detect/allocation.h"
#include "launcher/core/detect/bulk_command.h"
#include "launcher/core/detect/launch_method.h"
#include "launcher/core/map/rankfile.h"
#include "launcher/core/options/placement_options.h"
#include "launcher/core/report/job_report.h"

namespace scela {

// Limits of options, against typing errors, and defaults.
inline constexpr std::uint32_t kMaxSimNodes = 1u << 16;          // agents on one machine
inline constexpr std::uint32_t kMaxConnLimit = 1u << 20;         // beyond any descriptor limit
inline constexpr std::uint32_t kDefaultMaxConn = 128;            // MAX_CONN, thesis section 2.2.2
inline constexpr std::chrono::milliseconds kDefaultGrace{2000};  // between SIGTERM and SIGKILL
// The time for which agents below a lost host go on without a parent.
inline constexpr std::chrono::milliseconds kDefaultAdoptTimeout{10000};
inline constexpr std::uint32_t kDefaultFanout = 128;  // the length of sshd's listen queue
// The limit of each phase of starting an agent, and the interval of heartbeats.
inline constexpr std::chrono::milliseconds kDefaultConnectTimeout{10000};
inline constexpr std::chrono::milliseconds kDefaultHeartbeat{2000};

// The time that gdb gets on each node for the stacks of its ranks.
inline constexpr std::chrono::milliseconds kDefaultStackTime{30000};

inline constexpr std::uint32_t kMaxGpus = 1024;        // of one rank
inline constexpr std::uint32_t kMaxRestarts = 100000;  // of one job

// Says how agents are connected. ssh: through the ssh session that started the agent. tcp: TCP with
// TLS. automatic: tcp where it is possible, else ssh.
enum class LinkKind { automatic, ssh, tcp };
// strict: a host must show a known key. accept_new: the first key of an unknown host is recorded.
enum class HostKeys { strict, accept_new };
// Says what happens if a rank fails. kill: the job ends. wait: the other ranks go on.
enum class OnFailure { kill, wait };
// Says which PMI pairs agents keep. The table in docs/design/caches.md explains the policies.
enum class CachePolicy { hcs, hcma, hcmab, hcmab_lru, dht };
// Says how ranks reach PMI. fd: PMI-1 and PMI-2 on a descriptor that ranks inherit (PMI_FD). port:
// PMI-1 or PMI-2 over TCP (PMI_PORT). pmgr: PMGR, protocol 8. pmgr_mvapich1: the older PMGR of
// MVAPICH 1. none: no PMI. automatic: launcher/plan/pmi_choice.h chooses from the programs.
enum class PmiKind { fd, port, pmgr, pmgr_mvapich1, pmix, none, automatic };
// Says whether --stats prints no statistics, lines for a terminal, or JSON.
enum class StatsFormat { none, text, json };
// fold: names to a node set. expand: a node set to names. count: the number of names.
enum class NodesetOperation { fold, expand, count };

// Says which ranks read scela-run's standard input. The others read /dev/null.
struct StdinTarget {
  enum class Kind { none, all, rank };
  Kind kind = Kind::rank;
  Rank rank = 0;  // for Kind::rank only
  friend bool operator==(const StdinTarget&, const StdinTarget&) = default;
};

// Says which ranks run under gdb, or are stopped for another debugger.
struct RankChoice {
  bool all = false;
  RankSet ranks;  // unless `all`
  friend bool operator==(const RankChoice&, const RankChoice&) = default;
};

// Says which variables of scela-run's own environment the ranks inherit.
struct EnvPass {
  enum class Kind { all, none, names };
  Kind kind = Kind::all;
  std::vector<std::string> names;  // for Kind::names
  friend bool operator==(const EnvPass&, const EnvPass&) = default;
};

// An environment variable.
struct EnvVariable {
  std::string name;
  std::string value;
  friend bool operator==(const EnvVariable&, const EnvVariable&) = default;
};

// One program of the job: the part of the command line between two ":" words.
struct App {
  std::optional<std::uint32_t> np;   // ranks, >= 1; absent: by the mapping
  std::optional<std::uint32_t> ppn;  // most ranks per node, >= 1
  // Set only if a later program names its own hosts. Otherwise the job's hosts apply.
  std::optional<std::string> hosts;
  // The variables of --genv first, then those of --env. Each name is there once, with the last
  // value.
  std::vector<EnvVariable> env;
  // Absent: scela-run's own directory. "~": the home directory of the login on each host.
  std::optional<std::string> wdir;
  std::optional<std::string> path;  // directories searched before $PATH
  std::vector<std::string> argv;    // the program first; never empty in a job
  // The word "--" stands before the program: no shell ever gets it.
  bool is_exact = false;
};

// The launchers of which the ranks get the variables (--env-style).
struct EnvStyles {
  bool torch = false, ompi = false, mpich = false, slurm = false;
  // Returns true if there is any of them.
  bool any() const { return torch || ompi || mpich || slurm; }
  friend bool operator==(const EnvStyles&, const EnvStyles&) = default;
};

// The universe size that ranks get: the number of ranks that could run at once.
struct UniverseSize {
  enum class Kind { system, infinite, number };  // system: the slots of all hosts
  Kind kind = Kind::system;
  std::uint32_t number = 0;  // >= 1 for Kind::number
  friend bool operator==(const UniverseSize&, const UniverseSize&) = default;
};

// The request of --nodeset.
struct NodesetRequest {
  NodesetOperation operation = NodesetOperation::fold;
  std::string spec;  // a node set, or names
};

// One value that a source has given for an option.
struct OptionSetting {
  std::string name;         // the long name, without dashes
  std::string value;        // as it was written; "" for an option without a value
  std::string source;       // a variable, "FILE:LINE" of a configuration file; "": command line
  std::size_t program = 0;  // on the command line, the program with the option in its part, from 0
  friend bool operator==(const OptionSetting&, const OptionSetting&) = default;
};

// All options of scela-run. An absent value was not given.
struct Options {
  // The hosts. At most one of `hosts` and `hostfile` is set. If neither is set and no other option
  // names hosts, the job runs on the hosts of its scheduler's job, or on this machine.
  std::optional<std::string> hosts;     // text of -w: a host list
  std::optional<std::string> hostfile;  // a path, not yet read
  // ADDRESS:PORT or PORT at which agents join the job (--listen), with the key in this file.
  std::optional<std::string> listen;
  std::optional<std::string> key_file;
  // hostfile is a program that prints a host file (--host-discovery-script).
  bool hostfile_is_program = false;
  std::optional<std::string> exclude;             // text of -x
  LaunchMethod launch = LaunchMethod::automatic;  // --launch
  BulkStarter bulk;                               // LaunchMethod::bulk
  bool hears_node_losses = false;                 // a PMIx server may tell of lost nodes
  std::string launch_program;                     // LaunchMethod::program: "ssh -x", "rsh"
  bool launch_takes_port = false;                 // the program takes "-p PORT HOST", as ssh does
  bool launch_from_here = false;                  // only scela-run can start agents by the program
  // --launch sge and the like: the method is automatic, and the job must be one of this scheduler.
  std::optional<Scheduler> scheduler;
  // The program runs once on each host of the scheduler's job: --gather, --diff or --host-timeout
  // on the command line asks for that (launcher/hosts/job_allocation.h).
  bool on_each_host = false;
  std::optional<std::uint32_t> sim_nodes;  // >= 1: agents on this machine
  bool oversubscribe = false;              // more ranks than slots are allowed
  // If absent, the universe is the slots of all hosts. If set, hosts without a rank get an agent
  // too, for spawned ranks.
  std::optional<UniverseSize> usize;
  bool no_spawn = false;                // ranks may not spawn ranks
  PlacementOptions placement;           // --map-by, --bind-to and so on
  std::optional<std::string> rankfile;  // a path; its reader sets rank_places
  std::vector<RankPlace> rank_places;   // by rank; empty: no rankfile
  PmiKind pmi = PmiKind::automatic;     // PMI of the ranks and its transport

  // The tree of agents.
  std::optional<std::uint32_t> degree;  // >= 1; absent: from the two below
  // Levels of agents below scela-run; std::nullopt: as the time of the start demands, at most 3.
  std::optional<std::uint32_t> max_depth;
  std::uint32_t max_conn = kDefaultMaxConn;  // connections of one agent, with its ranks

  bool flat = false;                       // scela-run starts every agent itself
  std::uint32_t fanout = kDefaultFanout;   // sessions a process opens at once, >= 1
  std::uint32_t spares = 0;                // this many last hosts replace dead ones
  std::optional<std::uint32_t> min_nodes;  // >= 1: agents needed; absent: all

  // How the hosts are reached.
  std::optional<std::string> agent;       // path of scela-nla, here and on hosts
  std::optional<std::string> user;        // the login on hosts that name none
  bool forward_agent = false;             // hosts may use this machine's ssh-agent
  std::optional<std::string> ssh_config;  // as ssh -F: a file, or "none"
  std::optional<HostKeys> host_keys;      // absent: as the ssh configuration says
  std::chrono::milliseconds connect_timeout = kDefaultConnectTimeout;  // per phase of a start
  // The time for hosts that come up late; absent: as host_wait_limit() says.
  std::optional<std::chrono::milliseconds> wait_hosts;
  std::string network;                  // of addresses that agents tell others; "": as reached
  LinkKind link = LinkKind::automatic;  // the connections between agents
  std::chrono::milliseconds heartbeat = kDefaultHeartbeat;  // 0: none

  // The ranks. If `env_pass` is absent, they inherit all variables. If the program runs once per
  // host on other machines, they inherit none.
  std::optional<EnvPass> env_pass;
  // If absent, rank 0 reads standard input. If the program runs once per host, all ranks read it
  // unless it is a terminal; with --pty, only rank 0 does.
  std::optional<StdinTarget> stdin_to;
  std::vector<App> apps;  // not empty in a job

  std::optional<CachePolicy> cache;  // absent: hcmab, hcmab-lru with a limit
  std::string cache_where;           // source of cache; "": command line
  std::uint64_t cache_limit = 0;     // bytes per agent; 0: as policy needs

  // Output of the ranks.
  std::optional<bool> label;              // absent: yes if once per host
  std::string label_pattern;              // of label; "": "%r: ", or "%h: " once per host
  bool gather = false;                    // equal output is shown once, at the end
  bool diff = false;                      // then only differences from the majority
  bool timestamp = false;                 // every line of output has the time
  std::optional<std::string> output_dir;  // a directory, for a file per rank
  std::string output_name;                // pattern of names there; "": by default
  std::optional<std::string> json;        // records go to this file; "-": standard output
  // The rank that reads standard input gets a terminal. This excludes gather, output_dir and
  // several readers.
  bool pty = false;
  // Every rank of `gdb`, or every rank if that is absent, has a terminal in a pane of tmux. This
  // excludes what --pty excludes, and a choice of readers.
  bool tmux = false;

  // The end of the job.
  std::optional<std::chrono::milliseconds> timeout;  // of the job; absent: none
  std::chrono::milliseconds grace = kDefaultGrace;   // from SIGTERM to SIGKILL
  std::optional<OnFailure> on_failure;               // absent: kill, or wait if once per host
  // The time that agents below a lost host go on without a new parent (not with kill). 0 means that
  // they end at once.
  std::chrono::milliseconds adopt_timeout = kDefaultAdoptTimeout;
  std::optional<std::chrono::milliseconds> host_timeout;  // for the program on one host
  bool no_agent_cache = false;  // hosts do not keep the agent that they are sent
  bool keep = false;            // what ranks left running stays if the job ends by itself
  StatusRule exit_status = StatusRule::automatic;  // how failures decide the exit status

  // Jobs of training frameworks.
  EnvStyles env_styles;
  bool expand = false;              // %h, %n, %r, %j and %u in the programs' words are replaced
  std::uint32_t gpus_per_rank = 0;  // 0: GPUs are not shared out
  std::uint32_t restarts = 0;       // how often a job that fails is started again at most

  // Inspection of the job.
  bool dry_run = false;   // show the plan and start nothing
  bool show_map = false;  // show the map, then run
  StatsFormat stats = StatsFormat::none;
  std::optional<std::string> trace;   // file, Chrome trace format
  std::optional<std::string> record;  // file, core events for the simulator
  // The time that gdb gets on each node to read the stacks of its ranks. If set, the stacks are
  // shown when --timeout is reached.
  std::optional<std::chrono::milliseconds> stack_traces;
  std::optional<RankChoice> gdb;  // these ranks run under gdb, with a terminal
  // These ranks are stopped until a debugger lets them go, at the start of their program or in
  // PMIx_Init.
  std::optional<RankChoice> stop_on_exec, stop_in_init;
  bool verbose = false;                         // show log records of level info
  std::vector<std::string> verbose_subsystems;  // empty: all of them

  std::vector<std::string> warnings;  // for the user, about unused settings

  // These were given by the sources. Of an option that counts once, the last setting holds.
  std::vector<OptionSetting> settings;

  std::string misplaced_as;  // the value of an --as that is not the first word

  // Requests that replace a job.
  bool version = false;
  bool help = false;
  bool show_config = false;
  std::optional<NodesetRequest> nodeset;  // --nodeset
  std::optional<std::uint32_t> attach;    // --attach: process number of another scela-run
};

// The sources of options. The caller reads them.
struct OptionSources {
  std::vector<std::string> words;                                // argv[1..]
  std::vector<std::pair<std::string, std::string>> environment;  // all of it; SCELA_* are used
  std::string config_name;                 // for errors; unused without a text
  std::optional<std::string> config_text;  // absent: no configuration file
};

// Parses all sources and returns the options, or the first error (kind usage). Reads neither the
// host file nor the rank file: the options only have their paths.
Result<Options> parse_options(const OptionSources& sources);

// Says which configuration file the caller must read before parse_options(). If --config or
// SCELA_CONFIG names one, it must exist. Otherwise it is the user's default file, which may be
// missing: $XDG_CONFIG_HOME/scela/scela-run.conf, or $HOME/.config/scela/scela-run.conf. An empty
// path means that there is none.
struct ConfigChoice {
  std::string path;
  bool must_exist = false;
};
// Returns the choice. It uses the words and the environment of `sources` only.
ConfigChoice config_choice(const OptionSources& sources);

// Returns the text of --help: every option, in groups, examples and exit statuses, at most 100
// columns wide.
std::string help_text();

}  // namespace scela
