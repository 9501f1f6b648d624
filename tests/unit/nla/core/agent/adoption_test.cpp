// Tests agents that lose their parent while the job goes on. They run on a chain, and on a tree of
// 13 nodes, which at degree 3 begins with 0 (1 (2), 3, 4).
#include <catch2/catch.hpp>

#include "nla/core/tree/agent.h"
#include "tests/support/tree_harness.h"

namespace adoption_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::TreeHarness;

namespace {

RankSet with_outcome(const action::JobEnded& ended, Ending ending) {
  RankSet out;
  for (const auto& [outcome, ranks] : ended.verdicts) {
    if (outcome.ending == ending) out.add(ranks);
  }
  return out;
}

// Node i is the parent of node i + 1. Each node has one rank.
struct Chain {
  explicit Chain(std::uint32_t hosts) : tree(hosts, 1) {
    tree.shell.adopt_ms = 1000;
    tree.begin();
    tree.launch(TreeHarness::job(hosts, 1, OnFailure::wait));
    REQUIRE(tree.shell.launched);
  }
  void write(Rank rank, const std::string& text) {
    tree.post_to_host(rank, event::RankOutput{rank, Stream::out, Chunk(text)});
  }
  void ends_with(const std::string& lost, const std::string& well) {
    tree.exit_all();
    REQUIRE(tree.shell.ended.size() == 1);
    CHECK(with_outcome(tree.shell.ended[0], Ending::lost).text() == lost);
    CHECK(with_outcome(tree.shell.ended[0], Ending::exited).text() == well);
    CHECK(tree.all_left());
  }
  TreeHarness tree;
};

}  // namespace

TEST_CASE("a node that its resource manager has lost is lost at once, at every level") {
  for (const std::uint32_t lost : {0u, 1u, 3u}) {
    INFO("node " << lost);
    Chain chain(4);
    chain.tree.post(0, event::NodeDown{lost, "the manager has lost it"});
    chain.tree.run();
    CHECK(chain.tree.agent_of(lost) < 0);
    REQUIRE(chain.tree.shell.failures.size() == 1);
    CHECK(chain.tree.shell.failures[0].failure.node == lost);
    CHECK(chain.tree.shell.failures[0].failure.why == "the manager has lost it");
    RankSet others = RankSet::run(0, 4);
    others.remove(RankSet::single(lost));
    chain.ends_with(std::to_string(lost), others.text());
  }
}

TEST_CASE("an agent that hears that its own node is lost ends, and those below it are adopted") {
  Chain chain(4);
  chain.tree.post_to_host(1, event::Received{kParentLink, msg::NodeDown{1, "lost"}, 0});
  chain.tree.run();
  CHECK(chain.tree.agent_of(1) < 0);
  chain.ends_with("1", "0,2-3");
}

TEST_CASE("a node without an agent is lost without an effect") {
  Chain chain(2);
  chain.tree.post(0, event::NodeDown{7, "lost"});
  chain.tree.run();
  CHECK(chain.tree.shell.failures.empty());
  chain.ends_with("", "0-1");
}

TEST_CASE("children of a lost agent are adopted by its parent, at every level") {
  for (const std::uint32_t lost : {0u, 1u, 2u}) {
    INFO("node " << lost);
    Chain chain(4);
    const int parent = chain.tree.node(lost).parent;
    chain.tree.crash(lost);
    chain.tree.run();
    CHECK(chain.tree.node(lost + 1).parent == parent);
    RankSet others = RankSet::run(0, 4);
    others.remove(RankSet::single(lost));
    chain.ends_with(std::to_string(lost), others.text());
  }
}

TEST_CASE("the root adopts, and an agent it has adopted ends with it at once") {
  Chain chain(3);
  chain.tree.crash(0);
  chain.tree.run();
  CHECK(chain.tree.node(1).parent == 0);
  chain.tree.post_to_host(1, event::LinkEnded{kParentLink, "the root was killed"});
  chain.tree.run();
  CHECK(chain.tree.node(1).timers.count(Timer::adopt) == 0);
  CHECK_FALSE(chain.tree.node(1).signals.empty());
}

TEST_CASE("an agent that is not adopted ends when its time is over") {
  Chain chain(3);
  chain.tree.post_to_host(1, event::LinkEnded{kParentLink, "cut"});
  chain.tree.run();
  CHECK(chain.tree.node(1).timers.count(Timer::adopt) == 1);
  CHECK(chain.tree.node(1).signals.empty());
  chain.tree.fire(1, Timer::adopt);
  CHECK_FALSE(chain.tree.node(1).awaiting);
  CHECK_FALSE(chain.tree.node(1).signals.empty());
}

TEST_CASE("under kill, and without time for it, no agent waits for another parent") {
  TreeHarness tree(3, 1);
  SECTION("kill") {
    tree.shell.adopt_ms = 0;  // scela-run sends 0 for this policy
    tree.begin();
    tree.launch(TreeHarness::job(3, 1, OnFailure::kill));
  }
  SECTION("no time") {
    tree.begin();
    tree.launch(TreeHarness::job(3, 1, OnFailure::wait));
  }
  tree.crash(0);
  tree.run();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::lost).text() == "0-2");
}

TEST_CASE("two losses in a row are survived, from below and from above") {
  const auto order = GENERATE(std::pair{2u, 1u}, std::pair{1u, 2u});
  Chain chain(5);
  chain.tree.crash(order.first);
  if (GENERATE(true, false)) chain.tree.run();  // the orphan is adopted first, or not
  chain.tree.crash(order.second);
  chain.tree.run();
  CHECK(chain.tree.node(3).parent == chain.tree.agent_of(0));
  chain.ends_with("1-2", "0,3-4");
}

TEST_CASE(
    "output that a lost agent had not passed on arrives once, through one adopter after another") {
  Chain chain(5);
  chain.tree.shell.show = false;  // the slow reader holds up all output
  std::string all;
  for (int i = 0; i < 40; ++i) {
    const std::string piece(60000, static_cast<char>('a' + i % 26));
    chain.write(4, piece);
    all += piece;
    if (i == 25) chain.tree.crash(3);
    if (i == 30) chain.tree.crash(2);
    chain.tree.run();
  }
  chain.tree.crash(1);
  chain.tree.run();
  chain.tree.show_on();
  chain.ends_with("1-3", "0,4");
  CHECK(chain.tree.shell.output.size() == all.size());
  CHECK((chain.tree.shell.output == all));
}

TEST_CASE("an operation with members beyond a lost agent fails on both sides and hangs on none") {
  Chain chain(4);
  const ask::Collective barrier{CollectiveKind::barrier, RankSet::run(0, 4), 0, {}};
  for (const Rank rank : {0u, 2u, 3u})
    chain.tree.ask(rank, barrier);
  chain.tree.run();
  chain.tree.crash(1);
  chain.tree.run();
  for (const Rank rank : {0u, 2u, 3u}) {
    const Response* answer = chain.tree.answer(rank);
    REQUIRE(answer != nullptr);
    CHECK_FALSE(answer->ok);
  }
  // Operations among ranks of the same side still work.
  const ask::Collective own{CollectiveKind::barrier, RankSet::run(2, 2), 0, {}};
  for (const Rank rank : {2u, 3u})
    chain.tree.ask(rank, own, 2);
  chain.tree.run();
  for (const Rank rank : {2u, 3u}) {
    REQUIRE(chain.tree.answer(rank, 2) != nullptr);
    CHECK(chain.tree.answer(rank, 2)->ok);
  }
  chain.ends_with("1", "0,2-3");
}

TEST_CASE("a rank that waits for a message from beyond a lost agent is told") {
  Chain chain(4);
  chain.tree.ask(0, ask::Receive{3, 7});
  chain.tree.ask(2, ask::Receive{0, 7});
  chain.tree.ask(3, ask::Receive{2, 7});
  chain.tree.crash(1);
  chain.tree.run();
  REQUIRE(chain.tree.answer(0) != nullptr);
  CHECK_FALSE(chain.tree.answer(0)->ok);
  REQUIRE(chain.tree.answer(2) != nullptr);
  CHECK_FALSE(chain.tree.answer(2)->ok);
  CHECK(chain.tree.answer(3) == nullptr);  // both live on the same side
  chain.tree.ask(2, ask::Send{3, 7, Chunk(std::string("word"))}, 2);
  chain.tree.run();
  REQUIRE(chain.tree.answer(3) != nullptr);
  CHECK(chain.tree.answer(3)->ok);
  chain.ends_with("1", "0,2-3");
}

TEST_CASE("a rank that failed while its agent had no parent is reported to the adopter") {
  Chain chain(3);
  chain.tree.links.hold_attach = true;
  chain.tree.crash(0);
  chain.tree.run();
  chain.tree.exit(2, Outcome{Ending::exited, 3, false, false, {}});
  chain.tree.run();
  chain.tree.release_attach();
  chain.tree.exit_all();
  REQUIRE(chain.tree.shell.ended.size() == 1);
  CHECK(with_outcome(chain.tree.shell.ended[0], Ending::exited).text() == "1-2");
  CHECK(chain.tree.all_left());
}

TEST_CASE("orphans are adopted by an agent that does not know that their work was taken") {
  // Degree 2: the root starts 0, that 1, and that 2 (3) and 4.
  TreeHarness tree(18, 2);
  tree.shell.adopt_ms = 1000;
  tree.links.slow = {2};
  tree.begin();
  tree.fire(1, Timer::slow);
  CHECK(tree.node(3).parent == tree.agent_of(1));
  tree.answer_of_slow();
  tree.launch(TreeHarness::job(18, 1, OnFailure::wait));
  REQUIRE(tree.shell.launched);
  tree.post_to_host(3, event::RankOutput{3, Stream::out, Chunk(std::string("before, "))});
  tree.run();
  std::vector<std::uint32_t> lost = {0, 1};
  SECTION("the two that know it") {}
  SECTION("and the one that it was taken from") {
    lost.push_back(2);
  }
  SECTION("and the one that was taken") {
    lost.push_back(3);
  }
  RankSet others = RankSet::run(0, 18);
  RankSet gone;
  for (const std::uint32_t host : lost) {
    tree.crash(host);
    gone.add(RankSet::single(host));
    others.remove(RankSet::single(host));
  }
  tree.run();
  if (tree.agent_of(3) > 0) {
    tree.post_to_host(3, event::RankOutput{3, Stream::out, Chunk(std::string("after"))});
    tree.run();
    CHECK(tree.shell.output == "before, after");
  }
  for (const std::uint32_t host : {2u, 3u, 4u})
    if (tree.agent_of(host) > 0) CHECK(tree.node(host).parent == 0);
  tree.exit_all();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::lost) == gone);
  CHECK(with_outcome(tree.shell.ended[0], Ending::exited) == others);
  CHECK(tree.all_left());
}

TEST_CASE("orphans below a host that was never there are adopted by one that did not start them") {
  // At degree 2 the root starts node 0, node 0 starts 1, and node 1 starts 2 (3 to 6). If node 2 is
  // not there, node 1 starts 3 (4 to 6) instead.
  TreeHarness tree(46, 2);
  tree.shell.adopt_ms = 1000;
  tree.links.unreachable = {2};
  tree.begin();
  REQUIRE(tree.shell.ready);
  Job job = TreeHarness::job(46, 1, OnFailure::wait);
  job.map = {};
  for (std::uint32_t node = 0; node < 46; ++node)
    job.map.append(node == 2 ? 45 : node, 1);
  tree.launch(std::move(job));
  REQUIRE(tree.shell.launched);
  tree.crash(0);
  tree.crash(1);
  tree.run();
  CHECK(tree.node(3).parent == 0);
  CHECK(tree.node(4).parent == tree.agent_of(3));
  tree.exit_all();
  REQUIRE(tree.shell.ended.size() == 1);
  CHECK(with_outcome(tree.shell.ended[0], Ending::lost).text() == "0-1");
  CHECK(tree.all_left());
}

TEST_CASE("an orphan that is found while the job is being ended, ends with it") {
  TreeHarness tree(18, 2);
  tree.shell.adopt_ms = 1000;
  tree.links.slow = {2};
  tree.begin();
  tree.fire(1, Timer::slow);
  tree.answer_of_slow();
  tree.launch(TreeHarness::job(18, 1, OnFailure::wait));
  tree.links.hold_attach = true;
  tree.crash(0);
  tree.crash(1);
  tree.run();
  tree.post(0, event::Stop{StopCause::signal, 15, 1000});
  tree.run();
  CHECK(tree.node(3).signals.empty());
  tree.release_attach();
  CHECK_FALSE(tree.shell.ended.empty());
  CHECK(tree.all_left());
}

TEST_CASE("an orphan answers for no more than it is adopted for") {
  Chain chain(4);
  chain.tree.links.hold_attach = true;
  chain.tree.crash(0);
  chain.tree.run();
  msg::Orphan orphan{{1, 4}, 3, 0, 0, false, false};
  SECTION("more") {
    orphan.slice.end = 5;
  }
  SECTION("another's") {
    orphan.slice.first = 2;
  }
  SECTION("nothing") {
    orphan.slice.end = 1;
  }
  SECTION("more agents than nodes") {
    orphan.slice.end = 2;
  }
  chain.tree.post(0, event::Received{2, orphan, 0});
  chain.tree.exit_all();
  REQUIRE(chain.tree.shell.ended.size() == 1);
  CHECK(with_outcome(chain.tree.shell.ended[0], Ending::lost).text() == "0-3");
}

TEST_CASE("reports of cut-off nodes are bounded") {
  Chain chain(12);
  std::size_t reports = 0;
  const auto report = [&](std::uint32_t first, std::uint32_t ranks) {
    ++reports;
    chain.tree.post_to_host(0, event::Received{1, msg::CutOff{RankSet::run(first, ranks)}, 0});
    chain.tree.run();
  };
  for (std::uint32_t first = 1; first < 12; ++first)
    // In the worst case each agent reports its own slice.
    report(first, 12 - first);
  report(1, 11);  // a repeated report adds none
  CHECK(chain.tree.shell.first_failures.empty());
  SECTION("enough for every agent") {
    chain.ends_with("", "0-11");
  }
  SECTION("not every slice that can be thought of") {
    for (std::uint32_t first = 1; first < 12; ++first) {
      for (std::uint32_t ranks = 1; first + ranks < 12; ++ranks)
        report(first, ranks);
    }
    CHECK(reports > 4 * 12);
    chain.tree.fire(1, Timer::adopt);  // no agent adopts the orphans
    chain.ends_with("1-11", "0");
  }
}

TEST_CASE("an orphan takes no other word before it is adopted, and none from a stranger") {
  Chain chain(3);
  chain.tree.post_to_host(1, event::LinkEnded{kParentLink, "cut"});
  chain.tree.run();
  msg::Adopt adopt;
  adopt.job_id = "test";
  adopt.slice = {1, 3};
  adopt.last = true;
  Message word = adopt;
  SECTION("another job's") {
    adopt.job_id = "other";
    word = adopt;
  }
  SECTION("for less than it has") {
    adopt.slice = {1, 2};
    word = adopt;
  }
  SECTION("for another slice") {
    adopt.slice = {0, 3};
    word = adopt;
  }
  SECTION("for nodes that there are not") {
    adopt.slice = {1, 4};
    word = adopt;
  }
  SECTION("of another version") {
    adopt.version = kProtocolVersion + 1;
    word = adopt;
  }
  SECTION("more streams than it has") {
    adopt.seen.resize(5);
    word = adopt;
  }
  SECTION("an order") {
    word = msg::Terminate{15, 0};
  }
  chain.tree.post_to_host(1, event::Received{kParentLink, word, 0});
  chain.tree.run();
  CHECK_FALSE(chain.tree.node(1).signals.empty());  // it ends, as without a parent
}

}  // namespace adoption_test
