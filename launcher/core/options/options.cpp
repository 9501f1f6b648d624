#include "launcher/core/options/options.h"

#include <algorithm>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/value_semantic.hpp>

#include "common/core/text.h"
#include "launcher/core/options/mpiexec_words.h"
#include "launcher/core/options/option_table.h"
#include "launcher/core/report/job_report.h"
#include "launcher/core/values/text_values.h"

namespace scela {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kSeeHelp = "see scela-run --help";

struct Setting {
  const OptionRow* row;
  std::string value;  // "" for an option without a value
};

// Adds the place of an error to it. `where` is the source, or empty for the command line.
Error located(Error error, const OptionRow& row, std::string_view where) {
  error.what = cat("option --", row.name);
  error.where = where;
  error.hint = error.hint.empty() ? std::string(kSeeHelp) : cat(error.hint, "; ", kSeeHelp);
  return error;
}

po::options_description described_options() {
  po::options_description description;
  for (const OptionRow& row : option_table()) {
    auto* value = po::value<std::string>();
    if (row.takes != OptionArgument::required) value->implicit_value("");
    const std::string name(row.name);
    description.add_options()(
        row.short_name == 0 ? name.c_str() : cat(name, ',', row.short_name).c_str(), value);
  }
  return description;
}

Error syntax_error(const po::error_with_option_name& thrown, std::string_view why) {
  return Error{ErrorKind::usage, cat("option ", thrown.get_option_name()), "", std::string(why),
               std::string(kSeeHelp)};
}

// Parses the option words of one program's part. Boost throws exceptions; this function returns
// them as errors.
Result<std::vector<Setting>> tokenize(const std::vector<std::string>& words) {
  namespace style = po::command_line_style;
  constexpr int kStyle = style::allow_long | style::long_allow_adjacent | style::long_allow_next |
                         style::allow_short | style::allow_dash_for_short |
                         style::short_allow_adjacent | style::short_allow_next;
  try {
    const po::options_description description = described_options();
    const auto parsed = po::command_line_parser(words).options(description).style(kStyle).run();
    std::vector<Setting> settings;
    for (const auto& option : parsed.options) {
      const OptionRow* row = find_option(option.string_key);
      if (row == nullptr) return fail(unknown_option(option.string_key));
      settings.push_back({row, option.value.empty() ? "" : option.value.front()});
    }
    return settings;
  } catch (const po::unknown_option& thrown) {
    return fail(unknown_option(thrown.get_option_name()));
  } catch (const po::invalid_command_line_syntax& thrown) {
    return fail(syntax_error(thrown, "its value is missing"));
  } catch (const po::error_with_option_name& thrown) {
    return fail(syntax_error(thrown, thrown.what()));
  } catch (const std::exception& thrown) {
    return fail(
        Error{ErrorKind::usage, "read the command line", "", thrown.what(), std::string(kSeeHelp)});
  }
}

class Parser {
 public:
  explicit Parser(const OptionSources& sources) : sources_(sources) {}

  Result<Options> parse() {
    auto programs = split_programs(sources_.words);
    if (!programs) return fail(std::move(programs.error()));
    if (auto done = from_source([&] { return read_config(); }, sources_.config_name); !done) {
      return fail(std::move(done.error()));
    }
    if (auto done = from_source([&] { return read_environment(); }, "environment"); !done) {
      return fail(std::move(done.error()));
    }
    if (auto done = from_source([&] { return read_programs(*programs); }, ""); !done) {
      return fail(std::move(done.error()));
    }
    return finish();
  }

 private:
  // Hosts and host file are one choice. A higher source that makes this choice replaces that of a
  // lower one, and one source may make it only once. So do the excluded hosts of a higher source.
  template <class Read>
  Result<void> from_source(Read read, std::string_view where) {
    const auto lower_hosts = std::exchange(defaults_.hosts, std::nullopt);
    const auto lower_file = std::exchange(options_.hostfile, std::nullopt);
    const bool lower_is_program = options_.hostfile_is_program;
    const auto lower_exclude = std::exchange(options_.exclude, std::nullopt);
    const std::size_t lower_settings = options_.settings.size();
    if (auto done = read(); !done) return done;
    const std::optional<std::string>& hosts =
        options_.apps.empty() ? defaults_.hosts : options_.apps.front().hosts;
    if (hosts && options_.hostfile) {
      return fail(Error{ErrorKind::usage,
                        options_.hostfile_is_program ? "options --hosts and --host-discovery-script"
                                                     : "options --hosts and --hostfile",
                        std::string(where), "both name the job's hosts", "give one of them"});
    }
    const bool names_job = hosts || options_.hostfile;
    const bool excludes = options_.exclude.has_value();
    if (!names_job) {
      defaults_.hosts = lower_hosts;
      options_.hostfile = lower_file;
      options_.hostfile_is_program = lower_is_program;
    }
    if (!excludes) options_.exclude = lower_exclude;
    const auto is_replaced = [&](const OptionSetting& setting) {
      return (names_job && names_hosts(setting)) || (excludes && setting.name == "exclude");
    };
    const auto end = options_.settings.begin() + static_cast<std::ptrdiff_t>(lower_settings);
    options_.settings.erase(std::remove_if(options_.settings.begin(), end, is_replaced), end);
    return {};
  }

  static bool names_hosts(const OptionSetting& setting) {
    return setting.name == "hosts" || setting.name == "hostfile" ||
           setting.name == "host-discovery-script";
  }

  Result<void> apply(const OptionRow& row, std::string_view value, App& app,
                     std::string_view where) {
    auto applied = row.apply(OptionTarget{options_, app, global_env_}, value);
    if (!applied) return fail(located(std::move(applied.error()), row, where));
    if (row.name == "cache") options_.cache_where = where;
    const std::size_t programs = options_.apps.size();
    options_.settings.push_back({std::string(row.name), std::string(value), std::string(where),
                                 programs == 0 ? 0 : programs - 1});
    return {};
  }

  // Reads "key = value" lines. "#" begins a comment at the start of a line or after a blank.
  Result<void> read_config() {
    if (!sources_.config_text) return {};
    std::string_view rest = *sources_.config_text;
    for (std::size_t number = 1; !rest.empty(); ++number) {
      const auto end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      if (auto done = read_config_line(line, cat(sources_.config_name, ':', number)); !done) {
        return done;
      }
    }
    return {};
  }

  Result<void> read_config_line(std::string_view line, const std::string& where) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
        line = line.substr(0, i);
      }
    }
    line = trim(line);
    if (line.empty()) return {};
    const auto equals = line.find('=');
    const std::string_view key = trim(line.substr(0, equals));
    const OptionRow* row = find_option(key);
    if (row == nullptr || !row->in_config()) {
      Error error{ErrorKind::usage, cat("configuration '", line, "'"), where,
                  row == nullptr ? cat("'", key, "' is not an option")
                                 : cat("'", key, "' is for the command line only"),
                  ""};
      const std::string_view near = nearest_option(key);
      error.hint = row == nullptr && !near.empty() ? cat("did you mean ", near, "? ", kSeeHelp)
                                                   : std::string(kSeeHelp);
      return fail(std::move(error));
    }
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view{} : trim(line.substr(equals + 1));
    if (value.empty()) {
      return fail(located(value_error("its value is missing", cat("write ", key, " = VALUE")), *row,
                          where));
    }
    return apply(*row, value, defaults_, where);
  }

  // Reads the variables in table order, whatever their order in the environment. An empty variable
  // counts as absent.
  Result<void> read_environment() {
    for (const OptionRow& row : option_table()) {
      if (row.variable.empty()) continue;
      for (const auto& [name, value] : sources_.environment) {
        if (name != row.variable || value.empty()) continue;
        if (auto done = apply(row, value, defaults_, name); !done) return done;
      }
    }
    for (const auto& [name, value] : sources_.environment)
      warn_of_switch(name, value);
    // A variable that resembles no known name belongs to another program (SCELA_HOME of an
    // installation).
    for (const auto& [name, value] : sources_.environment) {
      const std::string_view near = nearest_variable(name);
      if (value.empty() || near.empty()) continue;
      options_.warnings.push_back(
          cat("the variable ", name, " means nothing here (did you mean ", near, "?)"));
    }
    return {};
  }

  void warn_of_switch(std::string_view name, std::string_view value) {
    if (!is_invalid_for_ranks(name, value)) return;
    std::string text =
        cat("the variable ", name, " means nothing to ranks as '", value, "' (0 is no)");
    if (std::ranges::find(options_.warnings, text) != options_.warnings.end()) return;
    options_.warnings.push_back(std::move(text));
  }

  Result<void> read_programs(std::vector<ProgramWords>& programs) {
    for (ProgramWords& words : programs) {
      const bool is_first = options_.apps.empty();
      App& app = options_.apps.emplace_back();
      auto settings = tokenize(words.options);
      if (!settings) return fail(std::move(settings.error()));
      for (const Setting& setting : *settings) {
        if (setting.row->scope == OptionScope::job && !is_first) {
          return fail(
              Error{ErrorKind::usage, cat("option --", setting.row->name), "",
                    cat("it is for the whole job, but stands with program ", options_.apps.size()),
                    "write it before the first program"});
        }
        if (auto done = apply(*setting.row, setting.value, app, ""); !done) return done;
      }
      app.argv = std::move(words.argv);
      app.is_exact = words.is_exact;
    }
    return {};
  }

  Result<Options> finish() {
    if (!options_.misplaced_as.empty()) {
      return fail(Error{ErrorKind::usage, "option --as", "", "it is not the first word",
                        cat("write scela-run --as ", options_.misplaced_as, " before all others")});
    }
    if (options_.help || options_.version) return std::move(options_);
    if (options_.nodeset) return finish_nodeset();
    if (options_.attach) return std::move(options_);
    if (options_.cache == CachePolicy::hcmab && options_.cache_limit > 0) {
      return fail(Error{ErrorKind::usage, "options --cache hcmab and --cache-limit", "",
                        "under hcmab every agent keeps everything",
                        "use --cache hcmab-lru, or give no limit"});
    }
    if (options_.diff) options_.gather = true;
    if (options_.gather && options_.output_dir) {
      return fail(Error{ErrorKind::usage, cat("options --", name_of_gather(), " and --output-dir"),
                        "", "both say where standard output goes", "give one of them"});
    }
    if (auto fits = check_output_name(); !fits) return fail(fits.error());
    if (auto fits = check_json(); !fits) return fail(fits.error());
    if (auto fits = check_terminals(); !fits) return fail(fits.error());
    if (auto fits = check_restarts(); !fits) return fail(fits.error());
    if (auto fits = check_listen(); !fits) return fail(fits.error());
    if (options_.gather && options_.timestamp)
      options_.warnings.push_back(cat("--timestamp means nothing beside --", name_of_gather(),
                                      ", which shows the same lines of several hosts once"));
    warn_beside_rankfile();
    warn_of_unbound();
    if (options_.show_config) return std::move(options_);
    // The first program's hosts are the job's.
    App& first = options_.apps.front();
    options_.hosts = first.hosts ? std::exchange(first.hosts, std::nullopt) : defaults_.hosts;
    for (std::size_t i = 0; i < options_.apps.size(); ++i) {
      App& app = options_.apps[i];
      if (app.argv.empty() || app.argv.front().empty()) return fail(no_program(i));
      if (!app.np) app.np = defaults_.np;
      if (!app.ppn) app.ppn = defaults_.ppn;
      if (!app.wdir) app.wdir = defaults_.wdir;
      if (!app.path) app.path = defaults_.path;
      std::vector<EnvVariable> env = defaults_.env;
      for (const EnvVariable& variable : global_env_)
        set_env(env, variable);
      for (EnvVariable& variable : app.env)
        set_env(env, std::move(variable));
      app.env = std::move(env);
      for (const EnvVariable& variable : app.env)
        warn_of_switch(variable.name, variable.value);
    }
    return std::move(options_);
  }

  std::string_view name_of_gather() const { return options_.diff ? "diff" : "gather"; }

  // Warns about options that another launcher might treat as a contradiction. The rankfile wins, as
  // it says more.
  void warn_beside_rankfile() {
    if (!options_.rankfile) return;
    const auto unused = [&](std::string_view option) {
      options_.warnings.push_back(
          cat("--", option, " means nothing beside --rankfile, which says where each rank runs"));
    };
    // At this point the programs have only their own options, without the user's defaults.
    if (std::ranges::any_of(options_.apps, [](const App& app) { return app.ppn.has_value(); })) {
      unused("ppn");
    }
    if (options_.placement.map_by == MapBy::node) unused("map-by node");
    if (options_.placement.rank_by == RankBy::node) unused("rank-by node");
  }

  // Warns if --rank-by has no effect. Places within a node exist only if ranks are bound; without
  // them, nodes are numbered as with slot.
  void warn_of_unbound() {
    const PlacementPolicy placement = placement_of(options_.placement, false);
    if (placement.bind_to != BindTo::none) return;
    if (options_.placement.rank_by.value_or(RankBy::slot) <= RankBy::node) return;
    options_.warnings.push_back(
        cat("--rank-by numbers nothing within a node here: ",
            options_.rankfile ? "ranks without cores in the rankfile" : "the ranks",
            " are not bound (--bind-to)"));
  }

  // Records on standard output have the place of the ranks' output. Their lines have no marks, as a
  // record names its rank and its host.
  Result<void> check_json() {
    if (options_.json != "-") return {};
    const std::string_view terminal = name_of_terminal();
    if (options_.gather || !terminal.empty()) {
      return fail(Error{ErrorKind::usage,
                        cat("options --json and --", options_.gather ? name_of_gather() : terminal),
                        "", "both say what standard output shows", "give a file: --json=FILE"});
    }
    // With --output-dir the lines of ranks are in files and not in records.
    if (options_.output_dir) return {};
    options_.label = false;
    if (std::exchange(options_.timestamp, false)) {
      options_.warnings.emplace_back(
          "--timestamp means nothing beside --json, whose records have no times of lines");
    }
    return {};
  }

  // A pattern without a directory is a mistake on the command line. As a user's default it waits
  // for jobs with a directory.
  Result<void> check_output_name() {
    if (options_.output_name.empty() || options_.output_dir) return {};
    const auto last = std::ranges::find(options_.settings.rbegin(), options_.settings.rend(),
                                        "output-name", &OptionSetting::name);
    if (last != options_.settings.rend() && !last->source.empty()) return {};
    return fail(Error{ErrorKind::usage, "option --output-name", "",
                      "it names files of --output-dir, which is not given",
                      "name a directory with --output-dir"});
  }

  // Returns the option that gives ranks a terminal, or "".
  std::string_view name_of_terminal() const {
    if (options_.pty) return "pty";
    if (options_.tmux) return "tmux";
    return options_.gdb ? "gdb" : "";
  }

  Result<void> check_terminals() const {
    const std::string_view name = name_of_terminal();
    if (name.empty()) return {};
    const auto clash = [&](std::string_view option, std::string why, std::string hint) {
      return fail(Error{ErrorKind::usage, cat("options --", name, " and --", option), "",
                        std::move(why), std::move(hint)});
    };
    if (options_.pty && (options_.tmux || options_.gdb)) {
      return clash(options_.tmux ? "tmux" : "gdb", "both say which ranks have a terminal",
                   "leave --pty out");
    }
    if (options_.gather || options_.output_dir) {
      return clash(options_.gather ? name_of_gather() : "output-dir",
                   "both say where standard output goes", "give one of them");
    }
    if (options_.stdin_to && options_.stdin_to->kind != StdinTarget::Kind::rank) {
      return clash("stdin", "a terminal is one rank's", "name that rank with --stdin");
    }
    if (!options_.pty && options_.stdin_to) {
      return clash("stdin", "each terminal is read by its rank", "leave --stdin out");
    }
    return {};
  }

  // The second start of a job could not read again what the first one has read.
  Result<void> check_restarts() {
    if (options_.restarts == 0) return {};
    const auto clash = [](std::string_view option, std::string why, std::string hint) {
      return fail(Error{ErrorKind::usage, cat("options --restart and --", option), "",
                        std::move(why), std::move(hint)});
    };
    if (options_.on_failure == OnFailure::wait) {
      return clash("on-failure wait", "a job that is started again does not go on without a rank",
                   "give one of them");
    }
    if (const std::string_view name = name_of_terminal(); !name.empty())
      return clash(name, "a terminal is not read twice", "give one of them");
    if (!options_.stdin_to) options_.stdin_to = StdinTarget{StdinTarget::Kind::none, 0};
    if (options_.stdin_to->kind == StdinTarget::Kind::none) return {};
    return clash("stdin", "standard input is not read twice", "let the program read a file");
  }

  Error no_program(std::size_t index) const {
    return Error{ErrorKind::usage,
                 options_.apps.size() == 1 ? std::string("read the command line")
                                           : cat("read the command line of program ", index + 1),
                 "", "no program is named", cat("write scela-run -n 4 ./program; ", kSeeHelp)};
  }

  // Agents that join bring the names of the hosts with them.
  Result<void> check_listen() const {
    if (!options_.listen) return {};
    const auto refused = [](const std::string& other, std::string why, std::string hint) {
      return fail(Error{ErrorKind::usage, cat("option --listen", other), "", std::move(why),
                        std::move(hint)});
    };
    if (!options_.key_file)
      return refused("", "agents must prove a key", "name its file with --key-file FILE");
    const bool has_other_hosts =
        options_.hostfile || options_.sim_nodes || options_.rankfile ||
        options_.launch != LaunchMethod::automatic || defaults_.hosts ||
        std::ranges::any_of(options_.apps, [](const App& app) { return app.hosts.has_value(); });
    if (has_other_hosts)
      return refused(" and options that name hosts or their start",
                     "the hosts are those of the agents that join", "give one of them");
    return {};
  }
  Result<Options> finish_nodeset() {
    for (const App& app : options_.apps) {
      for (const std::string& word : app.argv) {
        options_.nodeset->spec += cat(options_.nodeset->spec.empty() ? "" : ",", word);
      }
    }
    options_.apps.clear();
    if (options_.nodeset->spec.empty()) {
      return fail(Error{ErrorKind::usage, "option --nodeset", "", "no node set follows",
                        cat("write scela-run --nodeset expand node[1-4]; ", kSeeHelp)});
    }
    return std::move(options_);
  }

  const OptionSources& sources_;
  Options options_;
  App defaults_;  // settings of lower sources, for all apps
  std::vector<EnvVariable> global_env_;
};

std::string_view variable_of(const OptionSources& sources, std::string_view name) {
  const auto found =
      std::ranges::find(sources.environment, name, &std::pair<std::string, std::string>::first);
  return found == sources.environment.end() ? std::string_view{} : found->second;
}

}  // namespace

Result<Options> parse_options(const OptionSources& sources) {
  return Parser(sources).parse();
}

ConfigChoice config_choice(const OptionSources& sources) {
  // A command line that does not parse names no file. parse_options() reports its error.
  if (const auto programs = split_programs(sources.words)) {
    if (const auto settings = tokenize(programs->front().options)) {
      std::string_view named;
      for (const Setting& setting : *settings) {
        if (setting.row->name == "config") named = setting.value;
      }
      if (!named.empty()) return {std::string(named), true};
    }
  }
  if (const auto named = variable_of(sources, "SCELA_CONFIG"); !named.empty()) {
    return {std::string(named), true};
  }
  if (const auto base = variable_of(sources, "XDG_CONFIG_HOME"); !base.empty()) {
    return {cat(base, "/scela/scela-run.conf"), false};
  }
  if (const auto home = variable_of(sources, "HOME"); !home.empty()) {
    return {cat(home, "/.config/scela/scela-run.conf"), false};
  }
  return {};
}

std::string help_text() {
  constexpr std::size_t kHelpColumn = 28;
  std::string text =
      "Usage: scela-run [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...\n"
      "       scela-run --nodeset fold|expand|count SPEC\n"
      "Starts a parallel program as many ranks on many nodes and stays until all have ended.\n";
  for (const OptionGroup group : kOptionGroups) {
    text += cat("\n", title_of(group), ":\n");
    for (const OptionRow& row : option_table()) {
      if (row.group != group) continue;
      std::string line = cat("  ", option_heading(row));
      if (line.size() + 2 > kHelpColumn) line += cat("\n", std::string(kHelpColumn, ' '));
      if (line.size() < kHelpColumn) line.append(kHelpColumn - line.size(), ' ');
      text += cat(line, row.help, "\n");
    }
  }
  text +=
      "\nOptions may also be set by SCELA_* variables (SCELA_MAX_DEPTH=2) and in the "
      "configuration\n"
      "file (max-depth = 2); the command line wins. mpiexec's -np, -ppn, -hosts, -usize, -wdir, "
      "-env\n"
      "K V and -genv K V are understood.\n"
      "\nExamples:\n"
      "  scela-run -n 8 ./program                        eight ranks on this machine\n"
      "  scela-run -w 'node[01-16]' --ppn 4 ./program    four ranks on each of 16 hosts\n"
      "  scela-run -w 'node[01-16]' -b uname -r          a command once on each host, folded\n"
      "  scela-run -n 2 ./ocean : -n 6 ./atmosphere      two programs, one job\n"
      "  scela-run -n 64 --timeout 10m -l ./program      a time limit; lines begin with ranks\n"
      "\nExit status:\n";
  for (const ExitRow& row : exit_table()) {
    text += cat("  ", row.code, std::string(row.code.size() < 8 ? 8 - row.code.size() : 1, ' '),
                row.meaning, "\n");
  }
  text += "\nSee scela-run(1).\n";
  return text;
}

}  // namespace scela
