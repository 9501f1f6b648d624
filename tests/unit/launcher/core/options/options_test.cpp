#include "launcher/core/options/options.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "launcher/core/options/option_table.h"
#include "launcher/core/report/job_report.h"

namespace options_test {

using namespace scela;
using namespace std::chrono_literals;

namespace {

using Words = std::vector<std::string>;

Result<Options> parse(Words words,
                      std::vector<std::pair<std::string, std::string>> environment = {},
                      std::optional<std::string> config = std::nullopt) {
  return parse_options({std::move(words), std::move(environment), "my.conf", std::move(config)});
}

Options parsed(Words words, std::vector<std::pair<std::string, std::string>> environment = {},
               std::optional<std::string> config = std::nullopt) {
  auto options = parse(std::move(words), std::move(environment), std::move(config));
  INFO((options ? std::string() : options.error().text()));
  REQUIRE(options);
  return std::move(*options);
}

std::string refusal(Words words, std::vector<std::pair<std::string, std::string>> environment = {},
                    std::optional<std::string> config = std::nullopt) {
  const auto options = parse(std::move(words), std::move(environment), std::move(config));
  REQUIRE_FALSE(options);
  CHECK(options.error().kind == ErrorKind::usage);
  return options.error().text();
}

}  // namespace

TEST_CASE("placement options beside a rankfile are reported as without meaning") {
  const auto said = parsed({"--rankfile", "f", "--ppn", "2", "--map-by", "node", "./p"}).warnings;
  REQUIRE(said.size() == 2);
  CHECK(said[0] == "--ppn means nothing beside --rankfile, which says where each rank runs");
  CHECK(said[1].starts_with("--map-by node means nothing"));
  CHECK(parsed({"--rankfile", "f", "--map-by", "pe=2", "./p"}, {{"SCELA_PPN", "2"}})
            .warnings.empty());
  CHECK(parsed({"--ppn", "2", "--map-by", "node", "./p"}).warnings.empty());
  const auto numbered = parsed({"--rankfile", "f", "--rank-by", "fill", "./p"}).warnings;
  REQUIRE(numbered.size() == 1);
  CHECK(numbered[0].find("ranks without cores in the rankfile are not bound") != std::string::npos);
  CHECK(parsed({"--rankfile", "f", "--rank-by", "fill", "--bind-to", "core", "./p"})
            .warnings.empty());
}

TEST_CASE("times beside gathered output are told to mean nothing") {
  const auto said = parsed({"-b", "--timestamp", "./p"}).warnings;
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("--timestamp means nothing beside --gather") == 0);
  CHECK(parsed({"-b", "./p"}).warnings.empty());
  CHECK(parsed({"--timestamp", "./p"}).warnings.empty());
}

TEST_CASE("numbering places within a node is told to mean nothing where ranks have none") {
  const auto said = parsed({"--rank-by", "l3", "./p"}).warnings;
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("not bound (--bind-to)") != std::string::npos);
  for (const Words& words :
       {Words{"--rank-by", "l3", "--bind-to", "core", "./p"},
        Words{"--rank-by", "core", "--map-by", "numa", "./p"}, Words{"--rank-by", "node", "./p"}}) {
    CHECK(parsed(words).warnings.empty());
  }
}

TEST_CASE("without options everything has its default") {
  const Options options = parsed({"./p", "arg"});
  REQUIRE(options.apps.size() == 1);
  CHECK(options.apps[0].argv == Words{"./p", "arg"});
  CHECK_FALSE(options.apps[0].np);
  CHECK_FALSE(options.hosts);
  CHECK(options.launch == LaunchMethod::automatic);
  CHECK_FALSE(options.degree);
  CHECK_FALSE(options.max_depth);
  CHECK(options.max_conn == 128);
  CHECK(options.grace == 2s);
  CHECK_FALSE(options.timeout);
  CHECK_FALSE(options.on_failure);
  CHECK_FALSE(options.stdin_to);
  CHECK_FALSE(options.env_pass);
  CHECK(options.placement == PlacementOptions{});
  CHECK(options.pmi == PmiKind::automatic);
  CHECK(options.stats == StatsFormat::none);
}

TEST_CASE("every option of the command line reaches its value") {
  const Options options = parsed({"-n",
                                  "8",
                                  "--ppn",
                                  "2",
                                  "-w",
                                  "a,b:2",
                                  "-x",
                                  "b",
                                  "--launch",
                                  "local",
                                  "--sim-nodes",
                                  "4",
                                  "--degree",
                                  "2",
                                  "--max-depth",
                                  "5",
                                  "--max-conn",
                                  "64",
                                  "--wdir",
                                  "/w",
                                  "--env",
                                  "K=V",
                                  "--env-pass",
                                  "A,B",
                                  "--path",
                                  "/x:/y",
                                  "--oversubscribe",
                                  "-l",
                                  "--output-dir",
                                  "out",
                                  "--stdin",
                                  "3",
                                  "--timeout",
                                  "2m",
                                  "--grace",
                                  "0.5",
                                  "--on-failure",
                                  "wait",
                                  "--bind-to",
                                  "core",
                                  "--pmi",
                                  "pmgr-mvapich1",
                                  "--dry-run",
                                  "--show-map",
                                  "--stats=json",
                                  "--trace",
                                  "t.json",
                                  "--record",
                                  "r.bin",
                                  "--verbose=launch,pmi",
                                  "./p"});
  const App& app = options.apps.at(0);
  CHECK(app.np == 8u);
  CHECK(app.ppn == 2u);
  CHECK(options.hosts == "a,b:2");
  CHECK_FALSE(app.hosts);
  CHECK(options.exclude == "b");
  CHECK(options.launch == LaunchMethod::local);
  CHECK(options.sim_nodes == 4u);
  CHECK(options.degree == 2u);
  CHECK(options.max_depth == 5);
  CHECK(options.max_conn == 64);
  CHECK(app.wdir == "/w");
  CHECK(app.env == std::vector<EnvVariable>{{"K", "V"}});
  CHECK(options.env_pass == EnvPass{EnvPass::Kind::names, {"A", "B"}});
  CHECK(app.path == "/x:/y");
  CHECK(options.oversubscribe);
  CHECK(options.label == true);
  CHECK(options.output_dir == "out");
  CHECK(options.stdin_to == StdinTarget{StdinTarget::Kind::rank, 3});
  CHECK(options.timeout == 120s);
  CHECK(options.grace == 500ms);
  CHECK(options.on_failure == OnFailure::wait);
  CHECK(options.placement.bind_to == BindTo::core);
  CHECK(options.pmi == PmiKind::pmgr_mvapich1);
  CHECK(options.dry_run);
  CHECK(options.show_map);
  CHECK(options.stats == StatsFormat::json);
  CHECK(options.trace == "t.json");
  CHECK(options.record == "r.bin");
  CHECK(options.verbose);
  CHECK(options.verbose_subsystems == Words{"launch", "pmi"});
  CHECK(parsed({"-f", "hosts.txt", "p"}).hostfile == "hosts.txt");
}

TEST_CASE("memory of ranks is bound by one of four words") {
  CHECK(parsed({"x"}).placement.memory == std::nullopt);
  CHECK(parsed({"--mem-bind", "Local", "x"}).placement.memory == MemoryBinding::local);
  CHECK(parsed({"--mem-bind=interleave", "x"}).placement.memory == MemoryBinding::interleave);
  CHECK(parsed({"x"}, {{"SCELA_MEM_BIND", "prefer"}}).placement.memory == MemoryBinding::prefer);
  CHECK(refusal({"--mem-bind", "0", "x"}).find("none, local, prefer") != std::string::npos);
  CHECK(placement_of(parsed({"--mem-bind", "local", "x"}).placement, false).memory ==
        MemoryBinding::local);
}

TEST_CASE("a network is interfaces or prefixes") {
  CHECK(parsed({"--network", "ib0,10.1.0.0/16", "x"}).network == "ib0,10.1.0.0/16");
  CHECK(parsed({"x"}, {{"SCELA_NETWORK", "ib0"}}).network == "ib0");
  CHECK(refusal({"--network", "10.1.0.0/40", "x"}).find("length of the prefix") !=
        std::string::npos);
  CHECK(refusal({"--network", "", "x"}).find("neither an interface") != std::string::npos);
}

TEST_CASE("a label is a flag or a pattern, and the last one counts") {
  CHECK(parsed({"--label=[%r] ", "x"}).label_pattern == "[%r] ");
  CHECK(parsed({"--label=[%r] ", "x"}).label == true);
  CHECK(parsed({"x"}, {{"SCELA_LABEL", "%h "}}).label_pattern == "%h ");
  CHECK(parsed({"-l", "x"}, {{"SCELA_LABEL", "%h "}}).label_pattern.empty());
  const Options off = parsed({"--label=no", "x"}, {{"SCELA_LABEL", "%h "}});
  CHECK(off.label == false);
  CHECK(refusal({"--label=[%q]", "x"}).find("'%q' means nothing") != std::string::npos);
  CHECK(refusal({"--label=%j: ", "x"}).find("add %r, the rank") != std::string::npos);
  CHECK(refusal({"-l=%r", "x"}).find("write --label=%r") != std::string::npos);
}

TEST_CASE("records go to standard output or to a file, and name files only if there are some") {
  CHECK_FALSE(parsed({"x"}).json);
  CHECK(parsed({"--json", "x"}).json == "-");
  CHECK(parsed({"--json=-", "x"}).json == "-");
  CHECK(parsed({"--json=f", "-l", "--timestamp", "x"}).json == "f");
  CHECK_FALSE(parsed({"--json=no", "x"}).json);
  const Options options = parsed({"--json", "-l", "--timestamp", "x"});
  CHECK(options.label == false);
  CHECK_FALSE(options.timestamp);
  REQUIRE(options.warnings.size() == 1);
  CHECK(options.warnings[0].starts_with("--timestamp means nothing beside --json"));
  CHECK(parsed({"--output-dir", "d", "--output-name", "%h", "x"}).output_name == "%h");
  CHECK(refusal({"--output-name", "%r", "x"}).find("--output-dir") != std::string::npos);
  // A default of the user's waits for a job with a directory.
  CHECK(parsed({"x"}, {{"SCELA_OUTPUT_NAME", "%h"}}).output_name == "%h");
  CHECK(parsed({"x"}, {}, "output-name = %h\n").output_name == "%h");
  CHECK(refusal({"--output-name", "%r", "x"}, {{"SCELA_OUTPUT_NAME", "%h"}}) != "");
  const Options files = parsed({"--json", "--output-dir", "d", "--timestamp", "x"});
  CHECK(files.timestamp);
  CHECK(files.warnings.empty());
  for (const char* option : {"--gather", "--diff"}) {
    const Options gathered = parsed({option, "--timestamp", "x"});
    REQUIRE(gathered.warnings.size() == 1);
    CHECK(gathered.warnings[0].starts_with(cat("--timestamp means nothing beside ", option, ",")));
  }
  CHECK(parsed({"--exit-status", "max", "x"}).exit_status == StatusRule::largest);
}

TEST_CASE("the login of all hosts, and the status that is returned, are options") {
  const Options options = parsed({"--user", "root", "--exit-status", "max", "./p"});
  CHECK(options.user == "root");
  CHECK(options.exit_status == StatusRule::largest);
  CHECK_FALSE(parsed({"./p"}).user);
  CHECK(parsed({"./p"}).exit_status == StatusRule::automatic);
  CHECK(parsed({"./p"}, {{"SCELA_EXIT_STATUS", "ignore"}}).exit_status == StatusRule::ignore);
  CHECK(refusal({"--exit-status", "last", "./p"}).find("'last' is not known (give first") !=
        std::string::npos);
}

TEST_CASE("the tool to stand for is told by the first word only") {
  CHECK(refusal({"-n", "1", "--as", "pdsh", "./p"}) ==
        "option --as: it is not the first word (write scela-run --as pdsh before all others)");
  CHECK(refusal({"-n", "1", "--as", "ssh", "./p"}).find("option --as: 'ssh' is not known") == 0);
}

TEST_CASE("an optional value is given with an equals sign or not at all") {
  const Options options = parsed({"--stats", "-v", "json", "x"});
  CHECK(options.stats == StatsFormat::text);
  CHECK(options.verbose);
  CHECK(options.verbose_subsystems.empty());
  CHECK(options.apps[0].argv == Words{"json", "x"});
  CHECK(parsed({"-vl", "p"}).label == true);
}

TEST_CASE("help, version and node sets need no program") {
  CHECK(parsed({"--help"}).help);
  CHECK(parsed({"-h"}).help);
  CHECK(parsed({"--version"}).version);
  const Options options = parsed({"--nodeset", "fold", "node1", "node2,node3"});
  REQUIRE(options.nodeset);
  CHECK(options.nodeset->operation == NodesetOperation::fold);
  CHECK(options.nodeset->spec == "node1,node2,node3");
  CHECK(options.apps.empty());
  CHECK(parsed({"--nodeset=count", "n[1-4]"}).nodeset->operation == NodesetOperation::count);
  CHECK(refusal({"--nodeset", "fold"}).find("no node set follows") != std::string::npos);
  CHECK(refusal({"--nodeset", "bend", "a"}) ==
        "option --nodeset: 'bend' is not known (give fold or expand or count; "
        "see scela-run --help)");
}

TEST_CASE("hosts are no variables: mpirun's -x NAME=VALUE is refused with the word for it") {
  for (const Words& words : {Words{"-x", "A=1", "p"}, Words{"-xA=1", "p"}}) {
    const std::string text = refusal(words);
    CHECK(text.find("-x leaves hosts out (to set a variable say --env A=1") != std::string::npos);
  }
  CHECK(parsed({"-x", "a:port=22,^b=c", "p"}).exclude == "a:port=22,^b=c");
  CHECK(parsed({"-x", "^b=c", "p"}).exclude == "^b=c");
}

TEST_CASE("hosts that several -x of one source leave out add up") {
  CHECK(parsed({"-x", "a", "-x", "b", "p"}).exclude == "a\nb");
  CHECK(parsed({"-x", "b", "p"}, {{"SCELA_EXCLUDE", "a"}}).exclude == "b");
  CHECK(parsed({"p"}, {{"SCELA_EXCLUDE", "a"}}, "exclude = c\n").exclude == "a");
  CHECK(parsed({"p"}, {}, "exclude = c\nexclude = d\n").exclude == "c\nd");
  const Options options = parsed({"-x", "a", "-x", "b", "p"}, {{"SCELA_EXCLUDE", "c"}});
  CHECK(std::ranges::count(options.settings, "exclude", &OptionSetting::name) == 2);
}

TEST_CASE("a missing program is an error that shows how to name one") {
  CHECK(refusal({}) ==
        "read the command line: no program is named "
        "(write scela-run -n 4 ./program; see scela-run --help)");
  CHECK(refusal({"-n", "4"}).find("no program is named") != std::string::npos);
  CHECK(refusal({"a", ":"}).find("command line of program 2: no program") != std::string::npos);
  CHECK(refusal({""}).find("no program is named") != std::string::npos);
}

TEST_CASE("wrong values name the option and what is allowed") {
  CHECK(refusal({"-n", "0", "p"}) ==
        "option --np: '0' is out of range (give a number from 1 to 16777216; "
        "see scela-run --help)");
  CHECK(refusal({"-n", "-3", "p"}).find("option --np: '-3' is out of range") == 0);
  CHECK(refusal({"--launch", "telnet", "p"}) ==
        "option --launch: 'telnet' is not known (give auto or local or ssh or ssh-exec or "
        "rsh:COMMAND or slurm or sge or pbs or lsf or flux or cobalt or loadl or condor or kubectl "
        "or podman or docker; see scela-run --help)");
  CHECK(refusal({"--timeout", "soon", "p"}).find("option --timeout: 'soon' is not a time") == 0);
  CHECK(refusal({"--env", "K", "p"}).find("option --env: 'K' is not NAME=VALUE") == 0);
  CHECK(refusal({"--gather=perhaps", "p"}).find("option --gather: 'perhaps' is neither") == 0);
  CHECK(refusal({"--verbose=link", "p"}) ==
        "option --verbose: 'link' is no subsystem (there are tree, launch, pmi, stdio, signal, "
        "cache, trace, placement; see scela-run --help)");
}

TEST_CASE("a scheduler, and a command of containers, are start methods") {
  const Options sge = parsed({"--launch", "sge", "./p"});
  CHECK(sge.launch == LaunchMethod::automatic);
  CHECK(sge.scheduler == Scheduler::grid_engine);
  CHECK(parsed({"--launcher=lsf", "./p"}).scheduler == Scheduler::lsf);
  CHECK_FALSE(parsed({"--launch", "auto", "./p"}, {{"SCELA_LAUNCH", "sge"}}).scheduler);
  const Options pods = parsed({"--launch", "kubectl", "./p"});
  CHECK(pods.launch == LaunchMethod::program);
  CHECK(pods.launch_program == "kubectl exec -i {host} -- /bin/sh -c {command}");
  CHECK(pods.launch_from_here);
  CHECK_FALSE(parsed({"--launch", "rsh", "./p"}, {{"SCELA_LAUNCH", "podman"}}).launch_from_here);
  CHECK(refusal({"--launch", "pals", "./p"}).find("slurm") != std::string::npos);
}

TEST_CASE("the cache policy and its limit") {
  const Options by_default = parsed({"p"});
  CHECK_FALSE(by_default.cache);
  CHECK(by_default.cache_limit == 0);
  CHECK(parsed({"--cache", "hcs", "p"}).cache == CachePolicy::hcs);
  CHECK(parsed({"--cache", "hcma", "p"}).cache == CachePolicy::hcma);
  CHECK(parsed({"--cache", "hcmab", "p"}).cache == CachePolicy::hcmab);
  CHECK(parsed({"p"}, {{"SCELA_CACHE", "hcmab-lru"}}).cache == CachePolicy::hcmab_lru);
  CHECK(parsed({"--cache", "dht", "--cache-limit", "1", "p"}).cache == CachePolicy::dht);
  CHECK(parsed({"--cache-limit", "1", "p"}).cache_limit == 1);
  CHECK(parsed({"--cache-limit", "64K", "p"}).cache_limit == 65536);
  CHECK(parsed({"--cache-limit", "2M", "p"}).cache_limit == 2097152);
  CHECK(parsed({"--cache-limit", "4095G", "p"}).cache_limit == 4095ULL << 30);
  CHECK(parsed({"--cache-limit", "64k", "p"}).cache_limit == 65536);
  CHECK(parsed({"--cache-limit", "65536K", "p"}).cache_limit == 64ULL << 20);
  CHECK(parsed({"--cache-limit", "4294967296", "p"}).cache_limit == 4ULL << 30);
  CHECK(refusal({"--cache-limit", "0", "p"}).find("'0' is no limit") != std::string::npos);
  for (const char* large : {"4096G", "18446744073709551616", "99999999999999999999G"}) {
    CHECK(refusal({"--cache-limit", large, "p"}).find("is more than 4 TiB") != std::string::npos);
  }
  for (const char* wrong : {"-1", "K", "1.5M", "8MB", "8 ", "@", "8@", "much"}) {
    CHECK(refusal({"--cache-limit", wrong, "p"}).find("is not a number of bytes") !=
          std::string::npos);
  }
  CHECK(refusal({"--cache", "all", "p"}) ==
        "option --cache: 'all' is not known (give hcs or hcma or hcmab or hcmab-lru or "
        "dht; "
        "see scela-run --help)");
  CHECK(refusal({"--cache", "hcmab", "--cache-limit", "1M", "p"}) ==
        "options --cache hcmab and --cache-limit: under hcmab every agent keeps everything "
        "(use --cache hcmab-lru, or give no limit)");
}

TEST_CASE("an option without its argument is an error that names it") {
  CHECK(refusal({"--np"}) == "option --np: its value is missing (see scela-run --help)");
  CHECK(refusal({"-n"}).find("its value is missing") != std::string::npos);
  CHECK(refusal({"-n", "-l", "p"}).find("its value is missing") != std::string::npos);
  CHECK(refusal({"--np=", "p"}).find("its value is missing") != std::string::npos);
}

TEST_CASE("hosts of a later -w are added, and a higher source replaces all of them") {
  CHECK(parsed({"-w", "a", "-w", "b:2,c", "p"}).hosts == "a\nb:2,c");
  CHECK(parsed({"-w", "a", "-w", "b", "p"}, {{"SCELA_HOSTS", "x"}}).hosts == "a\nb");
}

TEST_CASE("two dashes before the program say that its words are exact") {
  CHECK(parsed({"-w", "a", "--", "a b"}).apps.front().is_exact);
  CHECK_FALSE(parsed({"-w", "a", "a b"}).apps.front().is_exact);
}

TEST_CASE("an option that is given twice holds the last value") {
  CHECK(parsed({"-n", "2", "-np", "3", "p"}).apps[0].np == 3u);
  CHECK(parsed({"--env", "A=1", "--env", "B=2", "--env", "A=3", "p"}).apps[0].env ==
        std::vector<EnvVariable>{{"A", "3"}, {"B", "2"}});
}

TEST_CASE("a time limit of zero is none") {
  CHECK_FALSE(parsed({"--timeout", "0", "p"}).timeout);
}

TEST_CASE("each program has its own ranks, directory, environment and hosts") {
  const Options options = parsed(
      {"-n", "1", "--wdir", "/a", "-env", "K", "1", "-genv", "G",  "0",      "-w", "h1", "a", ":",
       "-n", "2", "--ppn",  "1",  "-env", "K", "2", "-w",    "h2", "--path", "/p", "b",  ":", "c"});
  REQUIRE(options.apps.size() == 3);
  CHECK(options.hosts == "h1");
  CHECK_FALSE(options.apps[0].hosts);
  CHECK(options.apps[0].env == std::vector<EnvVariable>{{"G", "0"}, {"K", "1"}});
  CHECK(options.apps[1].np == 2u);
  CHECK(options.apps[1].ppn == 1u);
  CHECK(options.apps[1].hosts == "h2");
  CHECK(options.apps[1].env == std::vector<EnvVariable>{{"G", "0"}, {"K", "2"}});
  CHECK_FALSE(options.apps[1].wdir);
  CHECK(options.apps[1].path == "/p");
  CHECK_FALSE(options.apps[2].np);
  CHECK(options.apps[2].env == std::vector<EnvVariable>{{"G", "0"}});
}

TEST_CASE("an option of the whole job is refused with a later program") {
  CHECK(refusal({"a", ":", "--label", "b"}) ==
        "option --label: it is for the whole job, but stands with program 2 "
        "(write it before the first program)");
}

TEST_CASE("the command line wins over variables, they over the configuration file") {
  const std::string config = "np = 2\nmax-depth = 7\ngrace = 5\n";
  const Options options =
      parsed({"-n", "4", "p"}, {{"SCELA_NP", "3"}, {"SCELA_MAX_DEPTH", "8"}}, config);
  CHECK(options.apps[0].np == 4u);
  CHECK(options.max_depth == 8);
  CHECK(options.grace == 5s);
  CHECK(parsed({"p"}, {{"SCELA_NP", "3"}}, config).apps[0].np == 3u);
  CHECK(parsed({"p"}, {{"SCELA_NP", ""}}, config).apps[0].np == 2u);
}

TEST_CASE("program options of lower sources hold for every program without its own") {
  const Options options =
      parsed({"a", ":", "-n", "5", "b"}, {{"SCELA_NP", "3"}, {"SCELA_WDIR", "/w"}});
  CHECK(options.apps[0].np == 3u);
  CHECK(options.apps[1].np == 5u);
  CHECK(options.apps[1].wdir == "/w");
}

TEST_CASE("flags can be set and undone in every source") {
  CHECK(parsed({"p"}, {{"SCELA_LABEL", "1"}}).label == true);
  CHECK(parsed({"p"}, {}, "label = yes").label == true);
  CHECK_FALSE(parsed({"p"}, {{"SCELA_LABEL", "no"}}, "label = yes").label == true);
  CHECK_FALSE(parsed({"--label=no", "p"}, {{"SCELA_LABEL", "1"}}).label == true);
  CHECK(parsed({"p"}, {{"SCELA_STATS", "1"}}).stats == StatsFormat::text);
  CHECK(parsed({"p"}, {{"SCELA_VERBOSE", "pmi"}}).verbose_subsystems == Words{"pmi"});
}

TEST_CASE("hosts and host file are one choice: a higher source replaces either") {
  CHECK_FALSE(parsed({"-w", "a", "p"}, {{"SCELA_HOSTFILE", "f"}}).hostfile);
  CHECK_FALSE(parsed({"-f", "f", "p"}, {{"SCELA_HOSTS", "a"}}).hosts);
  CHECK(parsed({"p"}, {{"SCELA_HOSTS", "a"}}, "hostfile = f").hosts == "a");
  CHECK_FALSE(parsed({"p"}, {{"SCELA_HOSTS", "a"}}, "hostfile = f").hostfile);
  CHECK(parsed({"p"}, {}, "hostfile = f").hostfile == "f");
  CHECK(refusal({"-w", "a", "-f", "f", "p"}).find("both name the job's hosts") !=
        std::string::npos);
  CHECK(refusal({"p"}, {}, "hosts = a\nhostfile = f").find("my.conf: ") == 0);
}

TEST_CASE("a configuration file has comments, blank lines and repeatable variables") {
  const Options options = parsed({"--genv", "B=3", "p"}, {},
                                 "# my defaults\n\n  label=yes   # always\r\n"
                                 "env = A=1\ngenv = B=2\noutput-dir = a#b\n");
  CHECK(options.label == true);
  CHECK(options.apps[0].env == std::vector<EnvVariable>{{"A", "1"}, {"B", "3"}});
  CHECK(options.output_dir == "a#b");
}

TEST_CASE("errors in a configuration file name file, line and text") {
  CHECK(refusal({"p"}, {}, "label = yes\nlabl = no\n") ==
        "my.conf:2: configuration 'labl = no': 'labl' is not an option "
        "(did you mean label? see scela-run --help)");
  CHECK(refusal({"p"}, {}, "np = many") ==
        "my.conf:1: option --np: 'many' is not a number "
        "(give a number from 1 to 16777216; see scela-run --help)");
  CHECK(refusal({"p"}, {}, "help = yes").find("is for the command line only") != std::string::npos);
  CHECK(refusal({"p"}, {}, "label").find("my.conf:1: option --label: its value is missing") == 0);
}

TEST_CASE("errors in a variable name the variable") {
  CHECK(refusal({"p"}, {{"SCELA_GRACE", "long"}}).find("SCELA_GRACE: option --grace: ") == 0);
}

TEST_CASE("variables that are no options are left alone") {
  CHECK(parsed({"p"}, {{"SCELA_UNKNOWN", "x"}, {"NP", "7"}}).apps.size() == 1);
}

TEST_CASE("a variable that is like one of an option is told of, one of a rank is not") {
  const auto warnings = [](std::string name, std::string value) {
    return parsed({"p"}, {{std::move(name), std::move(value)}}).warnings;
  };
  CHECK(warnings("SCELA_CASHE", "hcs") ==
        Words{"the variable SCELA_CASHE means nothing here (did you mean SCELA_CACHE?)"});
  CHECK(warnings("SCELA_MAXDEPTH", "2") ==
        Words{"the variable SCELA_MAXDEPTH means nothing here (did you mean SCELA_MAX_DEPTH?)"});
  for (const char* name :
       {"SCELA_RANK", "SCELA_SIZE", "SCELA_LOCAL_RANK", "SCELA_LOCAL_SIZE", "SCELA_NODE",
        "SCELA_NODE_INDEX", "SCELA_NODE_DIR", "SCELA_JOB_ID", "SCELA_SEGMENT", "SCELA_RING",
        "SCELA_HOME", "SCELA_NP", "SCELA_", "SCELA", "CASHE"}) {
    CHECK(warnings(name, "1").empty());
  }
  CHECK(warnings("SCELA_CASHE", "").empty());
}

TEST_CASE("a variable of ranks that is mistyped, or has a value that says nothing, is told of") {
  const auto warnings = [](Words words, std::string name, std::string value) {
    return parsed(std::move(words), {{std::move(name), std::move(value)}}).warnings;
  };
  CHECK(warnings({"p"}, "SCELA_RINGS", "0") ==
        Words{"the variable SCELA_RINGS means nothing here (did you mean SCELA_RING?)"});
  CHECK(warnings({"p"}, "SCELA_SEGMEN", "0") ==
        Words{"the variable SCELA_SEGMEN means nothing here (did you mean SCELA_SEGMENT?)"});
  const Words off{"the variable SCELA_RING means nothing to ranks as 'off' (0 is no)"};
  CHECK(warnings({"p"}, "SCELA_RING", "off") == off);
  CHECK(warnings({"--env", "SCELA_RING=off", "p"}, "HOME", "/h") == off);
  for (const char* value : {"", "0", "1"})
    CHECK(warnings({"p"}, "SCELA_SEGMENT", value).empty());
}

TEST_CASE("the configuration file is the one that is named, or the user's own") {
  using Environment = std::vector<std::pair<std::string, std::string>>;
  const Environment all{{"HOME", "/h"}, {"XDG_CONFIG_HOME", "/x"}, {"SCELA_CONFIG", "/e"}};
  const auto choice = [](Words words, Environment environment) {
    return config_choice({std::move(words), std::move(environment), "", std::nullopt});
  };
  CHECK(choice({"--config", "c", "p"}, all).path == "c");
  CHECK(choice({"--config=c", "p"}, all).must_exist);
  CHECK(choice({"p", "--config", "c"}, all).path == "/e");
  CHECK(choice({"p"}, all).must_exist);
  CHECK(choice({"p"}, {all[0], all[1]}).path == "/x/scela/scela-run.conf");
  CHECK_FALSE(choice({"p"}, {all[0], all[1]}).must_exist);
  CHECK(choice({"p"}, {all[0]}).path == "/h/.config/scela/scela-run.conf");
  CHECK(choice({"p"}, {}).path.empty());
  CHECK(choice({"--nonsense"}, {}).path.empty());
}

TEST_CASE("a terminal is one rank's, and shown as it is") {
  CHECK_FALSE(parsed({"./p"}).pty);
  CHECK(parsed({"--pty", "./p"}).pty);
  CHECK(parsed({"--pty", "--stdin", "2", "-l", "--timestamp", "./p"}).pty);
  for (const char* whom : {"all", "none"})
    CHECK(refusal({"--pty", "--stdin", whom, "./p"}).find("one rank's") != std::string::npos);
  CHECK(refusal({"--pty", "-b", "./p"}).find("--pty and --gather") != std::string::npos);
  CHECK(refusal({"--pty", "--output-dir", "d", "./p"}).find("--output-dir") != std::string::npos);
}

TEST_CASE("ranks in panes or under gdb read their own terminals and no other input") {
  CHECK(parsed({"--gdb", "all", "./p"}).gdb == RankChoice{true, {}});
  CHECK(parsed({"--gdb", "3,0-1", "./p"}).gdb->ranks.text() == "0-1,3");
  CHECK(parsed({"--tmux", "gdb", "./p"}).apps.front().argv ==
        std::vector<std::string>{"gdb", "./p"});
  CHECK(refusal({"--gdb", "", "./p"}).find("such as 0") != std::string::npos);
  CHECK(refusal({"--gdb", "x", "./p"}).find("0,3-5") != std::string::npos);
  for (const char* option : {"--tmux", "--gdb=1"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find('='));
    CHECK(refusal({option, "--stdin", "1", "./p"}).find(name + " and --stdin") !=
          std::string::npos);
    CHECK(refusal({option, "-b", "./p"}).find(name + " and --gather") != std::string::npos);
    CHECK(refusal({option, "--json", "./p"}).find("--json and " + name) != std::string::npos);
    CHECK(refusal({option, "--restart", "1", "./p"}).find(name) != std::string::npos);
    CHECK(refusal({option, "--pty", "./p"}).find("--pty and " + name) != std::string::npos);
  }
}

TEST_CASE("names, letters and variables of the option table are unique and well formed") {
  for (const OptionRow& row : option_table()) {
    INFO(row.name);
    CHECK(find_option(row.name) == &row);
    if (row.short_name != 0) CHECK(find_option(row.short_name) == &row);
    if (!row.variable.empty()) {
      std::string expected = "SCELA_";
      for (const char c : row.name) {
        expected += c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
      }
      CHECK(row.variable == expected);
    }
    CHECK(row.argument.empty() == (row.takes == OptionArgument::none));
    CHECK_FALSE(row.help.empty());
  }
  CHECK(find_option(char{0}) == nullptr);
}

TEST_CASE(
    "help lists every option once, in its group, examples and exit statuses, within the line") {
  const std::string help = help_text();
  std::size_t at = 0;
  for (const OptionGroup group : kOptionGroups) {
    const std::string title = "\n" + std::string(title_of(group)) + ":\n";
    at = help.find(title, at);
    REQUIRE(at != std::string::npos);
    for (const OptionRow& row : option_table()) {
      if (row.group != group) continue;
      INFO(row.name);
      const auto found = help.find("\n  " + option_heading(row), at);
      REQUIRE(found != std::string::npos);
      CHECK(help.find(row.help, found) != std::string::npos);
      CHECK(help.find("\n  " + option_heading(row) + " ", found + 1) == std::string::npos);
    }
  }
  at = help.find("\nExamples:\n  scela-run ", at);
  REQUIRE(at != std::string::npos);
  at = help.find("\nExit status:\n", at);
  REQUIRE(at != std::string::npos);
  for (const ExitRow& row : exit_table()) {
    INFO(row.code);
    at = help.find("\n  " + std::string(row.code) + " ", at);
    REQUIRE(at != std::string::npos);
    CHECK(help.find(row.meaning, at) != std::string::npos);
  }
  std::size_t line_start = 0;
  for (std::size_t end = help.find('\n'); end != std::string::npos;
       end = help.find('\n', line_start)) {
    CHECK(end - line_start <= 100);
    line_start = end + 1;
  }
}

}  // namespace options_test
