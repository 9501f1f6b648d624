#include "launcher/core/options/option_table.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "common/core/log.h"
#include "common/core/text.h"
#include "launcher/core/detect/starter.h"
#include "launcher/core/options/option_values.h"
#include "launcher/core/options/universe.h"

namespace scela {
namespace {

// Stores a parsed value, or returns its error.
template <class T, class Field>
Result<void> store(Result<T> parsed, Field& field) {
  if (!parsed) return fail(std::move(parsed.error()));
  field = std::move(*parsed);
  return {};
}

// Stores a flag. On the command line a flag may have no value; elsewhere it has one.
template <class Field>
Result<void> store_flag(std::string_view value, Field& field) {
  return value.empty() ? store(Result<bool>(true), field) : store(parse_flag(value), field);
}

template <class T, class Field>
Result<void> store_choice(std::string_view value, Field& field,
                          std::initializer_list<std::pair<std::string_view, T>> choices) {
  std::string known;
  for (const auto& [name, choice] : choices) {
    if (value == name) {
      field = choice;
      return {};
    }
    known += cat(known.empty() ? "" : " or ", name);
  }
  return fail(value_error(cat("'", value, "' is not known"), cat("give ", known)));
}

Result<void> store_env(std::string_view value, std::vector<EnvVariable>& list) {
  auto variable = parse_env_variable(value);
  if (!variable) return fail(std::move(variable.error()));
  set_env(list, std::move(*variable));
  return {};
}

using Target = OptionTarget;
using Text = std::string_view;

// Adds a host list as a further line, which is evaluated alone. The hosts of a later -w are added
// to those of an earlier one, and so are those of a later -x.
Result<void> add_host_list(Text v, std::optional<std::string>& field) {
  auto text = parse_text(v);
  if (text && field) *text = cat(*field, '\n', *text);
  return store(std::move(text), field);
}

Result<void> apply_hosts(Target t, Text v) {
  return add_host_list(v, t.app.hosts);
}

// Returns true for NAME=VALUE, which has no ':' before '=' as a:port=22 has.
bool is_variable_setting(Text v) {
  const auto end =
      v.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  return end != Text::npos && end > 0 && v[end] == '=';
}

// mpirun's -x sets a variable.
Result<void> apply_exclude(Target t, Text v) {
  if (is_variable_setting(v)) {
    return fail(value_error("-x leaves hosts out", cat("to set a variable say --env ", v)));
  }
  return add_host_list(v, t.options.exclude);
}

// 0 means no limit, as for timeout(1).
Result<void> store_limit(Text v, std::optional<std::chrono::milliseconds>& limit) {
  auto parsed = store(parse_duration(v), limit);
  if (parsed && limit->count() == 0) limit.reset();
  return parsed;
}

Result<void> apply_host_timeout(Target t, Text v) {
  auto parsed = store_limit(v, t.options.host_timeout);
  if (parsed && t.options.host_timeout.value_or(std::chrono::milliseconds(0)) > kMaxHostTimeout) {
    return fail(value_error(cat("'", v, "' is more than 40 days"), "give a shorter time"));
  }
  return parsed;
}

Result<void> apply_stats(Target t, Text v) {
  if (v.empty() || v == "yes" || v == "1") v = "text";
  if (v == "no" || v == "0") v = "none";
  return store_choice<StatsFormat>(
      v, t.options.stats,
      {{"text", StatsFormat::text}, {"json", StatsFormat::json}, {"none", StatsFormat::none}});
}

Result<void> apply_stack_traces(Target t, Text v) {
  // A number is a time, 1 and 0 too.
  if (!v.empty() && v.front() >= '0' && v.front() <= '9')
    return store_limit(v, t.options.stack_traces);
  const auto flag = v.empty() ? Result<bool>(true) : parse_flag(v);
  if (!flag) return fail(flag.error());
  t.options.stack_traces.reset();
  if (*flag) t.options.stack_traces = kDefaultStackTime;
  return {};
}

// Without a value, the records go to standard output.
Result<void> apply_json(Target t, Text v) {
  const auto flag = v.empty() ? Result<bool>(true) : parse_flag(v);
  if (flag && !*flag) {
    t.options.json.reset();
    return {};
  }
  return store(flag ? Result<std::string>("-") : parse_text(v), t.options.json);
}

Result<void> apply_verbose(Target t, Text v) {
  t.options.verbose_subsystems.clear();
  if (v.empty() || parse_flag(v)) return store_flag(v, t.options.verbose);
  for (std::string& name : split_list(v, ',')) {
    std::string known;
    bool is_known = false;
    for (int i = 0; i < kSubsystems; ++i) {
      const Text subsystem = name_of(static_cast<Subsystem>(i));
      is_known = is_known || name == subsystem;
      known += cat(known.empty() ? "" : ", ", subsystem);
    }
    if (!is_known) {
      return fail(value_error(cat("'", name, "' is no subsystem"), cat("there are ", known)));
    }
    t.options.verbose_subsystems.push_back(std::move(name));
  }
  t.options.verbose = true;
  return {};
}

// Returns the scheduler of the word, such as "sge", or std::nullopt if there is none.
std::optional<Scheduler> scheduler_of(Text word) {
  const auto found = std::ranges::find_if(
      kSchedulers, [&](Scheduler one) { return !word.empty() && word_of(one) == word; });
  return found == std::end(kSchedulers) ? std::nullopt : std::optional(*found);
}

// Accepts auto, local, ssh, ssh-exec[:WORDS], rsh[:COMMAND], the words of schedulers, and those of
// container_starter().
Result<void> apply_launch(Target t, Text v) {
  constexpr Text kSshExec = "ssh -x -T -o BatchMode=yes";
  t.options.launch = LaunchMethod::automatic;
  t.options.launch_from_here = false;
  t.options.scheduler = scheduler_of(v);
  if (t.options.scheduler) return {};
  if (const Text command = container_starter(v); !command.empty()) {
    t.options.launch = LaunchMethod::program;
    t.options.launch_takes_port = false;
    t.options.launch_from_here = true;
    t.options.launch_program = command;
    return {};
  }
  const auto colon = v.find(':');
  const Text kind = v.substr(0, colon);
  const Text words = colon == Text::npos ? Text() : trim(v.substr(colon + 1));
  if (kind == "rsh" || kind == "ssh-exec") {
    t.options.launch = LaunchMethod::program;
    t.options.launch_takes_port = kind == "ssh-exec";
    t.options.launch_program =
        !words.empty() ? std::string(words) : std::string(kind == "rsh" ? Text("rsh") : kSshExec);
    return {};
  }
  return store_choice<LaunchMethod>(v, t.options.launch,
                                    {{"auto", LaunchMethod::automatic},
                                     {"local", LaunchMethod::local},
                                     {"ssh", LaunchMethod::ssh},
                                     {"ssh-exec", LaunchMethod::program},
                                     {"rsh:COMMAND", LaunchMethod::program},
                                     {"slurm", LaunchMethod::automatic},
                                     {"sge", LaunchMethod::automatic},
                                     {"pbs", LaunchMethod::automatic},
                                     {"lsf", LaunchMethod::automatic},
                                     {"flux", LaunchMethod::automatic},
                                     {"cobalt", LaunchMethod::automatic},
                                     {"loadl", LaunchMethod::automatic},
                                     {"condor", LaunchMethod::automatic},
                                     {"kubectl", LaunchMethod::program},
                                     {"podman", LaunchMethod::program},
                                     {"docker", LaunchMethod::program}});
}

// A list of styles, or none of them.
Result<void> apply_env_style(Target t, Text v) {
  EnvStyles styles;
  for (const std::string& name : split_list(v, ',')) {
    bool* of = nullptr;
    if (v == "none") break;
    auto known = store_choice<bool*>(name, of,
                                     {{"torch", &styles.torch},
                                      {"ompi", &styles.ompi},
                                      {"mpich", &styles.mpich},
                                      {"slurm", &styles.slurm},
                                      {"none", nullptr}});
    if (!known) return known;
    if (of == nullptr) return fail(value_error("'none' stands beside others", "leave it out"));
    *of = true;
  }
  if (v.empty() || (!styles.any() && v != "none"))
    return fail(value_error("it names no launcher", "give torch, ompi, mpich or slurm"));
  t.options.env_styles = styles;
  return {};
}

// The last of --hostfile and --host-discovery-script counts.
Result<void> store_hostfile(Target t, Text v, bool is_program) {
  t.options.hostfile_is_program = is_program;
  return store(parse_text(v), t.options.hostfile);
}

Result<void> apply_connect_timeout(Target t, Text v) {
  auto parsed = parse_duration(v);
  if (!parsed) return fail(std::move(parsed.error()));
  if (parsed->count() < 1) return fail(value_error("it is no time at all", "give a longer time"));
  t.options.connect_timeout = *parsed;
  return {};
}

Result<void> apply_heartbeat(Target t, Text v) {
  // With a shorter interval, heartbeats would dominate the network traffic.
  constexpr std::chrono::milliseconds kShortest{100};
  constexpr std::chrono::hours kLongest{24};
  auto parsed = parse_duration(v);
  if (!parsed) return fail(std::move(parsed.error()));
  if (parsed->count() != 0 && (*parsed < kShortest || *parsed > kLongest)) {
    return fail(
        value_error("it is not within 0.1 s and a day", "give another time, or 0 for none"));
  }
  t.options.heartbeat = *parsed;
  return {};
}

Result<void> apply_nodeset(Target t, Text v) {
  NodesetRequest request;
  auto stored = store_choice<NodesetOperation>(v, request.operation,
                                               {{"fold", NodesetOperation::fold},
                                                {"expand", NodesetOperation::expand},
                                                {"count", NodesetOperation::count}});
  if (stored) t.options.nodeset = std::move(request);
  return stored;
}

// run_command() obeys --as as the first word. Anywhere else, parse_options() refuses it.
Result<void> apply_as(Target t, Text v) {
  return store_choice<Text>(v, t.options.misplaced_as,
                            {{"mpiexec", v},
                             {"mpirun", v},
                             {"srun", v},
                             {"pdsh", v},
                             {"clush", v},
                             {"dshbak", v},
                             {"pdcp", v}});
}

using enum OptionGroup;

constexpr auto kFlag = OptionArgument::none;
constexpr auto kValue = OptionArgument::required;
constexpr auto kMaybe = OptionArgument::optional;
constexpr auto kJob = OptionScope::job;
constexpr auto kProgram = OptionScope::program;

// clang-format off
const OptionRow kOptions[] = {
    {"np", 'n', "N", kValue, kProgram, programs, "SCELA_NP",
     "ranks of this program (default: see MAPPING)",
     [](Target t, Text v) { return store(parse_number(v, 1, kMaxRanks), t.app.np); }},
    {"ppn", 0, "N", kValue, kProgram, programs, "SCELA_PPN",
     "at most N ranks of this program on each node",
     [](Target t, Text v) { return store(parse_number(v, 1, kMaxRanks), t.app.ppn); }},
    {"wdir", 0, "DIR", kValue, kProgram, programs, "SCELA_WDIR",
     "working directory of the ranks, ~ for home (default: the current one)",
     [](Target t, Text v) { return store(parse_text(v), t.app.wdir); }},
    {"path", 0, "DIRS", kValue, kProgram, programs, "SCELA_PATH",
     "directories, separated by ':', to search for the program first",
     [](Target t, Text v) { return store(parse_text(v), t.app.path); }},
    {"env", 0, "NAME=VALUE", kValue, kProgram, programs, "",
     "set a variable for this program's ranks (repeatable)",
     [](Target t, Text v) { return store_env(v, t.app.env); }, {}, true},
    {"genv", 0, "NAME=VALUE", kValue, kJob, programs, "",
     "set a variable for the ranks of all programs (repeatable)",
     [](Target t, Text v) { return store_env(v, t.global_env); }, {}, true},
    {"pmi", 0, "WHICH", kValue, kJob, programs, "SCELA_PMI",
     "how ranks meet: auto (default), fd, pmix, port, pmgr[-mvapich1], none",
     [](Target t, Text v) { return store_choice<PmiKind>(v, t.options.pmi,
          {{"fd", PmiKind::fd}, {"pmi1", PmiKind::fd}, {"pmi2", PmiKind::fd}, {"port", PmiKind::port}, {"pmgr", PmiKind::pmgr},
           {"pmgr-mvapich1", PmiKind::pmgr_mvapich1}, {"pmix", PmiKind::pmix},
           {"none", PmiKind::none}, {"auto", PmiKind::automatic}}); },
     "auto fd pmi1 pmi2 pmix port pmgr pmgr-mvapich1 none"},
    {"env-pass", 0, "WHICH", kValue, kJob, programs, "SCELA_ENV_PASS",
     "variables the ranks inherit: all (default), none or NAME,NAME,...",
     [](Target t, Text v) { return store(parse_env_pass(v), t.options.env_pass); },
     "all none"},

    {"hosts", 'w', "SPEC", kValue, kProgram, hosts, "SCELA_HOSTS",
     "hosts to run on: a,b:2,node[1-4]:8,me@c:2222,^FILE,- (repeatable)", apply_hosts, {}, true},
    {"hostfile", 'f', "FILE", kValue, kJob, hosts, "SCELA_HOSTFILE",
     "file with one host, host:slots or 'host slots=N' a line",
     [](Target t, Text v) { return store_hostfile(t, v, false); }},
    {"host-discovery-script", 0, "PROGRAM", kValue, kJob, hosts, "SCELA_HOST_DISCOVERY_SCRIPT",
     "program that prints such a file; run again for more hosts (--wait-hosts)",
     [](Target t, Text v) { return store_hostfile(t, v, true); }},
    {"exclude", 'x', "SPEC", kValue, kJob, hosts, "SCELA_EXCLUDE",
     "hosts to leave out, a host list as for -w (repeatable)", apply_exclude, {}, true},
    {"launch", 0, "METHOD", kValue, kJob, hosts, "SCELA_LAUNCH",
     "start agents by auto (default), local, ssh, rsh:COMMAND, sge, lsf, ...",
     apply_launch,
     "auto local ssh ssh-exec rsh: slurm sge pbs lsf flux cobalt loadl condor kubectl podman docker"},
    {"sim-nodes", 0, "N", kValue, kJob, hosts, "SCELA_SIM_NODES",
     "act as N nodes on this machine, one agent each",
     [](Target t, Text v) { return store(parse_number(v, 1, kMaxSimNodes), t.options.sim_nodes); }},
    {"oversubscribe", 0, "", kFlag, kJob, hosts, "SCELA_OVERSUBSCRIBE",
     "allow more ranks than slots, or than processors to bind them to",
     [](Target t, Text v) { return store_flag(v, t.options.oversubscribe); }},
    {"usize", 0, "SIZE", kValue, kJob, hosts, "SCELA_USIZE",
     "universe size that ranks are told: N, infinite, system (all slots)",
     [](Target t, Text v) { return store(parse_universe(v), t.options.usize); },
     "infinite system"},
    {"no-spawn", 0, "", kFlag, kJob, hosts, "SCELA_NO_SPAWN",
     "refuse ranks that spawn: no program runs but the ones named here",
     [](Target t, Text v) { return store_flag(v, t.options.no_spawn); }},
    {"map-by", 0, "WHAT", kValue, kJob, hosts, "SCELA_MAP_BY",
     "place by slot (default), node, core, l3, numa, socket or pe=N",
     [](Target t, Text v) { return parse_map_by(v, t.options.placement); },
     "slot node core l3 numa socket pe="},
    {"rank-by", 0, "WHAT", kValue, kJob, hosts, "SCELA_RANK_BY",
     "number ranks by slot, node, fill, core, l3, numa, socket",
     [](Target t, Text v) { return parse_rank_by(v, t.options.placement); },
     "slot node fill core l3 numa socket"},
    {"rankfile", 0, "FILE", kValue, kJob, hosts, "SCELA_RANKFILE",
     "file with the host and the cores of each rank: rank 0=host slot=0:0-3",
     [](Target t, Text v) { return store(parse_text(v), t.options.rankfile); }},
    {"bind-to", 0, "WHAT", kValue, kJob, hosts, "SCELA_BIND_TO",
     "bind each rank to: none, hwthread, core, l3, numa, socket",
     [](Target t, Text v) { return parse_bind_to(v, t.options.placement); },
     "none hwthread core l3 numa socket"},
    {"cpus-per-rank", 0, "N", kValue, kJob, hosts, "SCELA_CPUS_PER_RANK",
     "cores that each rank needs (with --bind-to hwthread: hardware threads)",
     [](Target t, Text v) { return parse_cpus_per_rank(v, t.options.placement); }},

    {"cache", 0, "POLICY", kValue, kJob, tree, "SCELA_CACHE",
     "which PMI pairs agents keep: hcs, hcma, hcmab (default), hcmab-lru, dht",
     [](Target t, Text v) { return store_choice<CachePolicy>(v, t.options.cache,
          {{"hcs", CachePolicy::hcs}, {"hcma", CachePolicy::hcma},
           {"hcmab", CachePolicy::hcmab}, {"hcmab-lru", CachePolicy::hcmab_lru},
           {"dht", CachePolicy::dht}}); },
     "hcs hcma hcmab hcmab-lru dht"},
    {"cache-limit", 0, "BYTES", kValue, kJob, tree, "SCELA_CACHE_LIMIT",
     "pairs an agent keeps at most: 65536, 64K, 2M (default: by the policy)",
     [](Target t, Text v) { return store(parse_bytes(v), t.options.cache_limit); }},

    {"degree", 0, "K", kValue, kJob, tree, "SCELA_DEGREE",
     "children per agent (default: from --max-depth and --max-conn)",
     [](Target t, Text v) { return store(parse_number(v, 1, kMaxConnLimit), t.options.degree); }},
    {"max-depth", 0, "N", kValue, kJob, tree, "SCELA_MAX_DEPTH",
     "levels of agents below scela-run (default: 1 to 3, the fastest)",
     [](Target t, Text v) { return store(parse_number(v, 1, 64), t.options.max_depth); }},
    {"max-conn", 0, "N", kValue, kJob, tree, "SCELA_MAX_CONN",
     "connections one agent may hold, its ranks included (default: 128)",
     [](Target t, Text v) { return store(parse_number(v, 2, kMaxConnLimit), t.options.max_conn); }},

    {"flat", 0, "", kFlag, kJob, tree, "SCELA_FLAT",
     "scela-run starts every agent itself",
     [](Target t, Text v) { return store_flag(v, t.options.flat); }},
    {"fanout", 0, "N", kValue, kJob, tree, "SCELA_FANOUT",
     "sessions one process opens at a time (default: 128)",
     [](Target t, Text v) { return store(parse_number(v, 1, kMaxConnLimit), t.options.fanout); }},
    {"spares", 0, "N", kValue, kJob, tree, "SCELA_SPARES",
     "keep the last N hosts to replace others that have no agent",
     [](Target t, Text v) { return store(parse_number(v, 0, kMaxRanks), t.options.spares); }},
    {"min-nodes", 0, "N", kValue, kJob, tree, "SCELA_MIN_NODES",
     "start when N of the hosts have an agent (default: all)",
     [](Target t, Text v) { return store(parse_number(v, 1, kMaxRanks), t.options.min_nodes); }},

    {"agent", 0, "PATH", kValue, kJob, remote, "SCELA_AGENT",
     "scela-nla to use (default: beside scela-run); sent to hosts without it",
     [](Target t, Text v) { return store(parse_text(v), t.options.agent); }},
    {"no-agent-cache", 0, "", kFlag, kJob, remote, "SCELA_NO_AGENT_CACHE",
     "hosts neither use nor keep an agent in the user's cache",
     [](Target t, Text v) { return store_flag(v, t.options.no_agent_cache); }},
    {"connect-timeout", 0, "TIME", kValue, kJob, remote, "SCELA_CONNECT_TIMEOUT",
     "limit of each phase of reaching a host (default: 10)",
     apply_connect_timeout},
    {"wait-hosts", 0, "TIME", kValue, kJob, remote, "SCELA_WAIT_HOSTS",
     "wait for hosts without a name or an sshd yet: 90, 2m (default: 0)",
     [](Target t, Text v) { return store(parse_duration(v), t.options.wait_hosts); }},
    {"listen", 0, "[ADDR:]PORT", kValue, kJob, remote, "SCELA_LISTEN",
     "the hosts are those of agents that connect here: scela-nla --join",
     [](Target t, Text v) { return store(parse_text(v), t.options.listen); }},
    {"key-file", 0, "FILE", kValue, kJob, remote, "SCELA_KEY_FILE",
     "file with the key that these agents and scela-run prove to each other",
     [](Target t, Text v) { return store(parse_text(v), t.options.key_file); }},
    {"link", 0, "KIND", kValue, kJob, remote, "SCELA_LINK",
     "how agents speak: ssh, tcp (TLS), or auto (default): tcp where it can be",
     [](Target t, Text v) { return store_choice<LinkKind>(v, t.options.link,
          {{"auto", LinkKind::automatic}, {"ssh", LinkKind::ssh}, {"tcp", LinkKind::tcp}}); },
     "auto ssh tcp"},
    {"heartbeat", 0, "TIME", kValue, kJob, remote, "SCELA_HEARTBEAT",
     "a host silent for 3 x TIME is lost; 0: never (default: 2)",
     apply_heartbeat},
    {"user", 0, "NAME", kValue, kJob, remote, "SCELA_USER",
     "log in as NAME on hosts that are given without a user",
     [](Target t, Text v) { return store(parse_text(v), t.options.user); }},
    {"forward-agent", 0, "", kFlag, kJob, remote, "SCELA_FORWARD_AGENT",
     "let hosts use this machine's ssh-agent to reach further ones",
     [](Target t, Text v) { return store_flag(v, t.options.forward_agent); }},
    {"ssh-config", 'F', "FILE", kValue, kJob, remote, "SCELA_SSH_CONFIG",
     "configuration of ssh to use, or none (default: as ssh)",
     [](Target t, Text v) { return store(parse_text(v), t.options.ssh_config); },
     "none"},
    {"ssh-host-keys", 0, "WHICH", kValue, kJob, remote, "SCELA_SSH_HOST_KEYS",
     "host keys to accept: strict (known ones) or accept-new (default: as ssh)",
     [](Target t, Text v) { return store_choice<HostKeys>(v, t.options.host_keys,
          {{"strict", HostKeys::strict}, {"accept-new", HostKeys::accept_new}}); },
     "strict accept-new"},

    {"label", 'l', "", kFlag, kJob, output, "SCELA_LABEL",
     "begin every line of output with its rank or host",
     [](Target t, Text v) { return store_flag(v, t.options.label); }},
    {"gather", 'b', "", kFlag, kJob, output, "SCELA_GATHER",
     "show the same output of many hosts or ranks once, at the end",
     [](Target t, Text v) { return store_flag(v, t.options.gather); }},
    {"diff", 0, "", kFlag, kJob, output, "SCELA_DIFF",
     "as --gather, but after the first output only differences from it",
     [](Target t, Text v) { return store_flag(v, t.options.diff); }},
    {"timestamp", 0, "", kFlag, kJob, output, "SCELA_TIMESTAMP",
     "begin every line of output with the time: 12:34:56.789",
     [](Target t, Text v) { return store_flag(v, t.options.timestamp); }},
    {"output-dir", 0, "DIR", kValue, kJob, output, "SCELA_OUTPUT_DIR",
     "a file per rank and stream there: rank.R.out, or per host: HOST.out",
     [](Target t, Text v) { return store(parse_text(v), t.options.output_dir); }},
    {"output-name", 0, "PATTERN", kValue, kJob, output, "SCELA_OUTPUT_NAME",
     "names of these files: %h host, %n its number, %r rank, %j job, %s stream",
     [](Target t, Text v) { return store(parse_text(v), t.options.output_name); }},
    {"json", 0, "[=FILE]", kMaybe, kJob, output, "SCELA_JSON",
     "print JSON lines on output, hosts and ranks; FILE: all but the output",
     apply_json},
    {"stdin", 0, "WHICH", kValue, kJob, output, "SCELA_STDIN",
     "ranks that read standard input: all, none or one rank (default: 0)",
     [](Target t, Text v) { return store(parse_stdin(v), t.options.stdin_to); },
     "all none"},
    {"pty", 0, "", kFlag, kJob, output, "",
     "give the rank that reads standard input a terminal, as ssh -t",
     [](Target t, Text v) { return store_flag(v, t.options.pty); }},
    {"tmux", 0, "", kFlag, kJob, output, "",
     "give each rank, or those of --gdb, a terminal in a pane of tmux",
     [](Target t, Text v) { return store_flag(v, t.options.tmux); }},

    {"timeout", 0, "TIME", kValue, kJob, job_end, "SCELA_TIMEOUT",
     "end the job after TIME: 90, 1.5 (seconds), 2m, 1h",
     [](Target t, Text v) { return store_limit(v, t.options.timeout); }},
    {"host-timeout", 0, "TIME", kValue, kJob, job_end, "SCELA_HOST_TIMEOUT",
     "end what runs on a host after TIME; the other hosts go on",
     apply_host_timeout},
    {"grace", 0, "TIME", kValue, kJob, job_end, "SCELA_GRACE",
     "time between SIGTERM and SIGKILL when the job is ended (default: 2)",
     [](Target t, Text v) { return store(parse_grace(v), t.options.grace); }},
    {"on-failure", 0, "WHAT", kValue, kJob, job_end, "SCELA_ON_FAILURE",
     "when a rank fails: kill (default) the job or wait for the others",
     [](Target t, Text v) { return store_choice<OnFailure>(v, t.options.on_failure,
          {{"kill", OnFailure::kill}, {"wait", OnFailure::wait}}); },
     "kill wait"},
    {"exit-status", 0, "RULE", kValue, kJob, job_end, "SCELA_EXIT_STATUS",
     "status by failures: the first one's, the max, their count; or ignore",
     [](Target t, Text v) { return store_choice<StatusRule>(v, t.options.exit_status,
          {{"first", StatusRule::first}, {"max", StatusRule::largest},
           {"count", StatusRule::count}, {"ignore", StatusRule::ignore}}); },
     "first max count ignore"},
    {"keep", 0, "", kFlag, kJob, job_end, "SCELA_KEEP",
     "leave running what the programs left running when they ended",
     [](Target t, Text v) { return store_flag(v, t.options.keep); }},
    {"adopt-timeout", 0, "TIME", kValue, kJob, job_end, "SCELA_ADOPT_TIMEOUT",
     "how long hosts wait for a new parent agent; 0: not (default: 10)",
     [](Target t, Text v) { return store(parse_grace(v), t.options.adopt_timeout); }},

    {"env-style", 0, "LIST", kValue, kJob, training, "SCELA_ENV_STYLE",
     "ranks get the variables of torch, ompi, mpich, slurm or none (default)",
     apply_env_style,
     "torch ompi mpich slurm none"},
    {"gpus-per-rank", 0, "N", kValue, kJob, training, "SCELA_GPUS_PER_RANK",
     "each rank sees N GPUs of its node only; 0: all (default: 0)",
     [](Target t, Text v) { return store(parse_number(v, 0, kMaxGpus), t.options.gpus_per_rank); }},
    {"restart", 0, "N", kValue, kJob, training, "SCELA_RESTART",
     "start again, up to N times, if a rank or node is lost (default: 0)",
     [](Target t, Text v) { return store(parse_number(v, 0, kMaxRestarts), t.options.restarts); }},
    {"expand", 0, "", kFlag, kJob, training, "SCELA_EXPAND",
     "replace %h host, %n its number, %r rank, %j job, %u user in arguments",
     [](Target t, Text v) { return store_flag(v, t.options.expand); }},

    {"dry-run", 0, "", kFlag, kJob, inspection, "",
     "print tree, map, commands, what ranks speak; start nothing",
     [](Target t, Text v) { return store_flag(v, t.options.dry_run); }},
    {"show-map", 0, "", kFlag, kJob, inspection, "SCELA_SHOW_MAP",
     "print tree, map and where ranks will be bound, then run",
     [](Target t, Text v) { return store_flag(v, t.options.show_map); }},
    {"report-bindings", 0, "", kFlag, kJob, inspection, "SCELA_REPORT_BINDINGS",
     "tell for each rank which processors it is bound to",
     [](Target t, Text v) { return store_flag(v, t.options.placement.report); }},
    {"stats", 0, "[=json]", kMaybe, kJob, inspection, "SCELA_STATS",
     "print phases, counts, bytes, memory per agent and what ranks tell",
     apply_stats,
     "text json none"},
    {"trace", 0, "FILE", kValue, kJob, inspection, "SCELA_TRACE",
     "write a trace of all agents in Chrome's format",
     [](Target t, Text v) { return store(parse_text(v), t.options.trace); }},
    {"record", 0, "FILE", kValue, kJob, inspection, "SCELA_RECORD",
     "write the agents' events for a replay in the simulator",
     [](Target t, Text v) { return store(parse_text(v), t.options.record); }},
    {"stack-traces", 0, "[=TIME]", kMaybe, kJob, inspection, "SCELA_STACK_TRACES",
     "at --timeout, show all ranks' stacks; TIME for gdb (default: 30)",
     apply_stack_traces},
    {"gdb", 0, "RANKS", kValue, kJob, inspection, "",
     "run these ranks (all, or 0,3-5) under gdb; several: in panes of tmux",
     [](Target t, Text v) { return store(parse_rank_choice(v), t.options.gdb); },
     "all"},
    {"attach", 0, "PID", kValue, kJob, inspection, "",
     "list the processes of that scela-run's job, for debuggers, and exit",
     [](Target t, Text v) { return store(parse_number(v, 1, INT32_MAX), t.options.attach); }},
    {"verbose", 'v', "[=LIST]", kMaybe, kJob, inspection, "SCELA_VERBOSE",
     "tell what happens; with a list, in these subsystems only",
     apply_verbose},

    {"as", 0, "TOOL", kValue, kJob, other, "",
     "first of all: read the options of mpirun, srun, pdsh, ... instead",
     apply_as,
     "mpiexec mpirun srun pdsh clush dshbak pdcp"},
    {"config", 0, "FILE", kValue, kJob, other, "SCELA_CONFIG",
     "read defaults from FILE (default: ~/.config/scela/scela-run.conf)",
     [](Target, Text v) { std::string unused; return store(parse_text(v), unused); }},
    {"show-config", 0, "", kFlag, kJob, other, "",
     "print every option's value and where it was set, and exit",
     [](Target t, Text v) { return store_flag(v, t.options.show_config); }},
    {"nodeset", 0, "OP", kValue, kJob, other, "",
     "fold, expand or count the node set that follows, and exit",
     apply_nodeset,
     "fold expand count"},
    {"version", 'V', "", kFlag, kJob, other, "",
     "print the version and exit",
     [](Target t, Text v) { return store_flag(v, t.options.version); }},
    {"help", 'h', "", kFlag, kJob, other, "",
     "print this help and exit",
     [](Target t, Text v) { return store_flag(v, t.options.help); }},
};
// clang-format on

// Returns the Levenshtein distance. Its cost is acceptable because names are short.
std::size_t distance_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::span<const OptionRow> option_table() {
  return kOptions;
}

const OptionRow* find_option(std::string_view name) {
  const auto row = std::ranges::find(kOptions, name, &OptionRow::name);
  return row == std::end(kOptions) ? nullptr : row;
}

const OptionRow* find_option(char short_name) {
  if (short_name == 0) return nullptr;
  const auto row = std::ranges::find(kOptions, short_name, &OptionRow::short_name);
  return row == std::end(kOptions) ? nullptr : row;
}

namespace {

// Returns the nearest of the rows' names or variables, compared without their first `prefix`
// characters.
std::string_view nearest(std::string_view name, std::string_view OptionRow::*which,
                         std::size_t prefix) {
  constexpr std::size_t kLongestTypo = 32;  // a longer word is no typing mistake
  if (name.size() < 2 || name.size() > kLongestTypo) return {};
  std::string_view found;
  // A third of the letters may be wrong. In names of at least four letters, two may be wrong.
  std::size_t least = std::max<std::size_t>(name.size() / 3, name.size() >= 4 ? 2 : 1) + 1;
  for (const OptionRow& row : kOptions) {
    if ((row.*which).empty()) continue;
    const std::size_t distance = distance_between(name, (row.*which).substr(prefix));
    if (distance < least) {
      least = distance;
      found = row.*which;
    }
  }
  return found;
}

constexpr std::string_view kVariablePrefix = "SCELA_";
// The variables of ranks, as scela-run(1) lists them.
constexpr std::string_view kRankVariables[] = {
    "SCELA_RANK",       "SCELA_SIZE",     "SCELA_LOCAL_RANK",   "SCELA_LOCAL_SIZE", "SCELA_NODE",
    "SCELA_NODE_INDEX", "SCELA_JOB_ID",   "SCELA_NODE_DIR",     "SCELA_SEGMENT",    "SCELA_RING",
    "SCELA_HCA_SOCKET", "SCELA_COUNTERS", "SCELA_RESTART_COUNT"};
// The variables of ranks that a user may set for them, to 0 or 1.
constexpr std::string_view kSwitches[] = {"SCELA_SEGMENT", "SCELA_RING"};

}  // namespace

std::string_view nearest_option(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  return nearest(name, &OptionRow::name, 0);
}

std::string_view nearest_variable(std::string_view name) {
  if (!name.starts_with(kVariablePrefix)) return {};
  if (std::ranges::find(kRankVariables, name) != std::end(kRankVariables)) return {};
  if (std::ranges::find(kOptions, name, &OptionRow::variable) != std::end(kOptions)) return {};
  name.remove_prefix(kVariablePrefix.size());
  for (const std::string_view one : kSwitches) {
    if (distance_between(name, one.substr(kVariablePrefix.size())) == 1) return one;
  }
  return nearest(name, &OptionRow::variable, kVariablePrefix.size());
}

bool is_invalid_for_ranks(std::string_view name, std::string_view value) {
  return std::ranges::find(kSwitches, name) != std::end(kSwitches) && !value.empty() &&
         value != "0" && value != "1";
}

std::string_view title_of(OptionGroup group) {
  switch (group) {
    case OptionGroup::programs:
      return "Programs";
    case OptionGroup::hosts:
      return "Hosts and mapping";
    case OptionGroup::tree:
      return "Tree of agents";
    case OptionGroup::remote:
      return "Reaching the hosts";
    case OptionGroup::output:
      return "Input and output";
    case OptionGroup::job_end:
      return "End of the job";
    case OptionGroup::training:
      return "Training jobs";
    case OptionGroup::inspection:
      return "Inspection";
    case OptionGroup::other:
      return "Other";
  }
  return "";
}

std::string option_heading(const OptionRow& row) {
  const std::string start = row.short_name == 0 ? "    " : cat('-', row.short_name, ", ");
  const bool is_separate = row.takes == OptionArgument::required;
  return cat(start, "--", row.name, is_separate ? " " : "", row.argument);
}

std::string_view default_of(const OptionRow& row) {
  constexpr std::string_view kAfter = "(default: ";
  if (const auto at = row.help.find(kAfter); at != std::string_view::npos) {
    const std::string_view rest = row.help.substr(at + kAfter.size());
    return rest.substr(0, rest.find(')'));
  }
  const auto close = row.help.find("default)");
  if (close == std::string_view::npos) return row.takes == OptionArgument::required ? "" : "no";
  const std::string_view before = row.help.substr(0, row.help.rfind(" (", close));
  return before.substr(before.find_last_of(" ,:") + 1);
}

void set_env(std::vector<EnvVariable>& list, EnvVariable variable) {
  const auto old = std::ranges::find(list, variable.name, &EnvVariable::name);
  if (old == list.end()) {
    list.push_back(std::move(variable));
  } else {
    old->value = std::move(variable.value);
  }
}

}  // namespace scela
