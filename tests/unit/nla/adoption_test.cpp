// Agents that lose their parent while the job goes on, on a tree of 13 nodes: 0 (1 (2), 3, 4) and
// so on at degree 3; and on a chain.
#include <catch2/catch.hpp>

#include "nla/core/agent.h"
#include "tests/support/tree_harness.h"

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

// Node i is the parent of node i + 1; one rank each.
struct Chain {
  explicit Chain(std::uint32_t hosts) : tree(hosts, 1) {
    tree.adopt_ms = 1000;
    tree.begin();
    tree.launch(TreeHarness::job(hosts, 1, OnFailure::wait));
    REQUIRE(tree.launched);
  }
  void write(Rank rank, const std::string& text) {
    tree.post_to_host(rank, event::RankOutput{rank, Stream::out, Chunk(text)});
  }
  void ends_with(const std::string& lost, const std::string& well) {
    tree.exit_all();
    REQUIRE(tree.ended.size() == 1);
    CHECK(with_outcome(tree.ended[0], Ending::lost).text() == lost);
    CHECK(with_outcome(tree.ended[0], Ending::exited).text() == well);
    CHECK(tree.everybody_left());
  }
  TreeHarness tree;
};

}  // namespace

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

TEST_CASE("an agent that nobody adopts ends when its time is over") {
  Chain chain(3);
  chain.tree.post_to_host(1, event::LinkEnded{kParentLink, "cut"});
  chain.tree.run();
  CHECK(chain.tree.node(1).timers.count(Timer::adopt) == 1);
  CHECK(chain.tree.node(1).signals.empty());
  chain.tree.fire(1, Timer::adopt);
  CHECK_FALSE(chain.tree.node(1).awaiting);
  CHECK_FALSE(chain.tree.node(1).signals.empty());
}

TEST_CASE("under kill, and without time for it, nobody waits for another parent") {
  TreeHarness tree(3, 1);
  SECTION("kill") {
    tree.adopt_ms = 0;  // as scela-run says then
    tree.begin();
    tree.launch(TreeHarness::job(3, 1, OnFailure::kill));
  }
  SECTION("no time") {
    tree.begin();
    tree.launch(TreeHarness::job(3, 1, OnFailure::wait));
  }
  tree.crash(0);
  tree.run();
  REQUIRE(tree.ended.size() == 1);
  CHECK(with_outcome(tree.ended[0], Ending::lost).text() == "0-2");
}

TEST_CASE("two losses in a row are survived, from below and from above") {
  const auto order = GENERATE(std::pair{2u, 1u}, std::pair{1u, 2u});
  Chain chain(5);
  chain.tree.crash(order.first);
  if (GENERATE(true, false)) chain.tree.run();  // adopted in between, or not
  chain.tree.crash(order.second);
  chain.tree.run();
  CHECK(chain.tree.node(3).parent == chain.tree.agent_of(0));
  chain.ends_with("1-2", "0,3-4");
}

TEST_CASE(
    "output that a lost agent had not passed on arrives once, through one adopter after another") {
  Chain chain(5);
  chain.tree.show = false;  // the reader is slow: everything waits on its way
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
  CHECK(chain.tree.output.size() == all.size());
  CHECK((chain.tree.output == all));
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
  // Among themselves they go on.
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

TEST_CASE("who waits for a message from beyond a lost agent is told") {
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
  chain.tree.hold_attach = true;
  chain.tree.crash(0);
  chain.tree.run();
  chain.tree.exit(2, Outcome{Ending::exited, 3, false, false, {}});
  chain.tree.run();
  chain.tree.release_attach();
  chain.tree.exit_all();
  REQUIRE(chain.tree.ended.size() == 1);
  CHECK(with_outcome(chain.tree.ended[0], Ending::exited).text() == "1-2");
  CHECK(chain.tree.everybody_left());
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
  SECTION("for another slice") {
    adopt.slice = {1, 2};
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
