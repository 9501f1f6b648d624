#include "launcher/command.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "cache/dht.h"
#include "common/core/hex.h"
#include "common/core/nodeset/nodeset.h"
#include "common/core/text.h"
#include "common/os/affinity.h"
#include "common/os/clock.h"
#include "common/os/fd.h"
#include "common/os/machine_topology.h"
#include "common/os/process/process_tree.h"
#include "common/os/random_bytes.h"
#include "common/os/syscall.h"
#include "common/os/terminal.h"
#include "launcher/core/hosts/hostfile.h"
#include "launcher/core/options/command_words.h"
#include "launcher/core/options/config_text.h"
#include "launcher/core/options/host_wait.h"
#include "launcher/core/options/options.h"
#include "launcher/core/program/singleton_call.h"
#include "launcher/core/report/job_report.h"
#include "launcher/core/report/report_text.h"
#include "launcher/core/values/text_values.h"
#include "launcher/debug/attach.h"
#include "launcher/debug/mpir.h"
#include "launcher/debug/pane_keeper.h"
#include "launcher/debug/pane_relay.h"
#include "launcher/hosts/host_contacts.h"
#include "launcher/hosts/host_discovery.h"
#include "launcher/hosts/job_allocation.h"
#include "launcher/hosts/name_lookup.h"
#include "launcher/io/captured_command.h"
#include "launcher/io/output_files.h"
#include "launcher/io/stderr_writer.h"
#include "launcher/io/whole_files.h"
#include "launcher/job_output.h"
#include "launcher/peer_front.h"
#include "launcher/plan/host_topologies.h"
#include "launcher/plan/plan.h"
#include "launcher/plan/pmi_choice.h"
#include "launcher/report/direct_output.h"
#include "launcher/report/job_records.h"
#include "launcher/restarts.h"
#include "nla/process/singleton.h"
#include "nla/spawn/factory.h"

extern char** environ;

namespace scela {

namespace {

void warn(const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    print(2, cat(kProgramName, printable(line, kMaxOwnText), "\n"));
}

// If a standard descriptor is closed, the next open() would reuse its number, and the ranks' output
// would go to that file. /dev/null, opened with the wrong access mode, fails in the same way as a
// closed descriptor.
void hold_standard_descriptors() {
  for (const int fd : {0, 1, 2}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
  }
}

// Replaces "^FILE" and "-" in the host lists. If standard input named hosts, no rank reads it.
Result<void> read_host_sources(Options& options) {
  std::optional<std::string> input;
  const auto read = [&](const std::string& name) -> Result<std::string> {
    if (name != "-") return read_file(name, "host file");
    if (input) return fail(value_error("standard input can name hosts once", "write '-' once"));
    auto text =
        read_standard_input("read the hosts from standard input (-w -)", "write host lists there");
    if (text) input = *text;
    return text;
  };
  const auto replace = [&](std::string& spec) -> Result<void> {
    auto replaced = with_sources(spec, read);
    if (!replaced) {
      Error error = std::move(replaced.error());
      if (error.what.empty()) error.what = cat("read host list '", spec, "'");
      return fail(std::move(error));
    }
    spec = std::move(*replaced);
    return {};
  };
  std::vector<std::string*> specs;
  if (options.hosts) specs.push_back(&*options.hosts);
  for (App& app : options.apps)
    if (app.hosts) specs.push_back(&*app.hosts);
  if (options.exclude) specs.push_back(&*options.exclude);
  if (options.nodeset) specs.push_back(&options.nodeset->spec);
  for (std::string* spec : specs)
    if (auto done = replace(*spec); !done) return done;
  if (!input) return {};
  const bool has_terminals = options.pty || options.tmux || options.gdb;
  if (has_terminals || (options.stdin_to && options.stdin_to->kind != StdinTarget::Kind::none)) {
    return fail(Error{ErrorKind::usage, "options --hosts - and --stdin, --pty, --tmux or --gdb", "",
                      "standard input names hosts, so no rank can read it", "give one of them"});
  }
  options.stdin_to = StdinTarget{StdinTarget::Kind::none, 0};
  return {};
}

Result<OptionSources> sources(std::vector<std::string> words) {
  OptionSources out;
  out.words = std::move(words);
  for (const std::string& entry : process_environment()) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) {
      out.environment.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
  const ConfigChoice config = config_choice(out);
  if (config.path.empty()) return out;
  if (!config.must_exist && ::access(config.path.c_str(), F_OK) != 0) return out;
  auto text = read_file(config.path, "configuration file");
  if (!text) return fail(text.error());
  out.config_name = config.path;
  out.config_text = std::move(*text);
  return out;
}

std::string new_job_id() {
  return hex_digits(random_bytes(6));
}

Result<LaunchContext> launch_context(const Options& options, std::int64_t began_ns) {
  LaunchContext out;
  out.began_ns = began_ns;
  out.job_id = out.run_id = new_job_id();
  utsname names{};
  ::uname(&names);
  out.host_name = names.nodename;
  std::error_code error;
  out.directory = std::filesystem::current_path(error).string();
  out.environment = process_environment();
  out.terminal_input = ::isatty(0) == 1;
  out.processors = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(allowed_cpus().size()));
  out.window = window_size(0);
  out.modes = terminal_modes(0);
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  if (::localtime_r(&now, &local) != nullptr) {
    out.ahead_s = static_cast<std::int32_t>(local.tm_gmtoff);
  }
  if (options.hostfile && !options.hostfile_is_program) {
    auto text = read_file(*options.hostfile, "host file");
    if (!text) return fail(text.error());
    out.hostfile_text = std::move(*text);
  }
  return out;
}

Result<void> read_rankfile(Options& options) {
  if (!options.rankfile) return {};
  auto text = read_file(*options.rankfile, "rankfile");
  if (!text) return fail(text.error());
  auto places = parse_rankfile(*text, *options.rankfile);
  if (!places) return fail(places.error());
  options.rank_places = std::move(*places);
  return {};
}

// Reads what host lists and --rankfile name.
Result<void> read_named_files(Options& options) {
  if (auto read = read_host_sources(options); !read) return read;
  return read_rankfile(options);
}

// Uses the job of a scheduler, and shows what it is if the user wants to read it. Returns an exit
// status if that has failed. A process that has called for a launcher is on this machine, whatever
// hosts its job has.
std::optional<int> use_job(const std::optional<SingletonCall>& call, Options& options,
                           LaunchContext& context, std::optional<LossTool>& loss_tool) {
  if (call) return std::nullopt;
  auto found = use_allocation(options, context);
  if (!found) return complain(found.error());
  loss_tool = std::move(found->loss_tool);
  if (const std::string line = unused_wait_line(options); !line.empty()) warn({line});
  if (options.verbose) warn(found->lines);
  for (const std::string& line : found->lines)
    if (options.dry_run) print(1, cat(printable(line, kMaxOwnText), "\n"));
  return std::nullopt;
}

int run_nodeset(const NodesetRequest& request) {
  auto set = names_of_hosts(request.spec);
  if (!set) return complain(set.error());
  switch (request.operation) {
    case NodesetOperation::fold:
      return answer(set->fold() + "\n");
    case NodesetOperation::count:
      return answer(cat(set->size(), "\n"));
    case NodesetOperation::expand:
      break;
  }
  std::string out;
  for (const std::string& name : set->expand())
    out += name + "\n";
  return answer(out);
}

// Answers an option that asks for something in place of a job, but --nodeset, and returns the exit
// status. Returns std::nullopt if there is none. Reads no file, and not the standard input.
std::optional<int> answer_request(const Options& options) {
  if (options.help) return answer(help_text());
  if (options.version) return answer("scela-run " SCELA_VERSION "\n");
  if (options.attach) return run_attach(options);
  if (!options.show_config) return std::nullopt;
  warn(options.warnings);
  return answer(config_text(options));
}

std::string_view pmi_text(nla::PmiKind kind, bool guessed) {
  if (kind == nla::PmiKind::pmix && guessed)
    return "pmix and fd (PMIx, a server on each node; PMI-1 and PMI-2, PMI_FD)";
  switch (kind) {
    case nla::PmiKind::fd:
      return "fd (PMI-1 and PMI-2, PMI_FD)";
    case nla::PmiKind::port:
      return "port (PMI-1 and PMI-2, PMI_PORT)";
    case nla::PmiKind::pmgr:
      return "pmgr (PMGR 8; nothing of PMI)";
    case nla::PmiKind::pmgr_mvapich1:
      return "pmgr-mvapich1 (PMGR of MVAPICH 1; nothing of PMI)";
    case nla::PmiKind::pmix:
      return "pmix (PMIx, a server on each node; nothing of PMI)";
    case nla::PmiKind::none:
      return "none";
  }
  return "";
}

std::string placement_text(const Options& options, const PlacementPolicy& placement) {
  const std::string memory =
      placement.memory == MemoryBinding::none
          ? ""
          : cat("memory: ", name_of(placement.memory), " to the processors of each rank\n");
  if (options.rankfile) return cat("placement: by the rankfile\n", memory);
  const PlacementOptions& said = options.placement;
  if (!said.map_by && !said.rank_by && !said.bind_to && !said.cpus_per_rank) return memory;
  std::string each;
  if (placement.cpus_per_rank > 1)
    each = cat(", ", placement.cpus_per_rank,
               placement.bind_to == BindTo::hwthread ? " hardware threads" : " cores",
               " for each rank");
  const std::string numbered = said.rank_by ? cat(", numbered by ", name_of(*said.rank_by)) : "";
  return cat("placement: by ", name_of(placement.map_by), each, numbered, ", bound to ",
             name_of(placement.bind_to), "\n", memory);
}

// Returns the choices that apply to the ranks: placement, PMI and cache, from the options and their
// defaults.
std::string choices_text(const Options& options, const Plan& plan) {
  const nla::Job& job = plan.job;
  std::string limit;
  if (job.cache_policy == cache::PolicyKind::dht && job.cache_limit == 0) {
    limit = cat(", copies of at most ", cache::kDefaultCopies, " bytes an agent");
  }
  if (job.cache_limit > 0) limit = cat(", at most ", job.cache_limit, " bytes an agent");
  const std::string why = plan.pmi_choice.why.empty() ? "" : cat("; auto: ", plan.pmi_choice.why);
  const std::string network =
      options.network.empty() ? "" : cat("network: ", options.network, "\n");
  return cat(placement_text(options, job.placement), network,
             "pmi: ", pmi_text(job.pmi, plan.pmi_choice.guessed), why,
             "\ncache: ", cache::name_of(job.cache_policy), limit, "\n");
}

std::string plan_text(const Options& options, const Plan& plan, const std::string& bindings = {}) {
  std::string guess;
  if (plan.slots_from_processors && plan.machines.empty())
    guess = "slots: as many as the hosts have room for; the map below is a guess\n";
  return cat(guess, map_text(plan), choices_text(options, plan), bindings);
}

// Uses the topology of this machine in place of the agents' answers. All nodes that have ranks must
// be this machine.
Result<void> use_own_topology(const Options& options, Plan& plan) {
  use_topologies(
      plan, {{read_topology().bytes(), RankSet::run(0, static_cast<Rank>(plan.hosts.size()))}});
  return plan.slots_from_processors ? remap_ranks(plan, options, unused_spares(plan, {}))
                                    : Result<void>();
}

// Starts no process and asks no other machine, so the bindings are known for this machine only. If
// a node would refuse to start its ranks, that error is the result.
int run_dry(const Options& options, const LaunchContext& context, Plan plan) {
  if (!needs_topologies(plan, options)) return answer(plan_text(options, plan));
  if (!has_ranks_here_only(plan, context)) {
    const bool binds = plan.job.placement.bind_to != BindTo::none || !plan.job.chosen_cores.empty();
    return answer(plan_text(options, plan,
                            binds
                                ? "bindings: not known, as --dry-run asks no other machine for its "
                                  "processors; --show-map does\n"
                                : ""));
  }
  if (auto mapped = use_own_topology(options, plan); !mapped) return complain(mapped.error());
  const std::vector<NodeBindings> bindings = bindings_of(plan);
  const int shown = answer(plan_text(options, plan, bindings_text(bindings)));
  const auto refused = std::ranges::find_if(
      bindings, [](const NodeBindings& node) { return node.refused.has_value(); });
  if (shown != kExitSuccess || refused == bindings.end()) return shown;
  Error error = *refused->refused;
  error.where = refused->node;
  return complain(error);
}

// Prints the plan of a job that is run. Records and the output of ranks have standard output.
Result<void> show_map(const Options& options, Plan& plan) {
  // Without this, the first map would be a guess, although this machine's processors are known.
  if (plan.slots_from_processors && !plan.remote) {
    if (auto mapped = use_own_topology(options, plan); !mapped) return mapped;
  }
  print(2, plan_text(options, plan));
  return {};
}

// Returns the program name of the process that called for a launcher, for error messages.
std::string name_of_caller(const SingletonCall& call) {
  const auto own = static_cast<std::uint32_t>(::getpid());
  const std::uint32_t process =
      call.process == own ? static_cast<std::uint32_t>(::getppid()) : call.process;
  const std::string words = read_small_file(cat("/proc/", process, "/cmdline").c_str());
  const std::string program = words.substr(0, words.find('\0'));
  return program.empty() ? cat("process ", process) : program;
}

// Returns true if the word, in the place of a program, names a host. Asks the name service.
bool names_host(const std::string& word) {
  if (is_surely_host(word)) return true;
  const bool is_number = word.find_first_not_of("0123456789.") == std::string::npos;
  if (is_number || !parse_hosts(word)) return false;
  const NameLookupLimits limits{1, std::chrono::seconds(2)};
  return !look_up_names({NameQuery{word}}, limits).front().address.empty();
}

// Returns what to do if a program of the job was not found.
std::string hint_for(const Options& options, const JobOutcome& outcome) {
  const bool is_missed = std::ranges::any_of(outcome.groups, [](const JobOutcome::Group& group) {
    return group.outcome.kind == RankOutcome::Kind::not_found;
  });
  if (!is_missed || options.apps.size() != 1) return "";
  const std::vector<std::string>& argv = options.apps.front().argv;
  const CommandUse on_hosts =
      options.apps.front().is_exact ? CommandUse::exact : CommandUse::once_per_host;
  return hint_for_unknown_program(argv, options.hosts.value_or(""), names_host(argv.front()),
                                  outcome.once_per_host ? on_hosts : CommandUse::ranks);
}

// Reports a job that was not started, and returns the exit status.
int report_no_start(const Options& options, Plan& plan, JobOutcome outcome, std::int64_t began) {
  StderrWriter person(options.grace + kReaderSlack);
  outcome.rule = options.exit_status;
  plan.job.map = {};
  JobRecords records;
  const auto write = [](const std::string& text) { print(1, text); };
  const auto tell = [&person](const std::string& line) { person.write(line); };
  if (options.json) {
    if (auto opened = records.open(*options.json, false, write, tell); !opened)
      return complain(opened.error());
  }
  Phases phases;
  phases.begin = began;
  phases.tree = phases.gone = static_cast<std::int64_t>(monotonic_ns());
  records.end(plan, outcome, phases, {});
  if (!outcome.error) outcome.error = records.error();
  person.write(verdict_text(outcome));
  return exit_status(outcome);
}

// Reports a job for which no host is left, and returns the exit status.
int report_no_host(const Options& options, Plan& plan, std::int64_t began) {
  JobOutcome outcome;
  outcome.once_per_host = true;
  outcome.missing = plan.missing;
  return report_no_start(options, plan, std::move(outcome), began);
}

// Reports that the search for hosts has failed, and returns the exit status. If a signal or
// --timeout has ended it, or too few agents have joined, the records of --json are those of a job
// without ranks. Its hosts are known if the search was for their sshd.
int report_search(const Options& options, const LaunchContext& context, HostSearch& search,
                  const Error& error) {
  const std::optional<GivenUpWait>& given_up = search.patience.given_up();
  const bool lacks_agents = options.listen && error.kind != ErrorKind::usage;
  if (!given_up && !lacks_agents) return complain(error);
  JobOutcome outcome;
  if (given_up)
    note_given_up(*given_up, options, outcome);
  else
    outcome.error = error;
  Plan none;
  none.job.id = context.job_id;
  for (const App& app : options.apps)
    none.commands.push_back(app.argv);
  const bool knows_hosts = !options.hostfile_is_program && !options.listen;
  auto plan = knows_hosts ? make_plan(options, context) : Result<Plan>(std::move(none));
  if (!plan) return complain(plan.error());
  for (const std::string& host : knows_hosts ? plan->hosts : std::vector<std::string>())
    plan->missing.push_back({host, "wait for hosts", cause_of_end(outcome)});
  return report_no_start(options, *plan, std::move(outcome), context.began_ns);
}

// Does what another scela-run or a singleton has started this process for, in the place of a job.
// Returns std::nullopt if a user has started it.
std::optional<int> serve_own_job(const std::vector<std::string>& words) {
  if (words.size() == 2 && words[0] == kSingletonRank) return nla::stand_for_singleton(words[1]);
  if (words.size() == 3 && words[0] == kPaneRelay) return run_pane(words[1], words[2]);
  if (words.size() == 3 && words[0] == kPaneKeeper) return run_pane_keeper(words[1], words[2]);
  if (words.size() >= 3 && words[0] == kCommandKeeper)
    return run_command_keeper({words.begin() + 1, words.end()});
  return std::nullopt;
}

// Prepares this process for many agents, and for their keys.
void prepare_process() {
  raise_descriptor_limit();
  if (!is_debugged()) keep_secrets();  // its debugger must go on reading this process
}

// Output comes in pieces of 64 KiB that are freed at once. The heap must not be given back to the
// system, and be asked for again, for each of them.
void keep_heap() {
  ::mallopt(M_MMAP_THRESHOLD, 1024 * 1024);
  ::mallopt(M_TRIM_THRESHOLD, 16 * 1024 * 1024);
}

}  // namespace

int run_command(int argc, char** argv) {
  hold_standard_descriptors();
  keep_heap();
  const auto began = static_cast<std::int64_t>(monotonic_ns());

  std::vector<std::string> words(argv + 1, argv + argc);
  if (const auto status = serve_own_job(words)) return *status;
  const auto call = singleton_call(words);
  if (!call) return complain(call.error());
  if (*call) words = singleton_words(**call, own_executable());

  auto front =
      *call ? Result<PeerFront>(PeerFront{std::move(words)}) : stand_for_peer(argv, environ);
  if (!front) return complain(front.error());
  warn(front->notes);
  if (front->text) return answer(*front->text);

  auto given = sources(std::move(front->words));
  if (!given) return complain(given.error());
  auto options = parse_options(*given);
  if (!options) return complain(options.error());
  if (*call) narrow_to_singleton(*options);
  if (const auto status = answer_request(*options)) return *status;
  if (auto read = read_named_files(*options); !read) return complain(read.error());
  if (options->nodeset) return run_nodeset(*options->nodeset);
  warn(options->warnings);

  auto context = launch_context(*options, began);
  if (!context) return complain(context.error());
  HostSearch search = search_for(*options, *context);
  auto found = discover_hosts(*options, *context, search);
  if (search.patience.given_up() || !found)
    return report_search(*options, *context, search, found ? HostPatience::error() : found.error());
  std::optional<LossTool> loss_tool;
  if (const auto status = use_job(*call, *options, *context, loss_tool)) return *status;
  warn(warn_of_pmi(*options, *context));
  auto chosen = choose_pmi(*options, *context);
  if (!chosen) return complain(chosen.error());
  context->pmi_choice = std::move(*chosen);
  auto plan = make_plan(*options, *context);
  if (!plan) return complain(plan.error());
  if (*call) plan->commands.front() = {name_of_caller(**call)};
  if (options->dry_run) return run_dry(*options, *context, std::move(*plan));
  if (auto fits = check_output_files(*options); !fits) return complain(fits.error());
  if (options->show_map) {
    if (auto shown = show_map(*options, *plan); !shown) return complain(shown.error());
  }

  prepare_process();
  auto agent = nla::find_agent(options->agent.value_or(""), plan->remote);
  if (!agent) return complain(agent.error());
  auto prepared = reach_hosts(*options, *context, std::move(*plan), search);
  if (search.patience.given_up() || !prepared)
    return report_search(*options, *context, search,
                         prepared ? HostPatience::error() : prepared.error());
  if (prepared->reach.contacts.empty()) return report_no_host(*options, prepared->plan, began);
  prepared->reach.loss_tool = std::move(loss_tool);
  StderrWriter person(options->grace + kReaderSlack);
  auto result = run_starts(*options, std::move(*context), std::move(*prepared), *agent, person);
  if (!result) return complain(result.error());
  person.write(result->statistics);
  result->outcome.not_found_hint = hint_for(*options, result->outcome);

  if (result->outcome.interrupted != SIGPIPE) person.write(verdict_text(result->outcome));
  return exit_status(result->outcome);
}

}  // namespace scela
