// Tests jobs that the root launches while agents are being started.
#include <catch2/catch.hpp>

#include "tests/support/launched_tree.h"
#include "tests/support/tree_harness.h"

namespace early_launch_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::fence;
using scela::nla::testing::TreeHarness;

namespace {

// A job of one rank on each of the hosts below a root that starts them all, launched at once.
struct EarlyTree : TreeHarness {
  explicit EarlyTree(std::uint32_t hosts, std::set<std::uint32_t> slow)
      : TreeHarness(hosts, hosts) {
    links.slow = std::move(slow);
    shell.begin();
    launch(job(hosts, 1, OnFailure::wait));
  }
};

RankSet with_outcome(const action::JobEnded& ended, Ending ending) {
  RankSet out;
  for (const auto& [outcome, ranks] : ended.verdicts) {
    if (outcome.ending == ending) out.add(ranks);
  }
  return out;
}

void write(EarlyTree& tree, Rank rank, const std::string& text) {
  tree.post_to_host(rank, event::RankOutput{rank, Stream::out, Chunk(text)});
  tree.run();
}

}  // namespace

TEST_CASE("a rank of an early job runs, writes and ends while another host is being started") {
  EarlyTree tree(3, {1});
  CHECK_FALSE(tree.shell.ready);
  CHECK(tree.node(0).running == RankSet::single(0));
  write(tree, 2, "at once\n");
  CHECK(tree.shell.output == "at once\n");
  tree.exit(2);
  tree.run();
  CHECK(tree.node(2).state == nla::testing::TreeNode::State::left);  // with its rank
  CHECK(tree.node(0).state == nla::testing::TreeNode::State::running);
  tree.answer_of_slow();
  REQUIRE(tree.shell.ready);
  CHECK(tree.shell.ready_agents == 3);
  CHECK(tree.shell.launched);
  CHECK(tree.node(1).running == RankSet::single(1));
  tree.exit_all();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::exited).text() == "0-2");
  CHECK(tree.shell.ended[0].stats.agents == 3);
  CHECK(tree.root_left());
  CHECK(tree.all_left());
}

TEST_CASE(
    "a host that fails while the ranks of an early job run is a lost rank and no lost agent") {
  EarlyTree tree(3, {});
  CHECK(tree.shell.ready);
  tree.exit_all();
  CHECK(tree.root_left());

  TreeHarness other(3, 3);
  other.links.unreachable = {1};
  other.links.slow = {2};
  other.shell.begin();
  other.launch(TreeHarness::job(3, 1, OnFailure::wait));
  REQUIRE(other.shell.failures.size() == 1);
  CHECK(other.shell.failures[0].failure.phase == StartPhase::connect);
  CHECK(other.node(0).running == RankSet::single(0));
  other.answer_of_slow();
  CHECK(other.shell.ready_agents == 2);
  CHECK(other.node(2).failed == RankSet::single(1));  // it is told what happened before it came
  other.exit_all();
  REQUIRE(other.shell.ended.size() == 1);
  CHECK(with_outcome(other.shell.ended[0], Ending::lost).text() == "1");
  CHECK(with_outcome(other.shell.ended[0], Ending::exited).text() == "0,2");
  CHECK(other.root_left());
}

TEST_CASE("a request of an early job that concerns other nodes waits for the last host") {
  EarlyTree tree(3, {1});
  const RankSet all = RankSet::run(0, 3);
  for (const Rank rank : {0u, 2u})
    tree.ask(rank, fence(all), 7);
  tree.ask(2, ask::Send{1, 5, Chunk(std::string("hello"))}, 8);
  tree.run();
  CHECK(tree.answer(0, 7) == nullptr);
  tree.answer_of_slow();
  tree.ask(1, fence(all), 7);
  tree.ask(1, ask::Receive{2, 5}, 9);
  tree.run();
  all.for_each([&](Rank rank) {
    REQUIRE(tree.answer(rank, 7) != nullptr);
    CHECK(tree.answer(rank, 7)->ok);
  });
  REQUIRE(tree.answer(1, 9) != nullptr);
  CHECK(tree.answer(1, 9)->parts.at(0).view() == "hello");
  tree.exit_all();
  CHECK(tree.root_left());
}

TEST_CASE("a rank of an early job may send many messages while a host is slow") {
  EarlyTree tree(3, {1});
  constexpr std::uint32_t kMessages = 3000;
  for (std::uint32_t i = 0; i < kMessages; ++i)
    tree.ask(2, ask::Send{1, i, Chunk(std::to_string(i))}, 10 + i);
  tree.run();
  tree.answer_of_slow();
  tree.ask(1, ask::Receive{2, kMessages - 1}, 9);
  tree.run();
  REQUIRE(tree.answer(1, 9) != nullptr);
  REQUIRE(tree.answer(1, 9)->ok);
  CHECK(tree.answer(1, 9)->parts.at(0).view() == std::to_string(kMessages - 1));
  tree.exit_all();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::exited).text() == "0-2");
}

TEST_CASE("the bytes that wait of a host of an early job are bounded") {
  EarlyTree tree(3, {1});
  const Chunk large(std::string(std::size_t{1024} * 1024, 'x'));
  for (std::uint32_t i = 0; i < 70; ++i)
    tree.ask(2, ask::Send{1, i, large}, 10 + i);
  tree.run();
  REQUIRE(tree.shell.failures.size() == 1);
  CHECK(tree.shell.failures[0].failure.node == 2);
  CHECK(tree.shell.failures[0].failure.why == "protocol error: too many requests at once");
}

TEST_CASE("a rank that ends after a request of an early job has its verdict after the request") {
  EarlyTree tree(3, {1});
  const RankSet all = RankSet::run(0, 3);
  tree.ask(0, fence(all), 7);
  tree.exit(0, {Ending::exited, 3, false, false, {}});
  tree.ask(2, fence(all), 7);
  tree.run();
  tree.answer_of_slow();
  tree.ask(1, fence(all), 7);
  tree.run();
  REQUIRE(tree.answer(2, 7) != nullptr);
  tree.exit_all();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::exited).text() == "0-2");
  CHECK(tree.root_left());
}

TEST_CASE("an early job that is stopped waits for no host, and cancels the ranks of those") {
  EarlyTree tree(3, {1});
  tree.exit(0);
  tree.run();
  tree.post(0, event::Stop{StopCause::signal, 15, 1000});
  tree.run();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::exited).text() == "0");
  CHECK(with_outcome(tree.shell.ended[0], Ending::signaled).text() == "2");
  CHECK(with_outcome(tree.shell.ended[0], Ending::cancelled).text() == "1");
}

TEST_CASE("an agent that is lost in an early job is lost alone") {
  EarlyTree tree(3, {1});
  tree.crash(2);
  tree.run();
  REQUIRE(tree.shell.failures.size() == 1);
  CHECK(tree.shell.failures[0].failure.phase == StartPhase::running);
  tree.answer_of_slow();
  CHECK(tree.shell.ready_agents == 3);  // it was ready once
  tree.exit_all();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::lost).text() == "2");
  CHECK(with_outcome(tree.shell.ended[0], Ending::exited).text() == "0-1");
}

TEST_CASE("the root answers questions about ranks for agents that have left an early job") {
  EarlyTree tree(3, {});
  tree.exit(2);
  tree.run();
  REQUIRE(tree.node(2).state == nla::testing::TreeNode::State::left);
  tree.post(0, event::Inspect{Inspection::stacks, 1000, {}});
  tree.run();
  REQUIRE(tree.shell.inspected.size() == 1);
  CHECK(tree.shell.inspected[0].node == 2);
  CHECK(tree.shell.inspected[0].last);
  CHECK(tree.shell.inspected[0].bytes.empty());
  tree.exit(0);  // its agent was asked, and leaves before it has answered
  tree.run();
  REQUIRE(tree.shell.inspected.size() == 2);
  CHECK(tree.shell.inspected[1].node == 0);
  CHECK(tree.shell.inspected[1].last);
}

TEST_CASE("the root answers questions about ranks for agents that an early job still waits for") {
  EarlyTree tree(3, {1});
  tree.post(0, event::Inspect{Inspection::stacks, 1000, {}});
  tree.run();
  REQUIRE(tree.shell.inspected.size() == 1);
  CHECK(tree.shell.inspected[0].node == 1);
  CHECK(tree.shell.inspected[0].last);
  CHECK(tree.shell.inspected[0].bytes.empty());
  tree.answer_of_slow();
  tree.exit_all();
  CHECK(tree.root_left());
}

TEST_CASE("an abort after a request of an early job waits for no host") {
  EarlyTree tree(3, {1});
  tree.ask(0, fence(RankSet::run(0, 3)), 7);
  tree.ask(0, ask::Abort{5, "bad input"}, 8);
  tree.run();
  REQUIRE(tree.shell.first_failures.size() == 1);
  CHECK(tree.shell.first_failures[0].rank == 0);
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::aborted).text() == "0");
  CHECK(with_outcome(tree.shell.ended[0], Ending::cancelled).text() == "1");
}

TEST_CASE("a verdict after a request of an early job is not lost with its agent") {
  EarlyTree tree(3, {1});
  tree.ask(0, fence(RankSet::run(0, 3)), 7);
  tree.exit(0, {Ending::exited, 3, false, false, {}});
  tree.run();
  tree.crash(0);
  tree.run();
  REQUIRE(tree.shell.first_failures.size() == 1);
  CHECK(tree.shell.first_failures[0].outcome.ending == Ending::exited);
  tree.answer_of_slow();
  tree.exit_all();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::exited).text() == "0-2");
  CHECK(with_outcome(tree.shell.ended[0], Ending::lost).empty());
  CHECK(tree.root_left());
}

TEST_CASE("a tree that is not flat is launched when it is complete only") {
  TreeHarness tree(4, 2);
  tree.links.slow = {3};
  tree.shell.begin();
  tree.launch(TreeHarness::job(4, 1, OnFailure::wait));
  CHECK(tree.node(0).running.empty());
  tree.answer_of_slow();
  CHECK(tree.node(0).running.empty());  // the event came too early
}

}  // namespace early_launch_test
