#include "nla/core/kvs/spawns.h"

#include <catch2/catch.hpp>

#include "tests/support/launched_tree.h"
#include "tests/unit/nla/core/agent/chain.h"

namespace spawns_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::Chain;
using scela::nla::testing::fence;
using scela::nla::testing::spawn;
using Tree = scela::nla::testing::LaunchedTree;

TEST_CASE("ranks that a rank asks for run, and their world has a name, pairs and fences") {
  Tree tree(7, 2);
  const Response told = tree.of(3, spawn(9, {{"k", "v"}}));
  REQUIRE(told.ok);
  CHECK(told.parts.at(0).view() == "test.1");
  REQUIRE(tree.shell.worlds.size() == 1);
  CHECK(tree.shell.worlds[0].ranks == RankSet::run(7, 9));
  CHECK(tree.shell.worlds[0].why.empty());
  CHECK(tree.node(0).running.text() == "0,7,14");
  CHECK(tree.node(6).running.text() == "6,13");
  for (const Rank rank : {3u, 7u, 13u}) {
    const Response pair = tree.of(rank, ask::Get{Job::key_prefix(1) + "k", false});
    REQUIRE(pair.found);
    CHECK(pair.parts.at(0).view() == "v");
  }
  REQUIRE(tree.of(10, ask::Put{Job::key_prefix(1) + "x", Chunk(std::string("y"))}).ok);
  for (Rank rank = 7; rank < 16; ++rank)
    tree.ask(rank, fence(RankSet::run(7, 9)), 99);
  tree.run();
  for (Rank rank = 7; rank < 16; ++rank) {
    REQUIRE(tree.answer(rank, 99) != nullptr);
    CHECK(tree.answer(rank, 99)->ok);
    CHECK(tree.of(rank, ask::Get{Job::key_prefix(1) + "x", false}).found);
  }
  CHECK(tree.of(12, spawn(2)).parts.at(0).view() == "test.2");
  CHECK(tree.ended_well());
  CHECK(tree.shell.ended.at(0).verdicts.size() == 1);
  CHECK(tree.shell.ended.at(0).verdicts.at(0).second == RankSet::run(0, 18));
}

TEST_CASE("a node without live ranks gets new ones, which fence and end like others") {
  Tree tree(7, 2);
  for (Rank rank = 1; rank < 7; ++rank)
    tree.exit(rank);
  tree.run();
  REQUIRE(tree.of(0, spawn(7)).ok);
  CHECK(tree.node(5).running.text() == "12");
  for (Rank rank = 7; rank < 14; ++rank)
    tree.ask(rank, fence(RankSet::run(7, 7)), 50);
  // A wait for ranks that have ended is found out, also by agents that no longer know of the first
  // ranks.
  tree.ask(0, fence(RankSet::run(0, 7)), 51);
  tree.run();
  CHECK(tree.answer(12, 50)->ok);
  REQUIRE(tree.answer(0, 51) != nullptr);
  CHECK_FALSE(tree.answer(0, 51)->ok);
  tree.exit(0);
  tree.run();
  CHECK(tree.shell.ended.empty());
  CHECK(tree.ended_well());
}

TEST_CASE("where one rank cannot be started the others are ended again and the job goes on") {
  Tree tree(4, 1);
  tree.programs.not_startable = {6};
  const Response told = tree.of(1, spawn(4));
  CHECK_FALSE(told.ok);
  CHECK(told.error == "on n2: program: No such file or directory");
  CHECK(told.parts.at(0).view() == "0,0,1,0");
  REQUIRE(tree.shell.worlds.size() == 1);
  CHECK(tree.shell.worlds[0].why == told.error);
  for (std::uint32_t host = 0; host < 4; ++host)
    CHECK(tree.node(host).running == RankSet::single(host));
  tree.programs.not_startable.insert(100);
  const Response many = tree.of(1, spawn(1000));  // codes of very many would fit no frame
  CHECK_FALSE(many.ok);
  CHECK(many.parts.at(0).empty());
  tree.programs.not_startable.clear();
  CHECK(tree.of(1, spawn(4)).parts.at(0).view() == "test.3");
  CHECK(tree.ended_well());
}

TEST_CASE("a node that cannot hold more ranks fails the spawn, not the job") {
  Tree tree(3, 1);
  tree.programs.refusing = {1};
  CHECK(tree.of(0, spawn(3)).error == "on n1: too many");
  CHECK(tree.ended_well());
}

TEST_CASE("a spawned rank that fails ends the job like any other") {
  Tree tree(3, 1);
  REQUIRE(tree.of(0, spawn(3)).ok);
  tree.exit(4, {Ending::exited, 3, false, false, {}});
  tree.run();
  REQUIRE(tree.shell.first_failures.size() == 1);
  CHECK(tree.shell.first_failures[0].rank == 4);
  CHECK(tree.root_left());
  CHECK(tree.all_left());
}

TEST_CASE("nothing is spawned any more when the job is being ended") {
  Tree tree(3, 1);
  tree.programs.obey_signals = false;
  tree.post(0, event::Stop{StopCause::signal, 15, 1000});
  tree.run();
  CHECK(tree.of(1, spawn(1)).error == "the job is being ended");
}

TEST_CASE("a request that does not fit a message is refused") {
  Tree tree(2, 1);
  ask::Spawn large = spawn(1);
  large.request.programs[0].argv.emplace_back(70'000, 'x');
  CHECK(tree.of(1, large).error == "a request to spawn takes 65536 bytes at most");
}

TEST_CASE("a node that is lost while a world starts fails it, and its rest is ended") {
  Tree tree(3, 1, OnFailure::wait);
  tree.links.slow = {};
  tree.programs.hold = true;
  tree.ask(0, spawn(3), 7);
  tree.run();
  CHECK(tree.answer(0, 7) == nullptr);
  tree.crash(2);
  tree.programs.hold = false;
  tree.start_held();
  REQUIRE(tree.answer(0, 7) != nullptr);
  CHECK_FALSE(tree.answer(0, 7)->ok);
  CHECK(tree.answer(0, 7)->parts.at(0).view() == "0,0,1");
  CHECK(tree.node(0).running == RankSet::single(0));
  CHECK(tree.node(1).running == RankSet::single(1));
}

TEST_CASE("an orphan hears of the worlds that it missed from its adopter") {
  Tree tree(4, 1, OnFailure::wait, 60'000);
  tree.links.hold_attach = true;
  tree.crash(1);
  tree.run();
  tree.ask(0, spawn(3, {{"k", "v"}}), 7);  // on n0, n2 and n3
  tree.run();
  CHECK(tree.answer(0, 7) == nullptr);
  tree.release_attach();
  REQUIRE(tree.answer(0, 7) != nullptr);
  CHECK(tree.answer(0, 7)->ok);
  CHECK(tree.node(2).running.text() == "2,5");
  CHECK(tree.node(3).running.text() == "3,6");
  CHECK(tree.of(6, ask::Get{Job::key_prefix(1) + "k", false}).found);
  tree.exit_all();
  CHECK(tree.root_left());
  CHECK(tree.all_left());
}

TEST_CASE("a rank that asked to spawn is told when the link to the root is lost") {
  Tree tree(3, 1, OnFailure::wait, 60'000);
  tree.links.hold_attach = true;
  tree.programs.hold = true;
  tree.ask(2, spawn(1), 7);
  tree.run();
  tree.crash(1);
  tree.run();
  REQUIRE(tree.answer(2, 7) != nullptr);
  CHECK(tree.answer(2, 7)->error == "the way to the root of the tree was lost");
}

TEST_CASE("a child asks and speaks for its own ranks only") {
  Chain chain;
  chain.launch();
  World world;
  world.first = 8;
  App app;
  app.argv = {"program"};
  app.ranks = RankSet::run(8, 4);
  world.apps.push_back(app);
  for (std::uint32_t node = 0; node < 4; ++node)
    world.map.append(node, 1);
  SECTION("its own") {
    chain.from(1, msg::SpawnAsked{3, 9, spawn(1).request});
    CHECK(chain.sent<msg::SpawnAsked>(kParentLink).size() == 1);
    chain.from(kParentLink, msg::WorldBytes{true, Chunk(encode(world))});
    CHECK(chain.sent<msg::WorldBytes>(1).size() == 1);
    chain.from(1, msg::WorldLaunched{1, RankSet::run(9, 2), 0, {}});
    CHECK(chain.sent<msg::WorldLaunched>(kParentLink).empty());
    chain.give(event::RankStarted{8});
    REQUIRE(chain.sent<msg::WorldLaunched>(kParentLink).size() == 1);
    CHECK(chain.sent<msg::WorldLaunched>(kParentLink)[0].started == RankSet::run(8, 3));
    CHECK_FALSE(chain.closed(1));
  }
  SECTION("for another's rank") {
    chain.from(1, msg::SpawnAsked{0, 9, spawn(1).request});
    CHECK(chain.closed(1));
  }
  SECTION("without a program") {
    chain.from(1, msg::SpawnAsked{3, 9, {{{}}, {}}});
    CHECK(chain.closed(1));
  }
  SECTION("of a world that there is not") {
    chain.from(1, msg::WorldLaunched{1, RankSet(), 0, {}});
    CHECK(chain.closed(1));
  }
  SECTION("of another's rank") {
    chain.from(kParentLink, msg::WorldBytes{true, Chunk(encode(world))});
    chain.from(1, msg::WorldLaunched{1, RankSet::single(8), 0, {}});
    CHECK(chain.closed(1));
  }
}

}  // namespace spawns_test
