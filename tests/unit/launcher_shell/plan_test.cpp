#include "launcher/plan.h"

#include <catch2/catch.hpp>

using namespace scela;

namespace {

Surroundings around() {
  Surroundings out;
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
  auto made = make_plan(options(std::move(words)), around());
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
  CHECK(made.node_shares == 12);
}

TEST_CASE("nodes without a rank get no agent") {
  const Plan made = plan({"--sim-nodes", "8", "-n", "3", "./p"});
  CHECK(made.hosts.size() == 3);
  CHECK(made.job.map.process_mapping() == "(vector,(0,3,1))");
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
  CHECK(plan({"-w", "node[1-3]", "-n", "3", "./p"}).node_shares == 1);
  const Plan simulated = plan({"-w", "node[1-3]", "--launch", "local", "-n", "3", "./p"});
  CHECK_FALSE(simulated.remote);
  CHECK(simulated.hosts.size() == 3);
  CHECK(simulated.node_shares == 3);
  CHECK_FALSE(plan({"-w", "localhost", "-n", "2", "./p"}).remote);
  CHECK_FALSE(plan({"--sim-nodes", "2", "-n", "2", "./p"}).remote);
}

TEST_CASE("what belongs to this login does not reach ranks elsewhere") {
  Surroundings there = around();
  there.environment = {"HOME=/home/me", "SSH_AUTH_SOCK=/x", "LANG=C", "PATH=/bin"};
  const auto remote = make_plan(options({"-w", "node1", "./p"}), there);
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
  CHECK(plan({"-n", "500", "./p"}).degree == 1);
  CHECK(plan({"--sim-nodes", "9", "--ppn", "200", "./p"}).degree == 9);
  const auto too_many = make_plan(options({"--sim-nodes", "128", "--ppn", "200", "./p"}), around());
  REQUIRE_FALSE(too_many);
  CHECK(too_many.error().hint.find("--max-conn") != std::string::npos);
}

TEST_CASE("standard input can only go to a rank of the job") {
  CHECK(plan({"-n", "4", "--stdin", "3", "./p"}).job.stdin_ranks.text() == "3");
  CHECK(plan({"-n", "4", "--stdin", "all", "./p"}).job.stdin_ranks.text() == "0-3");
  CHECK(plan({"-n", "4", "--stdin", "none", "./p"}).job.stdin_ranks.empty());
  CHECK_FALSE(make_plan(options({"-n", "4", "--stdin", "4", "./p"}), around()));
}
