#include "launcher/plan/plan.h"

#include <catch2/catch.hpp>

#include "launcher/plan/begin_event.h"

namespace plan_test {

using namespace scela;

namespace {

LaunchContext context() {
  LaunchContext out;
  out.job_id = "j1";
  out.host_name = "here";
  out.directory = "/data";
  out.environment = {"HOME=/h", "X=1"};
  return out;
}

Options options(std::vector<std::string> words) {
  OptionSources sources;
  sources.words = std::move(words);
  auto parsed = parse_options(sources);
  REQUIRE(parsed);
  return *parsed;
}

Plan plan(std::vector<std::string> words) {
  auto made = make_plan(options(std::move(words)), context());
  if (!made) FAIL(made.error().text());
  return *made;
}

}  // namespace

TEST_CASE("without hosts all ranks run on this machine, however many") {
  const Plan made = plan({"-n", "8", "./p"});
  CHECK(made.hosts == std::vector<std::string>{"here"});
  CHECK(made.job.map.size() == 8);
  CHECK(made.job.map.process_mapping() == "(vector,(0,1,8))");
  CHECK(made.job.wdir == "/data");
}

TEST_CASE("simulated nodes have padded names and equal shares") {
  const Plan made = plan({"--sim-nodes", "12", "--ppn", "2", "./p"});
  CHECK(made.hosts.front() == "sim00");
  CHECK(made.hosts.back() == "sim11");
  CHECK(made.job.map.size() == 24);
  CHECK(made.nodes_on_this_machine == 12);
}

TEST_CASE("an allocation gives hosts and slots if the options name none") {
  LaunchContext in_job = context();
  in_job.allocation = Allocation{
      Scheduler::pbs, "1", {{"a", 2, std::nullopt}, {"here.cluster", 1, std::nullopt}}, "F=/f"};
  const auto made = make_plan(options({"./p"}), in_job);
  REQUIRE(made);
  CHECK(made->hosts == std::vector<std::string>{"a", "here"});  // this machine by its own name
  CHECK(made->job.map.process_mapping() == "(vector,(0,1,2),(1,1,1))");
  CHECK_FALSE(made->once_per_host);
  CHECK(made->remote);
  CHECK(make_plan(options({"-w", "b", "-n", "1", "./p"}), in_job)->hosts.front() == "b");
  const auto more = make_plan(options({"-n", "4", "./p"}), in_job);
  REQUIRE_FALSE(more);
  CHECK(more.error().kind == ErrorKind::usage);
}

TEST_CASE("a program that only scela-run can start agents by has a flat tree, unless told") {
  Options many = options({"-w", "n[1-40]", "--ppn", "1", "./p"});
  many.launch_from_here = true;
  CHECK(make_plan(many, context())->degree == 40);
  many.degree = 3;
  CHECK(make_plan(many, context())->degree == 3);
}

TEST_CASE("ranks inherit nothing that is true of scela-run's own task of a scheduler") {
  LaunchContext in_step = context();
  in_step.environment = {"SLURM_PROCID=3", "SLURM_JOB_ID=7", "SLURM_STEP_NODELIST=n1"};
  const auto inherited = [&](std::vector<std::string> words) {
    words.emplace_back("./p");
    return make_plan(options(std::move(words)), in_step)->job.env;
  };
  CHECK(inherited({}) == std::vector<std::string>{"SLURM_JOB_ID=7"});
  CHECK(inherited({"--env-pass", "SLURM_PROCID"}) == std::vector<std::string>{"SLURM_PROCID=3"});
}

TEST_CASE("nodes without a rank get no agent") {
  const Plan made = plan({"--sim-nodes", "8", "-n", "3", "./p"});
  CHECK(made.hosts.size() == 3);
  CHECK(made.job.map.process_mapping() == "(vector,(0,3,1))");
}

TEST_CASE("the universe has the slots of all hosts, or what the option says") {
  const auto universe = [](std::vector<std::string> words) {
    words.emplace_back("./p");
    return plan(std::move(words)).job.universe;
  };
  CHECK(universe({"-n", "1", "-w", "a:4,b:3,c"}) == 8);  // two of them have no rank
  CHECK(universe({"--sim-nodes", "3", "--ppn", "4", "-n", "1"}) == 12);
  CHECK(universe({"--sim-nodes", "3", "-n", "2"}) == 3);
  CHECK(universe({"-n", "1", "-w", "a:4,b:3,c", "--exclude", "b"}) == 5);
  CHECK(universe({"-n", "1", "-w", "a:4,b:3,c:2", "--spares", "1"}) == 7);
  CHECK(universe({"-n", "1", "-w", "a:4", "--usize", "9"}) == 9);
  CHECK(universe({"-n", "1", "-w", "a:4", "-usize", "INFINITE"}) == -1);
  CHECK(universe({"-n", "1", "-w", "a:4", "--usize", "system"}) == 4);
  // One rank on this machine has its processors, unless the command line says something of slots.
  LaunchContext here = context();
  here.processors = 6;
  const auto alone = [&](std::vector<std::string> words) {
    words.emplace_back("./p");
    return make_plan(options(std::move(words)), here)->job.universe;
  };
  CHECK(alone({"-n", "1"}) == 6);
  CHECK(alone({"-n", "1", "--usize", "system"}) == 1);
  CHECK(alone({"-n", "1", "--ppn", "3"}) == 3);
  CHECK(alone({"-n", "1", "--ppn", "1"}) == 1);
  CHECK(alone({"-n", "1", "-w", "a"}) == 1);
  CHECK(alone({"-n", "1", "--sim-nodes", "1"}) == 1);
  CHECK(alone({"-n", "2"}) == 1);  // ranks are told their own number at least
  // Hosts that are lost before the ranks start take their slots along.
  const Options wanted = options({"-n", "2", "-w", "a:1,b:3,c:5,d:7", "--min-nodes", "1", "./p"});
  Plan made = *make_plan(wanted, context());
  CHECK(made.job.universe == 16);
  REQUIRE(remap_ranks(made, wanted, RankSet::single(0)));
  CHECK(made.job.universe == 15);
}

TEST_CASE("hosts without a rank have an agent where the universe is spoken of") {
  const Plan made = plan({"-n", "1", "-w", "a:1,b:2,c:1", "--usize", "system", "./p"});
  CHECK(made.hosts == std::vector<std::string>{"a", "b", "c"});
  CHECK(made.job.map.size() == 1);
  CHECK(made.min_nodes == 3);
  CHECK(plan({"-n", "1", "-w", "a:1,b:2,c:1", "./p"}).hosts == std::vector<std::string>{"a"});
}

TEST_CASE("ranks find each other as they are told to") {
  CHECK(plan({"-n", "1", "./p"}).job.pmi == nla::PmiKind::fd);
  CHECK(plan({"--pmi", "port", "-n", "1", "./p"}).job.pmi == nla::PmiKind::port);
  CHECK(plan({"--pmi", "pmgr", "-n", "1", "./p"}).job.pmi == nla::PmiKind::pmgr);
  CHECK(plan({"--pmi", "pmgr-mvapich1", "-n", "1", "./p"}).job.pmi == nla::PmiKind::pmgr_mvapich1);
}

TEST_CASE("the environment passes whole, not at all, or by name") {
  CHECK(plan({"-n", "1", "./p"}).job.env == std::vector<std::string>{"HOME=/h", "X=1"});
  CHECK(plan({"--env-pass", "none", "-n", "1", "./p"}).job.env.empty());
  CHECK(plan({"--env-pass", "X", "-n", "1", "./p"}).job.env == std::vector<std::string>{"X=1"});
}

TEST_CASE("programs of an MPMD line get consecutive ranks and their own variables") {
  const Plan made = plan({"-n", "2", "--env", "A=1", "./a", ":", "-n", "3", "./b", "-n", "5"});
  REQUIRE(made.job.apps.size() == 2);
  CHECK(made.job.apps[0].ranks.text() == "0-1");
  CHECK(made.job.apps[1].ranks.text() == "2-4");
  CHECK(made.job.apps[0].env == std::vector<std::string>{"A=1"});
  CHECK(made.job.apps[1].argv == std::vector<std::string>{"./b", "-n", "5"});
  CHECK(made.program_of(4) == "./b");
}

TEST_CASE("a job is remote when one of its hosts is elsewhere, unless they are simulated") {
  CHECK(plan({"-w", "node[1-3]", "-n", "3", "./p"}).remote);
  CHECK(plan({"-w", "localhost,node1", "-n", "2", "./p"}).remote);
  CHECK(plan({"-w", "node[1-3]", "-n", "3", "./p"}).nodes_on_this_machine == 1);
  const Plan simulated = plan({"-w", "node[1-3]", "--launch", "local", "-n", "3", "./p"});
  CHECK_FALSE(simulated.remote);
  CHECK(simulated.hosts.size() == 3);
  CHECK(simulated.nodes_on_this_machine == 3);
  CHECK_FALSE(plan({"-w", "localhost", "-n", "2", "./p"}).remote);
  CHECK_FALSE(plan({"--sim-nodes", "2", "-n", "2", "./p"}).remote);
}

TEST_CASE("variables of this login do not reach ranks elsewhere") {
  LaunchContext there = context();
  there.environment = {"HOME=/home/me", "SSH_AUTH_SOCK=/x", "LANG=C", "PATH=/bin",
                       "FLUX_URI=local:///run/flux/local"};
  const auto remote = make_plan(options({"-w", "node1", "-n", "1", "./p"}), there);
  REQUIRE(remote);
  CHECK(remote->job.env == std::vector<std::string>{"LANG=C", "PATH=/bin"});
  const auto here = make_plan(options({"./p"}), there);
  REQUIRE(here);
  CHECK(here->job.env == there.environment);
  const auto named = make_plan(options({"-w", "node1", "--env-pass", "HOME", "./p"}), there);
  REQUIRE(named);
  CHECK(named->job.env == std::vector<std::string>{"HOME=/home/me"});
}

TEST_CASE("a flat tree has scela-run start every agent") {
  CHECK(plan({"--flat", "-w", "node[1-300]", "./p"}).degree == 300);
}

TEST_CASE("spare hosts have no ranks until they replace a dead one") {
  Plan made = plan({"-w", "node[1-5]", "--spares", "2", "--ppn", "2", "./p"});
  CHECK(made.hosts.size() == 5);
  CHECK(made.spares == 2);
  CHECK(made.min_nodes == 3);
  CHECK(made.job.map.size() == 6);
  CHECK(made.job.map.ranks_of(3, 5).empty());
  CHECK(unused_spares(made, {}) == RankSet::run(3, 2));

  const auto failed = RankSet::single(1);
  CHECK(unused_spares(made, failed) == RankSet::single(4));
  RankSet without = failed;
  without.add(unused_spares(made, failed));
  const Options words = options({"-w", "node[1-5]", "--spares", "2", "--ppn", "2", "./p"});
  REQUIRE(remap_ranks(made, words, without));
  CHECK(made.job.map.size() == 6);
  CHECK(made.job.map.ranks_of(1).empty());
  CHECK(made.job.map.ranks_of(3) == RankSet::run(4, 2));
  CHECK(made.job.map.ranks_of(4).empty());
}

TEST_CASE("hosts that are missing from the start use up spares") {
  LaunchContext there = context();
  there.missing = {{"node6", "resolve", "no such name"}};
  const auto words = options({"-w", "node[1-5]", "--spares", "2", "--ppn", "1", "./p"});
  const auto made = make_plan(words, there);
  REQUIRE(made);
  CHECK(made->spares == 1);
  CHECK(made->min_nodes == 4);
  there.missing.push_back({"node7", "resolve", "no such name"});
  there.missing.push_back({"node8", "resolve", "no such name"});
  const auto few = make_plan(words, there);
  REQUIRE_FALSE(few);
  CHECK(few.error().kind == ErrorKind::unreachable);
}

TEST_CASE("more spares than hosts, or spares for a command on every host, are refused") {
  for (const auto& words :
       {std::vector<std::string>{"-w", "a,b", "--spares", "2", "-n", "1", "./p"},
        std::vector<std::string>{"-w", "a,b,c", "--spares", "1", "./p"}}) {
    const auto made = make_plan(options(words), context());
    REQUIRE_FALSE(made);
    CHECK(made.error().what.find("--spares") != std::string::npos);
  }
}

TEST_CASE("pairs are spread over agents only where the job ends with the first that is lost") {
  for (const auto& words :
       {std::vector<std::string>{"-n", "2", "--cache", "dht", "--on-failure", "wait", "./p"},
        std::vector<std::string>{"-w", "a,b", "--cache", "dht", "./p"}}) {
    const auto made = make_plan(options(words), context());
    REQUIRE_FALSE(made);
    CHECK(made.error().kind == ErrorKind::usage);
    CHECK(made.error().text().find("--cache dht") != std::string::npos);
    CHECK(made.error().text().find("use --cache hcmab, or --on-failure kill") != std::string::npos);
  }
  // A default gives way where it cannot be, but only for commands that run once on each host.
  const auto with_default = [](std::vector<std::string> words, std::string where) {
    OptionSources sources;
    sources.words = std::move(words);
    if (where == "SCELA_CACHE") sources.environment = {{where, "dht"}};
    if (where == "conf") sources.config_text = "\n cache = dht\n";
    sources.config_name = "conf";
    return make_plan(*parse_options(sources), context());
  };
  for (const char* where : {"SCELA_CACHE", "conf"}) {
    CHECK(with_default({"-w", "a,b", "./p"}, where)->job.cache_policy == cache::PolicyKind::hcmab);
    CHECK(with_default({"-n", "2", "./p"}, where)->job.cache_policy == cache::PolicyKind::dht);
    CHECK_FALSE(with_default({"-w", "a,b", "--cache", "dht", "./p"}, where));
  }
  CHECK(with_default({"-w", "a", "--cache-limit", "9", "./p"}, "conf")->job.cache_policy ==
        cache::PolicyKind::hcmab_lru);
  const auto refused = with_default({"-n", "2", "--on-failure", "wait", "./p"}, "conf");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().where == "conf:2");
  CHECK(plan({"-n", "2", "--cache", "dht", "./p"}).job.cache_policy == cache::PolicyKind::dht);
  CHECK(plan({"-w", "a,b", "--cache", "dht", "--on-failure", "kill", "./p"}).job.cache_policy ==
        cache::PolicyKind::dht);
}

TEST_CASE("a later program may name hosts of its own") {
  const Plan made =
      plan({"--launch", "local", "-w", "a,b", "-n", "2", "./p", ":", "-w", "c", "-n", "1", "./q"});
  CHECK(made.hosts == std::vector<std::string>{"a", "b", "c"});
  CHECK(made.job.map.node_of(2) == 2u);
}

TEST_CASE("the degree follows the thesis' rule and the option overrules it") {
  CHECK(plan({"--sim-nodes", "64", "--ppn", "1", "./p"}).degree == 4);
  CHECK(plan({"--sim-nodes", "64", "--ppn", "1", "--degree", "2", "./p"}).degree == 2);
  CHECK(plan({"--sim-nodes", "64", "--ppn", "1", "--max-depth", "1", "./p"}).degree == 64);
  CHECK(plan({"--sim-nodes", "64", "--ppn", "1", "--max-depth", "2", "./p"}).degree == 8);
  CHECK(plan({"-n", "500", "./p"}).degree == 1);
  CHECK(plan({"--sim-nodes", "9", "--ppn", "200", "./p"}).degree == 9);
  const auto too_many =
      make_plan(options({"--sim-nodes", "128", "--ppn", "200", "./p"}), context());
  REQUIRE_FALSE(too_many);
  CHECK(too_many.error().hint.find("--max-conn") != std::string::npos);
}

TEST_CASE("few real hosts are started by scela-run itself, many by a tree") {
  const auto degree = [](const std::string& hosts, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"-w", hosts, "--ppn", "1", "./p"};
    words.insert(words.begin(), more.begin(), more.end());
    return plan(words).degree;
  };
  CHECK(degree("n[1-3]") == 3);
  CHECK(degree("n[1-40]") == 40);
  CHECK(degree("n[1-64]") == 64);
  CHECK(degree("n[1-200]") == 14);
  CHECK(degree("n[1-3]", {"--max-depth", "3"}) == 1);
  CHECK(degree("n[1-200]", {"--flat"}) == 200);
  // More hosts than one agent can hold get a level more, not a few hosts below the others.
  CHECK(degree("n[1-126]") == 126);
  CHECK(degree("n[1-127]") == 11);
  CHECK(degree("n[1-40]", {"--max-conn", "18"}) == 6);
}

TEST_CASE("standard input can only go to a rank of the job") {
  CHECK(plan({"-n", "4", "--stdin", "3", "./p"}).job.stdin_ranks.text() == "3");
  CHECK(plan({"-n", "4", "--stdin", "all", "./p"}).job.stdin_ranks.text() == "0-3");
  CHECK(plan({"-n", "4", "--stdin", "none", "./p"}).job.stdin_ranks.empty());
  CHECK_FALSE(make_plan(options({"-n", "4", "--stdin", "4", "./p"}), context()));
}

TEST_CASE("the rank that reads standard input has the terminal") {
  CHECK(plan({"-n", "4", "./p"}).job.terminal_ranks.empty());
  CHECK(plan({"--pty", "-n", "4", "./p"}).job.terminal_ranks == RankSet::single(0));
  const Plan third = plan({"--pty", "--stdin", "2", "-n", "4", "./p"});
  CHECK(third.job.terminal_ranks == RankSet::single(2));
  CHECK(third.job.stdin_ranks == RankSet::single(2));
}

TEST_CASE("one rank under gdb has the terminal of scela-run, several have panes") {
  const Plan one = plan({"--gdb", "2", "-n", "4", "./p"});
  CHECK((one.pty && !one.panes));
  CHECK(one.job.terminal_ranks == RankSet::single(2));
  CHECK(one.job.stdin_ranks == RankSet::single(2));
  CHECK(one.job.debugged_ranks == RankSet::single(2));
  CHECK_FALSE(one.job.input_by_rank);
  const Plan two = plan({"--gdb", "1,3", "-n", "4", "./p"});
  CHECK((two.panes && !two.pty));
  CHECK(two.job.terminal_ranks.text() == "1,3");
  CHECK(two.job.stdin_ranks.text() == "1,3");
  CHECK(two.job.debugged_ranks.text() == "1,3");
  CHECK(two.job.debugger == std::vector<std::string>{"gdb", "-q", "--args"});
  CHECK(two.job.input_by_rank);
  CHECK(two.job.env.back() == "TERM=screen");
  CHECK(plan({"--gdb", "all", "-n", "4", "./p"}).job.debugged_ranks.text() == "0-3");
}

TEST_CASE("ranks are stopped for a debugger as its options say, in PMIx_Init only by PMIx") {
  const Plan all = plan({"--stop-on-exec", "-n", "4", "./p"});
  CHECK(all.job.stops.on_exec.text() == "0-3");
  CHECK(all.job.stops.in_init.empty());
  const Plan some = plan({"--pmi", "pmix", "--stop-in-init=1,3", "-n", "4", "./p"});
  CHECK(some.job.stops.in_init.text() == "1,3");
  CHECK(some.job.stops.on_exec.empty());
  const auto refusal = [](std::vector<std::string> words) {
    const auto made = make_plan(options(std::move(words)), context());
    return made ? "" : made.error().text();
  };
  CHECK(refusal({"--stop-on-exec=2-4", "-n", "4", "./p"}).find("there is no rank 4") !=
        std::string::npos);
  CHECK(refusal({"--pmi", "fd", "--stop-in-init", "./p"}).find("give --pmi pmix") !=
        std::string::npos);
}

TEST_CASE("with --tmux every rank has a pane, or those under gdb, even if it is one") {
  const Plan all = plan({"--tmux", "-n", "4", "./p"});
  CHECK((all.panes && !all.pty));
  CHECK(all.job.terminal_ranks.text() == "0-3");
  CHECK(all.job.debugged_ranks.empty());
  const Plan one = plan({"--tmux", "--gdb", "3", "-n", "4", "./p"});
  CHECK((one.panes && one.job.terminal_ranks == RankSet::single(3)));
}

TEST_CASE("terminals have a bounded number, and ranks of the job") {
  const auto refusal = [](std::vector<std::string> words) {
    const auto made = make_plan(options(std::move(words)), context());
    return made ? "" : made.error().text();
  };
  CHECK(refusal({"--gdb", "3-4", "-n", "4", "./p"}).find("there is no rank 4") !=
        std::string::npos);
  CHECK(plan({"--tmux", "-n", "64", "./p"}).panes);
  CHECK(refusal({"--tmux", "-n", "65", "./p"}).find("65 ranks would have one, at most 64 may") !=
        std::string::npos);
  CHECK(refusal({"--gdb", "all", "--map-by", "core", "-w", "a,b", "./p"}).find("is not known") !=
        std::string::npos);
}

TEST_CASE("a command on one host may have a terminal, on several only where one is named") {
  const Plan one = plan({"--pty", "-w", "node1", "./p"});
  CHECK(one.once_per_host);
  CHECK(one.job.terminal_ranks == RankSet::single(0));
  CHECK(one.job.stdin_ranks == RankSet::single(0));
  const auto several = make_plan(options({"--pty", "-w", "node[1-3]", "./p"}), context());
  REQUIRE_FALSE(several);
  CHECK(several.error().kind == ErrorKind::usage);
  CHECK(plan({"--pty", "--stdin", "1", "-w", "node[1-3]", "./p"}).job.terminal_ranks ==
        RankSet::single(1));
}

TEST_CASE("a terminal begins like the launcher's, or small and silent where it has none") {
  LaunchContext here = context();
  here.environment.push_back("TERM=vt100");
  const Options wanted = options({"--pty", "-w", "node1", "./p"});
  const Plan without = *make_plan(wanted, here);
  CHECK(without.job.window == WindowSize{24, 80, 0, 0});
  CHECK_FALSE(without.job.modes.echo);
  CHECK(without.job.env == std::vector<std::string>{"TERM=vt100"});
  here.terminal_input = true;
  here.window = {50, 132, 0, 0};
  here.modes = {true, true, "\x03"};
  const Plan with = *make_plan(wanted, here);
  CHECK(with.job.window == *here.window);
  CHECK(with.job.modes == *here.modes);
  CHECK(with.job.stdin_ranks == RankSet::single(0));
  // It is passed on once, and the ranks of other jobs get nothing more than before.
  CHECK(make_plan(options({"--pty", "-n", "1", "./p"}), here)->job.env == here.environment);
  CHECK(make_plan(options({"-w", "node1", "./p"}), here)->job.env.empty());
}

TEST_CASE("a command without a number of ranks runs once on each of the hosts named") {
  const Plan made = plan({"-w", "node[3,1-2]", "uptime"});
  CHECK(made.once_per_host);
  CHECK(made.hosts == std::vector<std::string>{"node3", "node1", "node2"});
  CHECK(made.job.map.process_mapping() == "(vector,(0,3,1))");
  CHECK(made.job.once_per_host);
  CHECK(made.job.on_failure == nla::OnFailure::wait);
  CHECK(made.job.env.empty());
  CHECK(made.job.stdin_ranks.text() == "0-2");
  CHECK(made.min_nodes == 0);
}

TEST_CASE("options about ranks, slots or programs make a job of ranks") {
  for (const auto& words :
       std::vector<std::vector<std::string>>{{"./p"},
                                             {"--sim-nodes", "3", "./p"},
                                             {"-w", "a,b", "-n", "2", "./p"},
                                             {"-w", "a,b", "--ppn", "1", "./p"},
                                             {"-w", "a,b:1", "./p"},
                                             {"-w", "a,b", "./p", ":", "./q"}}) {
    const Plan made = plan(words);
    CHECK_FALSE(made.once_per_host);
    CHECK(made.job.on_failure == nla::OnFailure::kill);
    CHECK(made.job.stdin_ranks.text() == "0");
    CHECK(made.min_nodes == made.hosts.size());
  }
}

TEST_CASE("a terminal is no input where a command runs once on each host") {
  LaunchContext there = context();
  there.terminal_input = true;
  CHECK(make_plan(options({"-w", "a,b", "p"}), there)->job.stdin_ranks.empty());
  CHECK(make_plan(options({"-w", "a,b", "--stdin", "all", "p"}), there)->job.stdin_ranks.text() ==
        "0-1");
  CHECK(make_plan(options({"-w", "a,b", "-n", "2", "p"}), there)->job.stdin_ranks.text() == "0");
}

TEST_CASE("options of the user win over the defaults of a command on each host") {
  const Plan made =
      plan({"-w", "a,b", "--on-failure", "kill", "--env-pass", "X", "--host-timeout", "90", "p"});
  CHECK(made.job.on_failure == nla::OnFailure::kill);
  CHECK(made.job.env == std::vector<std::string>{"X=1"});
  CHECK(made.job.host_timeout_ms == 90000);
}

TEST_CASE("simulated hosts keep the launcher's environment") {
  CHECK(plan({"-w", "a,b", "--launch", "local", "p"}).job.env.size() == 2);
}

TEST_CASE("hosts that cannot be reached are left out of the plan and remembered") {
  LaunchContext there = context();
  there.missing = {{"b", "resolve", "unknown"}};
  const auto made = make_plan(options({"-w", "a,b,c", "p"}), there);
  REQUIRE(made);
  CHECK(made->hosts == std::vector<std::string>{"a", "c"});
  CHECK(made->missing == there.missing);
  // Another host takes its place where there are more than ranks.
  const auto ranks =
      make_plan(options({"-w", "a:1,b:1,c:1", "-n", "2", "--min-nodes", "2", "p"}), there);
  REQUIRE(ranks);
  CHECK(ranks->hosts == std::vector<std::string>{"a", "c"});
}

TEST_CASE("fewer hosts than --min-nodes asks for are the user's mistake or the hosts'") {
  const auto mistake =
      make_plan(options({"-w", "a,b", "--min-nodes", "3", "-n", "2", "p"}), context());
  REQUIRE_FALSE(mistake);
  CHECK(mistake.error().kind == ErrorKind::usage);
  LaunchContext there = context();
  there.missing = {{"b", "resolve", "unknown"}};
  const auto gone = make_plan(options({"-w", "a,b", "--min-nodes", "2", "-n", "2", "p"}), there);
  REQUIRE_FALSE(gone);
  CHECK(gone.error().kind == ErrorKind::unreachable);
  CHECK(gone.error().where == "b");
}

TEST_CASE("ranks are mapped again onto the nodes that have an agent") {
  const Options wanted = options({"-w", "a,b,c,d", "-n", "6", "--min-nodes", "2", "p"});
  auto made = make_plan(wanted, context());
  REQUIRE(made);
  CHECK(made->min_nodes == 2);
  REQUIRE(remap_ranks(*made, wanted, RankSet::single(1)));
  CHECK(made->job.map.size() == 6);
  CHECK(made->job.map.ranks_of(0).text() == "0-1");
  CHECK(made->job.map.ranks_of(1).empty());
  CHECK(made->job.map.ranks_of(2).text() == "2-3");
  CHECK(made->job.map.ranks_of(3).text() == "4-5");
  CHECK(made->job.apps[0].ranks.text() == "0-5");
}

TEST_CASE("without a number of ranks there are fewer when nodes are missing") {
  const Options wanted = options({"-w", "a:2,b:2,c:2", "--min-nodes", "1", "--stdin", "all", "p"});
  auto made = make_plan(wanted, context());
  REQUIRE(made);
  REQUIRE(remap_ranks(*made, wanted, RankSet::run(0, 2)));
  CHECK(made->job.map.size() == 2);
  CHECK(made->job.stdin_ranks.text() == "0-1");
  CHECK(made->job.map.node_of(0) == 2u);
}

TEST_CASE("nodes that are left but do not hold the ranks are an error about the others") {
  const Options wanted = options({"-w", "a:2,b:2", "-n", "4", "--min-nodes", "1", "p"});
  auto made = make_plan(wanted, context());
  REQUIRE(made);
  const auto mapped = remap_ranks(*made, wanted, RankSet::single(0));
  REQUIRE_FALSE(mapped);
  CHECK(mapped.error().kind == ErrorKind::unreachable);
  CHECK(mapped.error().why.find("2 slots") != std::string::npos);
}

TEST_CASE("a program cannot be placed if all of its own hosts are missing") {
  const Options wanted =
      options({"-w", "a,b", "-n", "1", "--min-nodes", "1", "p", ":", "-w", "b", "-n", "1", "q"});
  auto made = make_plan(wanted, context());
  REQUIRE(made);
  CHECK_FALSE(remap_ranks(*made, wanted, RankSet::single(1)));
  REQUIRE(remap_ranks(*made, wanted, RankSet::single(0)));
  CHECK(made->job.map.node_of(0) == 1u);
}

TEST_CASE("a rankfile's hosts are the job's, and its cores go to the ranks' agents") {
  Options from = options({"--rankfile", "ranks", "./p"});
  from.rank_places = {{"b", CoreChoice{1, RankSet::single(2)}}, {"a", {}}};
  const auto made = make_plan(from, context());
  REQUIRE(made);
  CHECK(made->hosts == std::vector<std::string>{"b", "a"});
  CHECK(made->job.map.size() == 2);
  REQUIRE(made->job.chosen_cores.size() == 1);
  CHECK(made->job.chosen_cores[0].first == 0);
  // Its rows of ranks that the job does not have do not apply to ranks that are spawned later.
  Options fewer = options({"--rankfile", "ranks", "-n", "1", "./p"});
  fewer.rank_places = {{"b", CoreChoice{0, RankSet::single(2)}},
                       {"b", CoreChoice{0, RankSet::single(1)}}};
  const auto one = make_plan(fewer, context());
  REQUIRE(one);
  CHECK(one->job.chosen_cores.size() == 1);
}

TEST_CASE("only a command for each host that needs no other host starts before all are reached") {
  const auto early = [](std::vector<std::string> words) {
    const Options wanted = options(words);
    return launches_early(wanted, plan(std::move(words)));
  };
  CHECK(early({"-w", "a,b,c", "hostname"}));
  CHECK(early({"-w", "a,b,c", "-b", "--host-timeout", "5", "hostname"}));
  CHECK_FALSE(early({"-w", "a,b,c", "--ppn", "1", "hostname"}));
  CHECK_FALSE(early({"-w", "a,b,c", "--min-nodes", "2", "hostname"}));
  CHECK_FALSE(early({"-w", "a,b,c", "--on-failure", "kill", "hostname"}));
  CHECK_FALSE(early({"-w", "a,b,c", "--degree", "2", "hostname"}));
  CHECK_FALSE(early({"-w", "a,b,c", "--show-map", "hostname"}));
  CHECK_FALSE(early({"-w", "a", "--pty", "hostname"}));
  CHECK_FALSE(early({"-w", "a,b,c", "--env-style", "torch", "hostname"}));
  CHECK(early({"-w", "a,b,c", "--cache", "hcmab-lru", "hostname"}));
  CHECK(early({"-w", "a,b,c", "--cache", "hcma", "hostname"}));
  CHECK_FALSE(early({"-w", "a,b,c", "--cache", "hcs", "hostname"}));
}

}  // namespace plan_test
