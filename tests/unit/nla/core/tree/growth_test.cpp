// Tests agents on hosts that had no agent when the job began.
#include <catch2/catch.hpp>

#include "tests/support/launched_tree.h"

namespace growth_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::fence;
using scela::nla::testing::spawn;
using Tree = scela::nla::testing::LaunchedTree;

namespace {

void fence_all(Tree& tree, const RankSet& set, RequestId id) {
  set.for_each([&](Rank rank) { tree.ask(rank, fence(set), id); });
  tree.run();
  set.for_each([&](Rank rank) {
    REQUIRE(tree.answer(rank, id) != nullptr);
    CHECK(tree.answer(rank, id)->ok);
  });
}

}  // namespace

TEST_CASE("hosts that are added get agents below the root, which run ranks like all others") {
  Tree tree(3, 2);
  REQUIRE(tree.of(1, spawn(2, {{"early", "1"}})).ok);  // ranks 3 and 4, of an earlier world
  tree.add_hosts(7);                                   // two below the root, the others lower
  REQUIRE(tree.shell.added.size() == 1);
  CHECK(tree.shell.added[0] == Slice{3, 10});
  CHECK(tree.agents() == 10);
  CHECK(tree.node(3).parent == 0);
  CHECK(tree.node(9).parent == tree.agent_of(7));
  CHECK(tree.shell.failures.empty());

  REQUIRE(tree.of(0, spawn(10, {{"k", "v"}})).ok);  // one on each host
  const RankSet world = RankSet::run(5, 10);
  CHECK(tree.node(9).running == RankSet::single(14));
  CHECK(tree.of(14, ask::Get{Job::key_prefix(2) + "k", false}).found);
  REQUIRE(tree.of(13, ask::Put{Job::key_prefix(2) + "x", Chunk(std::string("y"))}).ok);
  fence_all(tree, world, 99);
  for (const Rank rank : {5u, 9u, 14u})
    CHECK(tree.of(rank, ask::Get{Job::key_prefix(2) + "x", false}).found);
  fence_all(tree, RankSet::run(0, 3), 100);  // the first ranks go on without them
  CHECK(tree.of(14, spawn(1)).ok);
  tree.post_to_host(9, event::RankOutput{14, Stream::out, Chunk(std::string("far away\n"))});
  tree.run();
  CHECK(tree.shell.output == "far away\n");
  CHECK(tree.ended_well());
  CHECK(tree.shell.ended.at(0).stats.agents == 10);
}

TEST_CASE("a late agent knows all pairs put before, under any policy, and the failed ranks") {
  for (const auto policy : {cache::PolicyKind::hcs, cache::PolicyKind::hcma,
                            cache::PolicyKind::hcmab, cache::PolicyKind::hcmab_lru}) {
    nla::testing::TreeHarness tree(2, 1);
    tree.shell.adopt_ms = 1000;
    tree.begin();
    Job job = nla::testing::TreeHarness::job(2, 2, OnFailure::wait);
    job.cache_policy = policy;
    tree.launch(job);
    tree.exit(3, {Ending::exited, 1, false, false, {}});
    tree.run();
    tree.add_hosts(1);
    tree.ask(0, spawn(6), 7);  // 4 to 9, two on each host
    tree.run();
    REQUIRE(tree.answer(0, 7)->ok);
    REQUIRE(tree.node(2).running.contains(9));
    CHECK(tree.node(2).failed == RankSet::single(3));  // its ranks' server is told
    tree.ask(9, ask::Receive{3, 1}, 11);
    tree.run();
    REQUIRE(tree.answer(9, 11) != nullptr);
    CHECK_FALSE(tree.answer(9, 11)->ok);
    const RankSet world = RankSet::run(4, 6);
    const std::string key = Job::key_prefix(1) + "key";
    tree.ask(4, ask::Put{key, Chunk(std::string("value"))}, 8);
    world.for_each([&](Rank rank) { tree.ask(rank, fence(world), 9); });
    tree.run();
    world.for_each([&](Rank rank) {
      REQUIRE(tree.answer(rank, 9) != nullptr);
      CHECK(tree.answer(rank, 9)->ok);
      tree.ask(rank, ask::Get{key, false}, 10);
      tree.run();
      CHECK(tree.answer(rank, 10)->found);
    });
  }
}

TEST_CASE(
    "a host that cannot be reached is reported, and those below it are started all the same") {
  Tree tree(2, 1);
  tree.links.unreachable = {2};
  tree.add_hosts(3);
  CHECK(tree.shell.added.size() == 1);
  REQUIRE(tree.shell.failures.size() == 1);
  CHECK(tree.shell.failures[0].failure.node == 2);
  CHECK(tree.agent_of(3) > 0);
  CHECK(tree.agent_of(4) > 0);
  REQUIRE(tree.of(1, spawn(4)).ok);
  CHECK(tree.node(4).running == RankSet::single(5));
  CHECK(tree.ended_well());
}

TEST_CASE("an agent that may start no other hands its hosts back to the root") {
  Tree tree(1, 1);
  tree.links.keyless = {1};
  tree.add_hosts(3);
  CHECK(tree.shell.added.size() == 1);
  CHECK(tree.shell.failures.empty());
  for (const std::uint32_t host : {1u, 2u, 3u})
    CHECK(tree.node(host).parent == 0);
  REQUIRE(tree.of(0, spawn(4)).ok);
  CHECK(tree.node(3).running == RankSet::single(4));
  CHECK(tree.ended_well());
}

TEST_CASE("while an agent is started the job goes on") {
  Tree tree(3, 2, OnFailure::wait, 1000);
  tree.programs.obey_signals = false;
  tree.links.slow = {3};
  tree.add_hosts(2);
  CHECK(tree.shell.added.empty());
  fence_all(tree, RankSet::run(0, 3), 50);
  tree.exit(2, {Ending::exited, 1, false, false, {}});  // all others are told
  REQUIRE(tree.of(0, spawn(2)).ok);                     // on n0 and n1
  CHECK(tree.node(0).running.text() == "0,3");
  tree.programs.not_startable = {6};
  CHECK_FALSE(tree.of(0, spawn(2)).ok);  // the other one is ended
  tree.post(0, event::UserSignal{10});
  tree.run();
  tree.answer_of_slow();
  CHECK(tree.shell.added.size() == 1);
  REQUIRE(tree.of(0, spawn(5)).ok);  // one on each
  REQUIRE(tree.agent_of(4) > 0);
  CHECK(tree.node(4).running == RankSet::single(11));
  CHECK_FALSE(tree.of(11, ask::Receive{2, 1}).ok);
  tree.exit_all();
  CHECK(tree.root_left());
  CHECK(tree.all_left());
}

TEST_CASE("a job that ends does not wait for agents that it has asked for") {
  Tree tree(2, 1);
  tree.links.slow = {2};
  tree.add_hosts(1);
  tree.exit_all();
  CHECK(tree.shell.ended.size() == 1);
  CHECK(tree.shell.first_failures.empty());
  tree.post(0, event::ChildGone{2});
  tree.run();
  CHECK(tree.root_left());
}

TEST_CASE("nothing is started when the job is being ended") {
  Tree tree(2, 1);
  tree.programs.obey_signals = false;
  tree.post(0, event::Stop{StopCause::signal, 15, 1000});
  tree.run();
  tree.add_hosts(2);
  CHECK(tree.shell.added.size() == 1);
  CHECK(tree.agents() == 2);
  CHECK(tree.shell.failures.empty());
}

TEST_CASE("a late agent that is lost costs its ranks, and those below it are adopted") {
  Tree tree(1, 1, OnFailure::wait, 60'000);
  tree.add_hosts(3);
  REQUIRE(tree.of(0, spawn(4)).ok);
  tree.crash(1);
  tree.run();
  CHECK(tree.node(2).parent == 0);
  CHECK(tree.node(2).running == RankSet::single(3));
  CHECK(tree.of(4, ask::Put{Job::key_prefix(1) + "k", Chunk(std::string("v"))}).ok);
  REQUIRE(tree.shell.first_failures.size() == 1);
  CHECK(tree.shell.first_failures[0].rank == 2);
  REQUIRE(tree.of(0, spawn(3)).ok);  // again, on those that are left
  tree.exit_all();
  CHECK(tree.root_left());
  CHECK(tree.all_left());
}

TEST_CASE("without adoption, hosts below a late host that is lost are lost with it") {
  Tree tree(1, 1);
  tree.add_hosts(3);  // a chain
  const bool ran = GENERATE(false, true);
  if (ran) {
    REQUIRE(tree.of(0, spawn(4)).ok);
    for (const Rank rank : {2u, 3u, 4u})
      tree.exit(rank);
    tree.run();
  }
  tree.crash(1);
  tree.run();
  REQUIRE(tree.shell.failures.size() == 3);
  for (std::uint32_t i = 0; i < 3; ++i)
    CHECK(tree.shell.failures[i].failure.node == i + 1);
  CHECK(tree.shell.failures[2].failure.why == "its parent agent on n1 was lost");
  CHECK(tree.of(0, spawn(2)).ok);  // on what is left
  CHECK(tree.ended_well());
}

}  // namespace growth_test
