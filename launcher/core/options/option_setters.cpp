#include "launcher/core/options/option_setters.h"

#include <algorithm>

#include "common/core/line_marks.h"
#include "common/core/log.h"
#include "common/core/network/network_choice.h"
#include "launcher/core/detect/starter.h"
#include "launcher/core/options/universe.h"

namespace scela {

void set_env(std::vector<EnvVariable>& list, EnvVariable variable) {
  const auto old = std::ranges::find(list, variable.name, &EnvVariable::name);
  if (old == list.end()) {
    list.push_back(std::move(variable));
  } else {
    old->value = std::move(variable.value);
  }
}

namespace setters {

namespace {

// Adds a host list as a further line, which is evaluated alone. The hosts of a later -w are added
// to those of an earlier one, and so are those of a later -x.
Result<void> add_host_list(Text v, std::optional<std::string>& field) {
  auto text = parse_text(v);
  if (text && field) *text = cat(*field, '\n', *text);
  return store(std::move(text), field);
}

// Returns true for NAME=VALUE, which has no ':' before '=' as a:port=22 has.
bool is_variable_setting(Text v) {
  const auto end =
      v.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  return end != Text::npos && end > 0 && v[end] == '=';
}

// Returns the scheduler of the word, such as "sge", or std::nullopt if there is none.
std::optional<Scheduler> scheduler_of(Text word) {
  const auto found = std::ranges::find_if(
      kSchedulers, [&](Scheduler one) { return !word.empty() && word_of(one) == word; });
  return found == std::end(kSchedulers) ? std::nullopt : std::optional(*found);
}

}  // namespace

Result<void> store_env(std::string_view value, std::vector<EnvVariable>& list) {
  auto variable = parse_env_variable(value);
  if (!variable) return fail(std::move(variable.error()));
  set_env(list, std::move(*variable));
  return {};
}

Result<void> apply_hosts(Target t, Text v) {
  return add_host_list(v, t.app.hosts);
}

Result<void> apply_exclude(Target t, Text v) {
  if (is_variable_setting(v)) {
    return fail(value_error("-x leaves hosts out", cat("to set a variable say --env ", v)));
  }
  return add_host_list(v, t.options.exclude);
}

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

Result<void> store_stopped(Text v, std::optional<RankChoice>& out) {
  return store(parse_rank_choice(v.empty() ? "all" : v), out);
}

Result<void> apply_json(Target t, Text v) {
  const auto flag = v.empty() ? Result<bool>(true) : parse_flag(v);
  if (flag && !*flag) {
    t.options.json.reset();
    return {};
  }
  return store(flag ? Result<std::string>("-") : parse_text(v), t.options.json);
}

Result<void> apply_label(Target t, Text v) {
  t.options.label_pattern.clear();
  if (v.empty() || parse_flag(v)) return store_flag(v, t.options.label);
  constexpr Text kParts = "there are %h, %n, %r, %j, %s and %%";
  if (std::string why = label_fault(v); !why.empty())
    return fail(value_error(std::move(why), std::string(kParts)));
  if (!label_tells_apart(v)) {
    return fail(value_error(cat("'", v, "' is the same for all ranks and hosts"),
                            "add %r, the rank, or %h, the host"));
  }
  t.options.label_pattern = v;
  t.options.label = true;
  return {};
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

Result<void> apply_network(Target t, Text v) {
  if (auto parsed = parse_network(v); !parsed) return fail(std::move(parsed.error()));
  t.options.network = v;
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

}  // namespace setters
}  // namespace scela
