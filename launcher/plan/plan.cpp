#include "launcher/plan/plan.h"

#include <algorithm>

#include "common/core/counted.h"
#include "common/core/kary_tree.h"
#include "common/core/line_marks.h"
#include "common/core/text.h"
#include "common/core/variables/task_variables.h"
#include "common/core/variables/variable_text.h"
#include "launcher/core/options/command_words.h"
#include "launcher/core/options/universe.h"
#include "launcher/plan/host_topologies.h"
#include "nla/core/wire/terminal_input.h"

namespace scela {

namespace {

// The tree is planned before the hosts have reported their processors. This is the number of ranks
// that a host is then assumed to have room for.
constexpr std::uint32_t kUsualCores = 64;

// Returns true for variables that belong to a login on one machine and would mislead programs on
// another.
bool is_of_this_login(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "HOME",   "USER",    "LOGNAME",         "SHELL",
      "MAIL",   "PWD",     "OLDPWD",          "HOSTNAME",
      "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS",
      "SHLVL",  "_",       "FLUX_URI"};
  constexpr std::string_view kPrefixes[] = {"SSH_", "XDG_"};
  return std::ranges::find(kNames, name) != std::end(kNames) ||
         std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

// Maps all programs onto `hosts`. `counted` is true if the slots come from reported processors.
Result<Mapping> map_programs(const Options& options, const std::vector<MapNode>& hosts,
                             bool counted = false) {
  if (!options.rank_places.empty()) {
    std::vector<std::optional<std::uint32_t>> programs;
    for (const App& app : options.apps)
      programs.push_back(app.np);
    return map_by_rankfile(options.rank_places, hosts, programs);
  }
  MapRequest request;
  request.oversubscribe = options.oversubscribe;
  request.counted = counted;
  request.nodes = hosts;
  request.by_node = options.placement.map_by == MapBy::node;
  if (options.placement.rank_by) {
    request.numbered = *options.placement.rank_by == RankBy::node
                           ? MapRequest::Numbered::in_turn
                           : MapRequest::Numbered::node_after_node;
  }
  for (const App& app : options.apps) {
    auto nodes = nodes_of_program(app, hosts);
    if (!nodes) return fail(nodes.error());
    request.segments.push_back({app.np, app.ppn, std::move(*nodes)});
  }
  return map_ranks(request);
}

// Returns the environment that ranks inherit from scela-run, without what is true of scela-run's
// own task only, unless the user names it. Agents remove what an outer launcher left there.
std::vector<std::string> inherited(const EnvPass& pass, const std::vector<std::string>& own,
                                   bool remote) {
  std::vector<std::string> out;
  for (const std::string& entry : own) {
    if (pass.kind == EnvPass::Kind::none) continue;
    if (pass.kind == EnvPass::Kind::all && remote && is_of_this_login(variable_name(entry)))
      continue;
    if (pass.kind == EnvPass::Kind::all && is_of_task(variable_name(entry))) continue;
    if (pass.kind == EnvPass::Kind::names &&
        std::find(pass.names.begin(), pass.names.end(), variable_name(entry)) == pass.names.end()) {
      continue;
    }
    out.push_back(entry);
  }
  return out;
}

// Adds a variable that is passed on whatever else is, unless `env` has it already.
void pass_on(std::string_view name, const std::vector<std::string>& own,
             std::vector<std::string>& env) {
  const auto has_name = [&](const std::string& entry) { return variable_name(entry) == name; };
  const auto found = std::ranges::find_if(own, has_name);
  if (found != own.end() && std::ranges::none_of(env, has_name)) env.push_back(*found);
}

StdinTarget stdin_target(const Options& options, bool once_per_host, bool terminal_input) {
  if (options.stdin_to) return *options.stdin_to;
  if (!once_per_host || options.pty) return {};
  return {terminal_input ? StdinTarget::Kind::none : StdinTarget::Kind::all, 0};
}

RankSet stdin_ranks(const StdinTarget& target, Rank size) {
  switch (target.kind) {
    case StdinTarget::Kind::none:
      return {};
    case StdinTarget::Kind::all:
      return RankSet::run(0, size);
    case StdinTarget::Kind::rank:
      return RankSet::single(target.rank);
  }
  return {};
}

// Returns the kind of the agents' PMI that corresponds to the option.
nla::PmiKind pmi_kind(PmiKind kind) {
  using enum nla::PmiKind;
  constexpr nla::PmiKind kKinds[] = {fd,   port, pmgr, pmgr_mvapich1,
                                     pmix, none, fd};  // automatic is resolved by choose_pmi()
  return kKinds[static_cast<std::size_t>(kind)];
}

nla::OnFailure on_failure(const Options& options, bool once_per_host) {
  const OnFailure wanted =
      options.on_failure.value_or(once_per_host ? OnFailure::wait : OnFailure::kill);
  return wanted == OnFailure::kill ? nla::OnFailure::kill : nla::OnFailure::wait;
}

cache::PolicyKind policy_of(CachePolicy policy) {
  using enum cache::PolicyKind;
  constexpr cache::PolicyKind kKinds[] = {hcs, hcma, hcmab, hcmab_lru, dht};
  return kKinds[static_cast<std::size_t>(policy)];
}

// Returns an error for --cache dht if the job goes on without lost agents, as agents would then
// hold pairs of others. If the user's default says dht, a command that runs once on each host
// ignores it.
Result<CachePolicy> chosen_cache(const Options& options, bool once_per_host) {
  const auto by_limit = options.cache_limit > 0 ? CachePolicy::hcmab_lru : CachePolicy::hcmab;
  const CachePolicy wanted = options.cache.value_or(by_limit);
  if (wanted != CachePolicy::dht || on_failure(options, once_per_host) == nla::OnFailure::kill) {
    return wanted;
  }
  if (once_per_host && !options.cache_where.empty()) return by_limit;
  return fail(Error{
      ErrorKind::usage, "choose what agents keep (--cache dht)", options.cache_where,
      cat("each agent then holds pairs of the others, and this job goes on without those that are "
          "lost (",
          options.on_failure ? "--on-failure wait" : "once on each host", ")"),
      "use --cache hcmab, or --on-failure kill"});
}

// Returns what a training job needs, but the place where its ranks meet, which an agent finds.
nla::Training training_of(const Options& options, const LaunchContext& context) {
  nla::Training training;
  const EnvStyles& styles = options.env_styles;
  training.styles = {styles.torch, styles.ompi, styles.mpich, styles.slurm};
  training.expands_words = options.expand;
  training.gpus_per_rank = options.gpus_per_rank;
  training.max_restarts = options.restarts;
  training.restarts = context.restarts;
  training.run_id = context.run_id;
  return training;
}

// Several hosts would need a terminal each. Panes are made before hosts tell how many ranks they
// have room for.
Result<void> check_terminal(const Options& options, const Plan& plan) {
  const bool counts = std::ranges::all_of(
      options.apps, [](const App& app) { return app.np.has_value() || app.ppn.has_value(); });
  if ((options.tmux || options.gdb) && plan.slots_from_processors && !counts) {
    return fail(
        Error{ErrorKind::usage, cat("make terminals (--", options.tmux ? "tmux" : "gdb", ")"), "",
              "the number of ranks is not known before the hosts have told their processors",
              "give it with -n or --ppn"});
  }
  const std::size_t nodes = plan.hosts.size();
  if (!options.pty || !plan.once_per_host || nodes < 2 || options.stdin_to) return {};
  return fail(Error{ErrorKind::usage, "choose who has the terminal (--pty)", "",
                    cat("the program runs on ", nodes, " hosts"),
                    "name one host, or the number of the one that has it with --stdin"});
}

// A command that runs once on each host would run on fewer hosts the next time.
Result<void> check_restarts(const Options& options, const Plan& plan) {
  if (options.restarts == 0 || !plan.once_per_host) return {};
  return fail(Error{ErrorKind::usage, "start the job again if it fails (--restart)", "",
                    "a command that runs once on each host is no job of ranks",
                    "give the number of ranks with -n or --ppn"});
}

// Makes the whole job except the placement of its ranks, which place() sets.
nla::Job make_job(const Options& options, const LaunchContext& context, const Plan& plan,
                  CachePolicy policy) {
  nla::Job job;
  job.id = context.job_id;
  const bool own_environment = plan.once_per_host && plan.remote;
  const EnvPass by_default{own_environment ? EnvPass::Kind::none : EnvPass::Kind::all, {}};
  job.env = inherited(options.env_pass.value_or(by_default), context.environment, plan.remote);
  job.wdir = context.directory;
  job.on_failure = on_failure(options, plan.once_per_host);
  job.placement = placement_of(options.placement, options.oversubscribe);
  for (Rank rank = 0; rank < options.rank_places.size(); ++rank) {
    const RankPlace& chosen = options.rank_places[rank];
    if (chosen.cores) job.chosen_cores.emplace_back(rank, *chosen.cores);
  }
  job.pmi = pmi_kind(options.pmi);
  if (job.pmi == nla::PmiKind::pmix) job.hosts = plan.hosts;
  job.grace_ms = static_cast<std::uint32_t>(options.grace.count());
  job.cache_policy = policy_of(policy);
  job.cache_limit = options.cache_limit;
  job.trace = options.trace || options.json || options.stats != StatsFormat::none;
  job.once_per_host = plan.once_per_host;
  job.keep = options.keep;
  // Gathered output has headings, so only standard error is left to be labelled.
  job.plain_output = options.gather;
  if (options.label.value_or(plan.once_per_host || options.gather) && !options.output_dir) {
    job.label = options.label_pattern;
    if (job.label.empty()) job.label = plan.once_per_host ? kLabelOfHost : kLabelOfRank;
  }
  job.timestamps = options.timestamp;
  job.ahead_s = context.ahead_s;
  job.training = training_of(options, context);
  if (options.host_timeout) {
    job.host_timeout_ms = static_cast<std::uint32_t>(options.host_timeout->count());
  }
  if (options.pty || options.gdb || options.tmux) {
    // Input that does not come from a terminal is not echoed.
    job.modes = context.modes.value_or(TerminalModes{false, true, {}});
    job.window = context.window.value_or(WindowSize{});
    pass_on("TERM", context.environment, job.env);
  }
  for (const App& from : options.apps) {
    nla::App app;
    app.argv = from.argv;
    app.by_shell = plan.once_per_host && !from.is_exact && is_for_shell(from.argv);
    for (const EnvVariable& variable : from.env) {
      app.env.push_back(variable.name + "=" + variable.value);
    }
    app.wdir = from.wdir.value_or("");
    if (!app.wdir.empty() && app.wdir != nla::kHomeDirectory && app.wdir.front() != '/') {
      // A relative directory is meant from scela-run's directory, not from the agent's.
      app.wdir = context.directory + "/" + app.wdir;
    }
    app.path = from.path.value_or("");
    job.apps.push_back(std::move(app));
  }
  return job;
}

// Chooses the ranks that have terminals and those that run under gdb. One rank under gdb has the
// terminal of scela-run.
Result<void> place_terminals(Plan& plan, Rank size, bool is_final) {
  const std::string_view option = plan.tmux ? "tmux" : "gdb";
  const RankSet all = RankSet::run(0, size);
  RankSet chosen = plan.gdb && !plan.gdb->all ? plan.gdb->ranks : all;
  if (is_final && !all.contains_all(chosen)) {
    return fail(Error{
        ErrorKind::usage, "run ranks under gdb (--gdb)", "",
        cat("there is no rank ", chosen.minus(all).text(), ", the job has ", counted(size, "rank")),
        "name ranks of the job, or all"});
  }
  chosen = chosen.intersection(all);
  if (is_final && chosen.size() > nla::kMaxTerminals) {
    return fail(
        Error{ErrorKind::usage, cat("make terminals (--", option, ")"), "",
              cat(chosen.size(), " ranks would have one, at most ", nla::kMaxTerminals, " may"),
              "name fewer ranks with --gdb"});
  }
  if (plan.gdb) {
    plan.job.debugged_ranks = chosen;
    plan.job.debugger = {"gdb", "-q", "--args"};
  }
  plan.pty = !plan.tmux && chosen.size() == 1;
  plan.panes = !plan.pty;
  if (plan.pty) plan.stdin_to = {StdinTarget::Kind::rank, chosen.front()};
  plan.job.terminal_ranks = plan.job.stdin_ranks = std::move(chosen);
  plan.job.input_by_rank = plan.panes;
  if (!plan.panes) return {};
  // A pane is a terminal of its own, and not the one that scela-run has. Every node knows "screen".
  plan.job.modes = TerminalModes{true, true, {}};
  std::erase_if(plan.job.env, [](const std::string& one) { return one.starts_with("TERM="); });
  plan.job.env.emplace_back("TERM=screen");
  return {};
}

// Returns the chosen ranks of a job with `size` ranks, which the option stops for a debugger.
Result<RankSet> stopped_ranks(const std::optional<RankChoice>& chosen, Rank size,
                              std::string_view option) {
  if (!chosen) return RankSet();
  const RankSet all = RankSet::run(0, size);
  if (chosen->all) return all;
  if (all.contains_all(chosen->ranks)) return chosen->ranks;
  return fail(Error{ErrorKind::usage, cat("stop ranks for a debugger (--", option, ")"), "",
                    cat("there is no rank ", chosen->ranks.minus(all).text(), ", the job has ",
                        counted(size, "rank")),
                    "name ranks of the job, or all"});
}

Result<void> place_stops(Plan& plan, Rank size) {
  if (plan.stop_in_init && plan.job.pmi != nla::PmiKind::pmix) {
    return fail(Error{ErrorKind::usage, "stop ranks in PMIx_Init (--stop-in-init)", "",
                      "the ranks of this job find no PMIx",
                      "give --pmi pmix, or stop them at their start with --stop-on-exec"});
  }
  auto on_exec = stopped_ranks(plan.stop_on_exec, size, "stop-on-exec");
  if (!on_exec) return fail(on_exec.error());
  auto in_init = stopped_ranks(plan.stop_in_init, size, "stop-in-init");
  if (!in_init) return fail(in_init.error());
  plan.job.stops = {std::move(*on_exec), std::move(*in_init)};
  return {};
}

// Puts a mapping into the plan. Returns an error if standard input is to go to a rank that the
// mapping does not have, and the mapping is final.
Result<void> place(Plan& plan, Mapping mapping, bool is_final) {
  const Rank size = mapping.map.size();
  const bool unknown = plan.stdin_to.kind == StdinTarget::Kind::rank && plan.stdin_to.rank >= size;
  if (unknown && is_final) {
    return fail(Error{
        ErrorKind::usage, "route standard input", "",
        cat("--stdin names rank ", plan.stdin_to.rank, ", the job has ", counted(size, "rank")),
        "name a rank of the job, all or none"});
  }
  plan.segments = std::move(mapping.segments);
  plan.job.map = std::move(mapping.map);
  // A file may name more ranks than the job has. Spawned ranks must not get these cores.
  if (is_final)
    std::erase_if(plan.job.chosen_cores, [&](const auto& one) { return one.first >= size; });
  plan.job.stdin_ranks = unknown ? RankSet() : stdin_ranks(plan.stdin_to, size);
  if (is_final) {
    if (auto placed = place_stops(plan, size); !placed) return placed;
  }
  if (plan.tmux || plan.gdb) {
    if (auto placed = place_terminals(plan, size, is_final); !placed) return placed;
  } else if (plan.pty) {
    plan.job.terminal_ranks = plan.job.stdin_ranks;
  }
  for (std::size_t i = 0; i < plan.job.apps.size(); ++i) {
    plan.job.apps[i].ranks = RankSet::run(plan.segments[i].first, plan.segments[i].count);
  }
  return {};
}

std::uint32_t max_ranks_on_a_node(const RankMap& map, std::uint32_t nodes) {
  std::vector<std::uint64_t> ranks(nodes, 0);
  for (const RankMap::Block& block : map.blocks()) {
    for (std::uint32_t i = 0; i < block.nodes; ++i) {
      ranks[block.first_node + i] += block.ranks_per_node;
    }
  }
  return static_cast<std::uint32_t>(*std::max_element(ranks.begin(), ranks.end()));
}

// Returns true if some host must report its processors to get a number of slots.
bool slots_from_processors(const Options& options, const std::vector<HostEntry>& hosts) {
  return !options.rankfile && placement_of(options.placement, false).counts_objects() &&
         std::ranges::any_of(hosts, [](const HostEntry& host) { return !host.slots; });
}

// The cost of a start over ssh. A level is assumed: a login as sshd with PAM takes it on a usual
// machine, a round trip or two, and the agent's first words. A child: 1.3 to 1.6 ms of processor
// time for each session of scela-run (docs/results/ssh.md, Commands of operators). An agent needs 4
// ms for each, which also speaks for few levels.
constexpr StartCosts kSshCosts{200'000, 1'500};

// Returns the degree of the tree of agents: the user's, or the one that suits the ranks of a node.
// Simulated nodes get as many levels as real ones may have, because they exist to try a tree.
Result<std::uint32_t> planned_degree(const Options& options, const RankMap& map, const Plan& plan) {
  const auto nodes = static_cast<std::uint32_t>(plan.hosts.size());
  const bool starts_all = options.flat || (options.launch_from_here && !options.degree);
  if (starts_all) return std::max(nodes, 1u);
  if (options.degree) return *options.degree;
  std::uint32_t most = max_ranks_on_a_node(map, nodes);
  if (plan.slots_from_processors) most = std::max(most, kUsualCores);
  TreeLimits limits{options.max_conn, options.max_depth.value_or(kMaxDepth)};
  if (plan.remote && !options.max_depth)
    limits.max_depth = choose_depth(nodes, most, limits, kSshCosts);
  return choose_degree(nodes, most, limits);
}

// Returns true if the job is one rank on its own machine, which may well be there to spawn others.
bool is_alone(const Options& options, const LaunchContext& context, std::uint32_t slots,
              const RankMap& map) {
  return !options.usize && slots == 1 && map.size() == 1 && names_no_hosts(options) &&
         !context.allocation &&
         std::ranges::none_of(options.apps, [](const App& app) { return app.ppn.has_value(); });
}

}  // namespace

bool may_spawn(nla::PmiKind kind) {
  return kind != nla::PmiKind::none && kind != nla::PmiKind::pmgr &&
         kind != nla::PmiKind::pmgr_mvapich1;
}

Result<Plan> make_plan(const Options& options, const LaunchContext& context) {
  auto hosts = find_hosts(options, context);
  if (!hosts) return fail(hosts.error());
  auto spares = take_spares(*hosts, options, context.missing.size());
  if (!spares) return fail(spares.error());
  Plan plan;
  plan.slots_from_processors = slots_from_processors(options, *hosts);
  std::vector<MapNode> all = nodes_of(*hosts);
  const std::uint32_t slots = slots_of(options, all);
  if (plan.slots_from_processors) {
    for (MapNode& node : all)
      node.slots.reset();
  }
  auto mapping = map_programs(options, all);
  if (!mapping) return fail(mapping.error());
  if (options.usize || plan.slots_from_processors) {
    plan.idle = RankSet::run(0, static_cast<Rank>(hosts->size()));
  } else {
    plan.later = drop_idle_hosts(*hosts, mapping->map);
    if (!may_spawn(pmi_kind(options.pmi))) plan.later.clear();
  }
  plan.unused_slots = slots - std::min(slots, slots_of(options, nodes_of(*hosts)));
  plan.spares = static_cast<std::uint32_t>(spares->size());
  std::move(spares->begin(), spares->end(), std::back_inserter(*hosts));
  for (const HostEntry& host : *hosts) {
    plan.hosts.push_back(host.name);
    plan.slots.push_back(host.slots);
  }
  const auto nodes = static_cast<std::uint32_t>(plan.hosts.size());
  for (const App& app : options.apps)
    plan.commands.push_back(app.argv);
  plan.remote = is_remote(options, plan, context);
  plan.once_per_host = is_once_per_host(options, *hosts);
  plan.nodes_on_this_machine =
      plan.remote ? 1 : nodes + static_cast<std::uint32_t>(plan.later.size());
  plan.pty = options.pty;
  plan.tmux = options.tmux;
  plan.gdb = options.gdb;
  plan.stop_on_exec = options.stop_on_exec;
  plan.stop_in_init = options.stop_in_init;
  if (auto fits = check_terminal(options, plan); !fits) return fail(fits.error());
  if (auto fits = check_restarts(options, plan); !fits) return fail(fits.error());
  const auto cache = chosen_cache(options, plan.once_per_host);
  if (!cache) return fail(cache.error());
  plan.missing = context.missing;
  plan.pmi_choice = context.pmi_choice;
  if (auto enough = choose_min_nodes(plan, options); !enough) return fail(enough.error());

  const auto degree = planned_degree(options, mapping->map, plan);
  if (!degree) return fail(degree.error());
  plan.degree = *degree;
  plan.stdin_to = stdin_target(options, plan.once_per_host, context.terminal_input);
  plan.job = make_job(options, context, plan, *cache);
  plan.job.universe = universe_size(options, slots);
  // As under mpirun, the universe then has room for as many ranks as there are processors.
  if (is_alone(options, context, slots, mapping->map))
    plan.job.universe = static_cast<std::int32_t>(context.processors);
  if (auto placed = place(plan, std::move(*mapping), !plan.slots_from_processors); !placed)
    return fail(placed.error());
  return plan;
}

Result<void> remap_ranks(Plan& plan, const Options& options, const RankSet& failed) {
  std::vector<MapNode> nodes;
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < plan.hosts.size(); ++i) {
    if (failed.contains(i)) continue;
    nodes.push_back({plan.hosts[i], plan.slots[i]});
    numbers.push_back(i);
  }
  auto left = without_missing_hosts(options, nodes);
  if (!left) return fail(left.error());
  auto mapping = map_programs(*left, nodes, plan.slots_from_processors);
  if (!mapping) {
    Error error = mapping.error();
    const auto has_none = [](const MapNode& node) { return node.slots == 0u; };
    if (plan.slots_from_processors && !nodes.empty() && std::ranges::all_of(nodes, has_none)) {
      error = no_room_error(plan.job.placement, largest_host(plan, numbers));
    }
    // All hosts together would have held the ranks.
    if (!failed.empty()) error.kind = ErrorKind::unreachable;
    return fail(std::move(error));
  }
  mapping->map = renumbered(mapping->map, numbers);
  plan.job.universe = universe_size(options, plan.unused_slots + slots_of(options, nodes));
  return place(plan, std::move(*mapping), true);
}

std::vector<std::int64_t> Plan::parents() const {
  std::vector<std::int64_t> out;
  for (const std::uint32_t parent :
       scela::parents(static_cast<std::uint32_t>(hosts.size()), degree)) {
    out.push_back(parent == kRootParent ? -1 : std::int64_t{parent});
  }
  return out;
}

std::string map_text(const Plan& plan) {
  const std::vector<std::int64_t> parents = plan.parents();
  return map_text({plan.job.map, plan.hosts, parents, plan.segments, plan.commands});
}

std::string Plan::host_of(Rank rank) const {
  const auto node = job.map.node_of(rank);
  return node && *node < hosts.size() ? hosts[*node] : "";
}

const std::string& Plan::program_of(Rank rank) const {
  static const std::string none;
  const std::size_t app = job.app_of(rank);
  if (app < commands.size() && !commands[app].empty()) return commands[app].front();
  return app < job.apps.size() ? job.apps[app].argv.front() : none;
}

}  // namespace scela
