#include "launcher/spawn/spawn_plan.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/unit/launcher/plan/planned.h"

namespace spawn_plan_test {

using namespace scela;
using scela::testing::plan;

namespace {

nla::SpawnRequest request(std::vector<nla::SpawnProgram> programs) {
  return {std::move(programs), {{"k", "v"}}};
}

nla::World spawned(const Plan& made, std::vector<nla::SpawnProgram> programs,
                   const RankSet& failed = {}) {
  auto planned = plan_spawn(made, failed, 0, request(std::move(programs)));
  if (!planned) FAIL(planned.error().text());
  CHECK(planned->later.empty());
  nla::Job job = made.job;
  CHECK(job.add(planned->world));
  return planned->world;
}

std::string refusal(const Plan& made, std::vector<nla::SpawnProgram> programs,
                    const RankSet& failed = {}) {
  auto world = plan_spawn(made, failed, 0, request(std::move(programs)));
  return world ? std::string() : world.error().text();
}

std::string mapping(const nla::World& world) {
  return world.map.process_mapping();
}

}  // namespace

TEST_CASE("free slots come first, then the least loaded node") {
  const Plan made = plan({"-w", "a:4,b:2", "-n", "5", "./p"});  // one slot of b is left
  CHECK(mapping(spawned(made, {{{"q"}, 1, {}}})) == "(vector,(1,1,1))");
  CHECK(mapping(spawned(made, {{{"q"}, 4, {}}})) == "(vector,(0,2,2))");
  CHECK(mapping(spawned(made, {{{"q"}, 1, {}}, {{"r"}, 6, {}}})) ==
        "(vector,(1,1,1),(0,1,4),(1,1,2))");
  const Plan open = plan({"--sim-nodes", "3", "-n", "4", "./p"});  // node 0 has two
  CHECK(mapping(spawned(open, {{{"q"}, 2, {}}})) == "(vector,(1,2,1))");
  CHECK(mapping(spawned(open, {{{"q"}, 6, {}}})) == "(vector,(0,3,2))");
  // Ranks that were spawned before count.
  Plan grown = open;
  REQUIRE(grown.job.add(spawned(open, {{{"q"}, 2, {}}})));
  CHECK(mapping(spawned(grown, {{{"q"}, 1, {}}})) == "(vector,(0,1,1))");
  CHECK(spawned(grown, {{{"q"}, 1, {}}}).first == 6);
  CHECK(mapping(spawned(open, {{{"q"}, 3, {}}}, RankSet::single(1))) == "(vector,(0,1,1),(2,1,2))");
}

TEST_CASE("ranks are spawned on hosts without a rank where those have an agent, and on no spare") {
  const Plan made =
      plan({"-w", "a:1,b:2,c:1,d:1", "-n", "1", "--usize", "system", "--spares", "1", "./p"});
  CHECK(mapping(spawned(made, {{{"q"}, 3, {}}})) == "(vector,(1,1,2),(2,1,1))");
  CHECK(mapping(spawned(made, {{{"q"}, 3, {}}}, RankSet::single(1))) == "(vector,(0,1,1),(2,1,2))");
}

TEST_CASE("hosts without an agent take part, and are told of") {
  const auto needed = [](const Plan& made, std::uint32_t ranks, const char* hosts = "") {
    const auto planned =
        plan_spawn(made, {}, 0, request({{{"q"}, ranks, {{"host", hosts}}}, {{"r"}, 1, {}}}));
    if (!planned) return planned.error().text();
    std::string names;
    for (const std::size_t at : planned->later)
      names += made.later.at(at).node.name + ' ';
    return names;
  };
  Plan made = plan({"--launch", "local", "-w", "a:2,b:2,c:2", "-n", "1", "./p"});
  CHECK(made.hosts == std::vector<std::string>{"a"});
  CHECK(made.later.size() == 2);
  CHECK(made.nodes_on_this_machine == 3);
  CHECK(spawned(made, {{{"q"}, 1, {}}}).map.process_mapping() == "(vector,(0,1,1))");
  CHECK(needed(made, 1) == "b ");
  CHECK(needed(made, 2) == "b ");
  CHECK(needed(made, 3) == "b c ");
  CHECK(needed(made, 9) == "b c ");
  CHECK(needed(made, 1, "c") == "c ");
  CHECK(needed(made, 1, "d") == "host 'd' is not among the job's hosts (--hosts, --hostfile)");
  // One that could not be reached is asked again by its name only.
  made.later[0].why = "b: connect: refused";
  CHECK(needed(made, 9) == "c ");
  CHECK(needed(made, 1, "b") == "b ");
  CHECK(add_later(made, {1}) == Slice{1, 2});
  CHECK(made.hosts == std::vector<std::string>{"a", "c"});
  CHECK(made.later.size() == 1);
  CHECK(mapping(spawned(made, {{{"q"}, 2, {}}})) == "(vector,(0,2,1))");
  // Without stated slots, as the universe counts them: one for each host.
  CHECK(needed(plan({"--sim-nodes", "3", "-n", "1", "./p"}), 1) == "sim1 sim2 ");
  CHECK(plan({"--sim-nodes", "3", "--pmi", "none", "-n", "1", "./p"}).later.empty());
  CHECK(plan({"--sim-nodes", "3", "--usize", "system", "-n", "1", "./p"}).later.empty());
}

TEST_CASE("ranks that use PMIx are told of hosts that have come since, once") {
  Plan made = plan({"-w", "a:1,b:2,c:1", "-n", "1", "--pmi", "pmix", "./p"});
  CHECK(made.job.hosts == std::vector<std::string>{"a"});
  add_later(made, {0});
  const nla::World first = spawned(made, {{{"q"}, 1, {{"host", "b"}}}});
  CHECK(first.first_host == 1);
  CHECK(first.hosts == std::vector<std::string>{"b"});
  REQUIRE(made.job.add(first));
  const nla::World second = spawned(made, {{{"q"}, 1, {}}});
  CHECK(second.first_host == 2);
  CHECK(second.hosts.empty());
}

TEST_CASE("a hint may name hosts in an order of its own, with numbers of ranks") {
  const Plan made = plan({"--launch", "local", "-w", "a:2,b:4,c:4", "-n", "10", "./p"});
  const auto placed = [&](std::uint32_t ranks, const char* hosts) {
    return mapping(spawned(made, {{{"q"}, ranks, {{"host", hosts}}}}));
  };
  CHECK(placed(3, "c,a") == "(vector,(2,1,2),(0,1,1))");
  CHECK(placed(4, "c:1,a:3") == "(vector,(2,1,1),(0,1,3))");
  CHECK(placed(2, "c:1,a:3") == "(vector,(2,1,1),(0,1,1))");
  CHECK(placed(6, "c:1,a:3") == "(vector,(2,1,3),(0,1,3))");  // the least loaded get the rest
}

TEST_CASE("spawned programs have the variables of the asker's and their own, which win") {
  const Plan made = plan({"-n", "1", "--env", "A=1", "--env", "B=2", "./p"});
  const std::vector<std::string> own = made.job.apps.front().env;
  const auto has = [](const nla::World& world, const std::string& variable) {
    const auto& env = world.apps.front().env;
    return std::count(env.begin(), env.end(), variable);
  };
  const nla::World world = spawned(made, {{{"q"}, 1, {}, {"B=3", "C=", "C=4"}}});
  CHECK(world.apps.front().env.size() == own.size() + 1);
  CHECK(has(world, "A=1") == 1);
  CHECK(has(world, "B=3") == 1);
  CHECK(has(world, "C=4") == 1);
}

TEST_CASE("each spawn of ranks that speak PMIx counts for what libpmix keeps of it") {
  Plan made = plan({"--pmi", "pmix", "-n", "1", "./p"});
  std::size_t worlds = 0;
  while (refusal(made, {{{"q"}, 1, {}}}).empty()) {
    auto world = plan_spawn(made, {}, 0, {{{{"q"}, 1, {}}}, {}});
    REQUIRE(world);
    REQUIRE(made.job.add(std::move(world->world)));
    ++worlds;
  }
  CHECK(worlds > 1000);
  CHECK(worlds * (kNamespaceCost + kRankCost + kProgramCost) <= kMaxSpawnCost);
}

TEST_CASE("a spawn is told with programs and hosts") {
  const Plan made = plan({"--launch", "local", "-w", "n1:2,n2:2,n3:2", "-n", "5", "./p"});
  const nla::World world = spawned(made, {{{"q", "x"}, 2, {}}, {{"r"}, 1, {{"host", "n3"}}}});
  CHECK(spawn_text(made, 0, world) ==
        "rank 0 (./p) spawns 3 ranks from 5 on: 2 of q on n[1,3], 1 of r on n3");
}

TEST_CASE("hints say where and what, unknown ones are ignored") {
  const Plan made = plan({"--launch", "local", "-w", "a,b,c", "-n", "3", "--env", "X=1", "./p"});
  const nla::World world = spawned(
      made, {{{"q", "x"}, 2, {{"host", "c"}, {"wdir", "sub"}, {"path", "/opt/bin"}, {"soft", "1"}}},
             {{"r"}, 2, {{"hosts", "b,c"}, {"wdir", "/w"}}}});
  CHECK(mapping(world) == "(vector,(2,1,2),(1,1,2))");
  REQUIRE(world.apps.size() == 2);
  CHECK(world.apps[0].argv == std::vector<std::string>{"q", "x"});
  CHECK(world.apps[0].wdir == "/data/sub");
  CHECK(world.apps[0].path == "/opt/bin");
  CHECK(world.apps[0].env == std::vector<std::string>{"X=1"});
  CHECK(world.apps[0].ranks == RankSet::run(3, 2));
  CHECK(world.apps[1].wdir == "/w");
  CHECK(world.apps[1].ranks == RankSet::run(5, 2));
  CHECK(world.preput == nla::KeyValues{{"k", "v"}});
}

TEST_CASE("spares get no ranks that are spawned") {
  const Plan made = plan({"--launch", "local", "-w", "a,b,c", "--spares", "1", "-n", "2", "./p"});
  CHECK(mapping(spawned(made, {{{"q"}, 3, {}}})) == "(vector,(0,1,2),(1,1,1))");
}

TEST_CASE("a spawn that cannot be says why") {
  const Plan made = plan({"--sim-nodes", "2", "-n", "2", "./p"});
  CHECK(refusal(made, {{{"q"}, 1, {{"host", "sim7"}}}}) ==
        "host 'sim7' is not among the job's hosts (--hosts, --hostfile)");
  CHECK(refusal(made, {{{"q"}, 1, {}}}, RankSet::run(0, 2)) ==
        "no host is left on which ranks could run");
  CHECK(refusal(made, {}) == "no program was named");
  const std::string much =
      "the ranks of this job have spawned so much that its agents would need 256 MiB for it";
  CHECK(refusal(made, {{{"q"}, 1u << 24, {}}}) == much);
  CHECK(refusal(made, {{{"q"}, 80'000, {}}}).empty());
  CHECK(refusal(made, {{{"q", std::string(7'000'000, 'x')}, 80'000, {}}}).empty());
  CHECK(refusal(made, {{{"q", std::string(30'000'000, 'x')}, 80'000, {}}}) == much);
  CHECK(refusal(made, {{{"q"}, 1, {{"host", "n[0-999998]"}}}}).find("limit of 2") !=
        std::string::npos);
  CHECK_FALSE(refusal(made, {{{"q"}, 0, {}}}).empty());
  CHECK_FALSE(refusal(made, {{{"q"}, 1, {{"host", "a:x"}}}}).empty());
  const Plan once = plan({"--launch", "local", "-w", "a,b", "./p"});
  CHECK(refusal(once, {{{"q"}, 1, {}}}) ==
        "a command that runs once on each host cannot have more ranks; give their number with -n");
  Plan grown = made;
  grown.job.worlds.push_back(spawned(made, {{{"q"}, 80'000, {}}}));
  CHECK(refusal(grown, {{{"q"}, 10'000, {}}}) == much);
  const std::string far(270'000'000, '/');
  CHECK(refusal(made, {{{"q"}, 1, {{"path", far}}}}) == much);
  grown = made;
  grown.job.worlds.push_back(spawned(made, {{{"q"}, 1, {}}}));
  CHECK(refusal(grown, {{{"q"}, 1, {}}}).empty());
  grown.job.worlds[0].apps[0].path = far;
  CHECK(refusal(grown, {{{"q"}, 1, {}}}) == much);
  Plan many = made;
  for (std::size_t i = 0; i < kMaxWorlds; ++i) {
    nla::World world;
    world.first = many.job.map.size();
    world.map = RankMap::from_blocks({{0, 1, 1}});
    world.apps = {nla::App{{"q"}, {}, "", "", RankSet::single(world.first)}};
    many.job.worlds.push_back(std::move(world));  // only their number counts
  }
  CHECK(refusal(many, {{{"q"}, 1, {}}}) ==
        "the ranks of this job have spawned 10000 times, which is all");
}

}  // namespace spawn_plan_test
