// Tests a child agent that keeps to the frames but not to the protocol, so that its parent would
// hold or pass on data without bound. The parent closes the child's link, the ranks behind it are
// lost, and no other agent notices.
#include <catch2/catch.hpp>

#include "cache/policy.h"
#include "common/core/text.h"
#include "nla/core/kvs/budget.h"
#include "tests/unit/nla/core/agent/chain.h"

namespace hostile_child_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::Chain;

namespace {

msg::Output end_of(Rank rank, Stream stream) {
  return {rank, stream, true, {}};
}

}  // namespace

TEST_CASE("a rank's stream ends once: whatever a child sends of it later breaks the protocol") {
  Chain chain;
  chain.launch();
  chain.from(1, msg::Output{2, Stream::out, true, Chunk(std::string("last"))});
  chain.from(1, end_of(2, Stream::err));
  chain.from(1, end_of(3, Stream::out));
  CHECK_FALSE(chain.closed(1));
  SECTION("another end") {
    chain.from(1, end_of(3, Stream::out));
  }
  SECTION("more bytes") {
    chain.from(1, msg::Output{2, Stream::err, false, Chunk(std::string("more"))});
  }
  CHECK(chain.closed(1));
}

TEST_CASE("a message to a node is completed though the rank that it came to ends in the middle") {
  Chain chain(true, 1000);
  chain.launch();
  const Chunk piece(std::string(1000, 'p'));
  const std::uint32_t tag = kServiceTags + 1;
  chain.from(kParentLink, msg::RoutedMessage{7, 1, tag, 2000, 0, piece});
  chain.give(event::RankExited{1, {Ending::exited, 0, false, false, {}}});
  chain.from(kParentLink, msg::RoutedMessage{7, 1, tag, 2000, 1000, piece});
  CHECK_FALSE(chain.closed(kParentLink));
  REQUIRE(chain.replies() == 1);
  CHECK(chain.reply().parts.back().size() == 2000);
}

TEST_CASE("a message that cannot be ends its neighbour, a piece that follows nothing is dropped") {
  Chain chain;
  chain.launch();
  const Chunk piece(std::string(10, 'p'));
  SECTION("it follows nothing, and its sender is elsewhere") {
    chain.from(kParentLink, msg::RoutedMessage{7, 1, 3, 100, 50, piece});
    CHECK_FALSE(chain.closed(kParentLink));
    chain.from(1, msg::RoutedMessage{4, 1, 3, 100, 50, piece});
    CHECK_FALSE(chain.closed(1));
    CHECK(chain.replies() == 0);
  }
  SECTION("it goes beyond its message, and is not passed on") {
    chain.from(1, msg::RoutedMessage{4, 7, 3, 5, 0, piece});
    CHECK(chain.closed(1));
    CHECK(chain.sent<msg::RoutedMessage>(kParentLink).empty());
  }
  SECTION("it begins beyond its message") {
    chain.from(1, msg::RoutedMessage{4, 7, 3, 1, 5, {}});
    CHECK(chain.closed(1));
  }
}

TEST_CASE("a child hands back each node below its own once") {
  Chain chain(false);
  chain.from(1, msg::HandBack{{2, 3}});
  CHECK_FALSE(chain.closed(1));
  REQUIRE(chain.sent<msg::HandBack>(kParentLink).size() == 1);
  CHECK(chain.sent<msg::HandBack>(kParentLink)[0].slice.first == 2);
  SECTION("twice") {
    chain.from(1, msg::HandBack{{2, 3}});
  }
  SECTION("and then says that it failed") {
    chain.from(1, msg::NodeFailed{2, StartPhase::connect, "x"});
  }
  CHECK(chain.closed(1));
}

TEST_CASE("a child hands back no other nodes, and none once it is ready") {
  Chain chain(false);
  SECTION("its own node") {
    chain.from(1, msg::HandBack{{1, 3}});
  }
  SECTION("another child's") {
    chain.from(1, msg::HandBack{{2, 4}});
  }
  SECTION("none") {
    chain.from(1, msg::HandBack{{2, 2}});
  }
  SECTION("late") {
    chain.from(1, msg::Ready{2});
    chain.from(1, msg::HandBack{{2, 3}});
  }
  CHECK(chain.closed(1));
  CHECK(chain.sent<msg::HandBack>(kParentLink).empty());
}

TEST_CASE("a trace without a request breaks the protocol") {
  Chain chain;
  chain.launch();
  chain.from(kParentLink, msg::Shutdown{});
  chain.from(1, msg::Report{1, true, Chunk(std::string("{}\n"))});
  CHECK(chain.closed(1));
  CHECK(chain.sent<msg::Report>(kParentLink).empty());
}

TEST_CASE("a trace that was asked for is not told before the end") {
  Chain chain;
  chain.traced = true;
  chain.launch();
  chain.from(1, msg::Report{1, true, Chunk(std::string("{}\n"))});
  CHECK(chain.closed(1));
}

TEST_CASE("a trace that was asked for is passed on at the end, of each node once") {
  Chain chain;
  chain.traced = true;
  chain.launch();
  const Chunk bytes(std::string("{}\n"));
  chain.from(kParentLink, msg::Shutdown{});
  chain.from(1, msg::Report{2, false, bytes});
  CHECK(chain.sent<msg::Report>(kParentLink).size() == 1);
  chain.from(1, msg::Report{2, true, {}});
  chain.from(1, msg::Report{1, true, bytes});
  REQUIRE_FALSE(chain.closed(1));
  CHECK(chain.sent<msg::Report>(kParentLink).size() == 1);
  SECTION("a node that has told all") {
    chain.from(1, msg::Report{2, true, bytes});
  }
  SECTION("a node elsewhere") {
    chain.from(1, msg::Report{3, true, bytes});
  }
  SECTION("a node of its own parent") {
    chain.from(1, msg::Report{0, true, bytes});
  }
  CHECK(chain.closed(1));
  CHECK(chain.sent<msg::Report>(kParentLink).empty());
}

TEST_CASE("a trace is bounded, in pieces and in bytes") {
  Chain chain;
  chain.traced = true;
  chain.launch();
  chain.from(kParentLink, msg::Shutdown{});
  SECTION("a piece of nothing") {
    chain.from(1, msg::Report{1, false, {}});
    CHECK(chain.closed(1));
  }
  SECTION("pieces without end") {
    const Chunk piece(std::string(kMaxPiece, 'x'));
    std::size_t pieces = 0;
    while (!chain.closed(1) && pieces < 10'000) {
      chain.from(1, msg::Report{1, false, piece});
      ++pieces;
    }
    CHECK(pieces > 1024);
    CHECK(pieces < 10'000);
  }
}

TEST_CASE("the questions that a child may leave waiting are bounded") {
  Chain chain;
  chain.launch();
  std::size_t asked = 0;
  while (!chain.closed(1) && asked < 100'000) {
    chain.from(1, msg::Get{cat("key", asked), true});
    ++asked;
  }
  CHECK(asked > 1000);
  CHECK(asked < 100'000);
}

TEST_CASE("a child that asks for one key again is answered once, and answers make room") {
  Chain chain;
  chain.launch();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i) {
      chain.from(1, msg::Get{cat("key", round), true});
      chain.from(1, msg::Get{cat("other", round, ".", i), true});
    }
    REQUIRE_FALSE(chain.closed(1));
    chain.give(event::Asked{0, 1, ask::Put{cat("key", round), Chunk(std::string("v"))}});
    CHECK(chain.sent<msg::Answer>(1).size() == 1);
    for (int i = 0; i < 1000; ++i) {
      chain.give(
          event::Asked{0, 1, ask::Put{cat("other", round, ".", i), Chunk(std::string("v"))}});
    }
  }
  CHECK_FALSE(chain.closed(1));
  chain.from(1, msg::Get{std::string(5000, 'k'), true});
  CHECK(chain.closed(1));
}

TEST_CASE("a child reports what was cut off only where agents are adopted") {
  Chain chain(true, GENERATE(0u, 1000u));
  SECTION("before the job") {
    chain.from(1, msg::CutOff{RankSet::run(4, 2)});
    CHECK(chain.closed(1));
    CHECK(chain.sent<msg::CutOff>(kParentLink).empty());
  }
  SECTION("while it runs") {
    chain.launch();
    chain.from(1, msg::CutOff{RankSet::run(4, 2)});
    CHECK(chain.closed(1) != chain.adopts);
    CHECK(chain.sent<msg::CutOff>(kParentLink).size() == (chain.adopts ? 1 : 0));
  }
}

TEST_CASE("a child's report of cut-off nodes is a slice of its own, with all its ranks") {
  Chain chain(true, 1000);  // ranks 2 to 5 are below the child
  chain.launch();
  RankSet ranks;
  SECTION("no rank") {}
  SECTION("half a node") {
    ranks = RankSet::run(4, 1);
  }
  SECTION("a node and a half") {
    ranks = RankSet::run(3, 3);
  }
  SECTION("another child's") {
    ranks = RankSet::run(2, 6);
  }
  SECTION("its parent's") {
    ranks = RankSet::run(0, 2);
  }
  SECTION("ranks beyond the job") {
    ranks = RankSet::run(8, 2);
  }
  chain.from(1, msg::CutOff{ranks});
  CHECK(chain.closed(1));
  CHECK(chain.sent<msg::CutOff>(kParentLink).size() == 0);
}

TEST_CASE(
    "a child tells of lost nodes below itself only, of each once, and of none before the job") {
  Chain chain;  // nodes 1 and 2 are below the child
  SECTION("before the job") {
    chain.from(1, msg::NodesLost{RankSet::single(2)});
    CHECK(chain.closed(1));
  }
  SECTION("while it runs") {
    chain.launch();
    chain.from(1, msg::NodesLost{RankSet::single(2)});
    CHECK(chain.sent<msg::NodesLost>(kParentLink).size() == 1);
    chain.from(1, msg::NodesLost{RankSet::single(2)});
    CHECK(chain.sent<msg::NodesLost>(kParentLink).empty());
    CHECK_FALSE(chain.closed(1));
    chain.from(1, msg::NodesLost{RankSet::run(2, 2)});
    CHECK(chain.closed(1));
  }
}

TEST_CASE("a child brings into open operations what its ranks may, and no more") {
  Chain chain;
  chain.launch();
  std::string bytes;
  cache::append_pair(bytes, "key", std::string(1024 * 1024, 'v'));
  const Chunk pair(std::move(bytes));
  const RankSet everybody = RankSet::run(0, 8);
  // Nodes 1 and 2 have four ranks together.
  const std::uint64_t allowed = 4 * kOverlappingBudgets * kRankBudget;
  const auto piece = [&](std::uint32_t tag, bool last) {
    chain.from(
        1, msg::CollectiveUp{{everybody, 0, tag}, CollectiveKind::fence, 0, last, {}, {}, pair});
  };
  std::uint64_t sent = 0;
  std::uint32_t tag = 0;
  for (; sent + pair.size() <= allowed && !chain.closed(1); sent += pair.size())
    piece(++tag % 4, false);
  CHECK_FALSE(chain.closed(1));
  SECTION("the next piece is one too many") {
    piece(0, false);
    CHECK(chain.closed(1));
  }
  SECTION("what is over counts no more") {
    chain.from(
        1, msg::CollectiveUp{{everybody, 0, 1}, CollectiveKind::fence, 0, true, {}, {}, Chunk()});
    for (const Rank rank : {Rank{0}, Rank{1}}) {
      ask::Collective fence;
      fence.kind = CollectiveKind::fence;
      fence.set = everybody;
      fence.tag = 1;
      chain.give(event::Asked{rank, rank + 1, fence});
    }
    chain.from(
        kParentLink,
        msg::CollectiveDown{{everybody, 0, 1}, CollectiveKind::fence, 0, true, {}, {}, Chunk()});
    piece(0, false);
    CHECK_FALSE(chain.closed(1));
  }
}

TEST_CASE("topologies go up with those below, and only of nodes below the child that tells them") {
  Chain chain(false);
  msg::Ready ready{2, {{"seven", RankSet::single(2)}}};
  SECTION("the child itself, which has told") {
    ready.topologies = {{"seven", RankSet::run(1, 2)}};
  }
  SECTION("a node of others") {
    ready.topologies = {{"seven", RankSet::run(2, 2)}};
  }
  SECTION("no node") {
    ready.topologies = {{"seven", RankSet()}};
  }
  SECTION("a node twice") {
    ready.topologies = {{"five", RankSet::single(2)}, {"seven", RankSet::single(2)}};
  }
  SECTION("a node that it has handed back") {
    chain.from(1, msg::HandBack{{2, 3}});
  }
  SECTION("more than a machine has to tell") {
    ready.topologies = {{std::string(kMaxOwnTopology + 1, 'x'), RankSet::single(2)}};
  }
  SECTION("below") {
    chain.from(1, ready);
    const auto sent = chain.sent<msg::Ready>(kParentLink);
    REQUIRE(sent.size() == 1);
    CHECK(sent[0].agents == 3);
    CHECK(sent[0].topologies ==
          TopologyList{{"four", RankSet::single(1)}, {"seven", RankSet::single(2)}});
    return;  // the last section: none is left out
  }
  chain.from(1, ready);
  CHECK(chain.closed(1));
  for (const msg::Ready& told : chain.sent<msg::Ready>(kParentLink))
    CHECK(told.topologies == TopologyList{{"four", RankSet::single(1)}});
}

TEST_CASE("a topology without a request, or larger than any, breaks the protocol") {
  SECTION("with Ready, unasked") {
    Chain chain(false, 0, "");
    chain.from(1, msg::Ready{2, {{"seven", RankSet::single(2)}}});
    CHECK(chain.closed(1));
  }
  SECTION("with Hello") {
    const bool asked = GENERATE(false, true);
    Agent agent(Role::agent);
    Actions actions;
    const auto give = [&](LinkId link, Message message) {
      actions.clear();
      agent.handle(event::Received{link, std::move(message), 0}, actions);
    };
    msg::Start start;
    start.slice = {0, 2};
    start.nodes = 2;
    start.degree = 1;
    if (asked) start.settings = std::string(kAskTopologies);
    give(kParentLink, start);
    give(kParentLink, msg::SliceHosts{true, Chunk(std::string("a\nb\n"))});
    const std::size_t size = asked ? kMaxOwnTopology + 1 : 10;
    give(1, msg::Hello{kProtocolVersion, 1, 0, 0, std::string(size, 'x')});
    CHECK(std::ranges::any_of(actions, [](const Action& action) {
      return std::holds_alternative<action::CloseLink>(action);
    }));
  }
}

TEST_CASE("rendezvous points go up only if they are asked for, and only of nodes below the child") {
  msg::Ready ready{2};
  ready.rendezvous = {{"10.0.0.2 61440", RankSet::single(2)}};
  const std::string settings = cat("topology=1\n", kAskRendezvous, "0\n");
  for (const bool asked : {false, true}) {
    Chain chain(false, 0, asked ? settings : "topology=1\n");
    chain.from(1, ready);
    CHECK(chain.closed(1) == !asked);
  }
  SECTION("of the child itself, which has said its own in its Hello") {
    ready.rendezvous = {{"10.0.0.2 61440", RankSet::single(1)}};
  }
  SECTION("longer than any") {
    ready.rendezvous = {{std::string(kMaxRendezvous + 1, '1'), RankSet::single(2)}};
  }
  Chain chain(false, 0, settings);
  chain.from(1, ready);
  CHECK(chain.closed(1));
}

TEST_CASE("nodes alike are one entry, and more kinds than a message holds say nothing") {
  Topologies alike;
  for (std::uint32_t node = 0; node < 100000; ++node)
    alike.hello(1 + node / 2000, node, node == 7 ? "" : "one");
  CHECK(alike.list() == TopologyList{{"one", RankSet::run(0, 100000).minus(RankSet::single(7))}});
  CHECK(encode(msg::Ready{1, alike.list()}).size() < 30);
  Topologies many;
  for (std::uint32_t node = 0; node < 100000; ++node)
    many.hello(1, node, cat("kind ", node));
  CHECK(many.list().size() > 4000);
  CHECK(encode(msg::Ready{1, many.list()}).size() < kMaxPayload);
}

TEST_CASE("topologies of one child leave those of others, and what a node itself has said, alone") {
  Topologies all;
  all.hello(1, 1, "honest");
  all.hello(2, 100, std::string(kMaxTopologyBytes, '\0'));
  TopologyList greedy;
  for (std::uint32_t i = 0; i < 8000; ++i)
    greedy.emplace_back(cat("a kind ", i), RankSet::single(101 + i));
  all.add(2, greedy);
  all.add(3, {{"honest", RankSet::run(10000, 5)}});
  all.add(2, {{"another", RankSet::run(1, 1)}});
  all.hello(4, 10001, "its own");
  const TopologyList list = all.list();
  const auto nodes_of = [&](const std::string& bytes) {
    for (const auto& [kind, nodes] : list)
      if (kind == bytes) return nodes.text();
    return std::string();
  };
  CHECK(nodes_of("honest") == "1,10000,10002-10004");
  CHECK(nodes_of("its own") == "10001");
  CHECK(nodes_of("another").empty());
  CHECK(list.size() > 3000);
  CHECK(encode(msg::Ready{1, list}).size() < kMaxPayload);
}

TEST_CASE("an operation is of ranks of the job only") {
  Chain chain;
  chain.launch();
  msg::CollectiveUp up;
  up.id.set = RankSet::run(2, 2);
  SECTION("ranks that are there") {
    up.id.set.add(RankSet::run(4, 4));
    chain.from(1, up);
    CHECK_FALSE(chain.closed(1));
  }
  SECTION("a rank beyond the last") {
    up.id.set.add(8);
    chain.from(1, up);
    CHECK(chain.closed(1));
  }
}

TEST_CASE("operations that a child begins have a memory bound, which they give back at their end") {
  Chain chain;
  chain.launch();
  // Each operation has two ranges of ranks, and takes 1536 + 2 * 272 bytes of the 128 MiB that two
  // nodes may begin.
  RankSet set = RankSet::run(2, 2);
  set.add(5);
  const std::uint64_t most = std::uint64_t{128} * 1024 * 1024 / (1536 + 2 * 272);
  std::uint64_t begun = 0;
  const auto begin = [&] {
    msg::CollectiveUp up;
    up.id = {set, begun++, 0};
    chain.from(1, up);
    return !chain.closed(1);
  };
  SECTION("all at once") {
    while (begun < most)
      REQUIRE(begin());
    CHECK_FALSE(begin());
  }
  SECTION("some end, and others begin") {
    for (std::uint64_t round = 0; round < 2 * most; ++round) {
      REQUIRE(begin());
      msg::CollectiveUp up;
      up.id = {set, begun - 1, 0};
      up.last = true;
      chain.from(1, up);
      msg::CollectiveDown down;
      down.id = up.id;
      down.last = true;
      chain.from(kParentLink, down);
      REQUIRE_FALSE(chain.closed(kParentLink));
    }
  }
}

TEST_CASE("sets of very many ranges count for what they take") {
  Chain chain;
  chain.ranks_of_node = 20'000;
  chain.launch();
  msg::CollectiveUp up;
  for (Rank rank = 20'000; rank < 60'000; rank += 2)
    up.id.set.add(rank);
  while (!chain.closed(1) && up.id.seq < 1000) {
    chain.from(1, up);
    ++up.id.seq;
  }
  CHECK(up.id.seq > 300);
  CHECK(up.id.seq < 500);
}

TEST_CASE("the disagreement of members is reported in a few words") {
  Chain chain;
  chain.launch();
  msg::CollectiveUp up;
  up.id.set = RankSet::run(2, 2);
  up.last = true;
  up.mismatch = std::string(1025, 'm');
  chain.from(1, up);
  CHECK(chain.closed(1));
}

TEST_CASE("a record of the log is of a node that its link leads to") {
  Chain chain;
  chain.launch();
  const LogRecord record{LogLevel::error, Subsystem::tree, "d", "text"};
  chain.from(1, msg::Log{record, 2});
  REQUIRE(chain.sent<msg::Log>(kParentLink).size() == 1);
  CHECK(chain.sent<msg::Log>(kParentLink)[0].node == 2);
  CHECK(chain.sent<msg::Log>(kParentLink)[0].record.node.empty());
  const std::uint32_t elsewhere = GENERATE(0u, 3u, UINT32_MAX);
  chain.from(1, msg::Log{record, elsewhere});
  CHECK(chain.closed(1));
  CHECK(chain.sent<msg::Log>(kParentLink).empty());
}

TEST_CASE("log records of nodes have a bound, at which they fall silent and their link goes on") {
  Chain chain;
  chain.launch();
  std::size_t bytes = 0, records = 0;
  const std::string text = GENERATE(std::string(100'000, 'x'), std::string());
  for (int i = 0; i < 5000; ++i) {
    chain.from(1, msg::Log{{LogLevel::error, Subsystem::tree, {}, text}, 1});
    for (const msg::Log& log : chain.sent<msg::Log>(kParentLink)) {
      bytes += log.record.text.size();
      ++records;
      if (i > 0 && log.record.level == LogLevel::warning)
        CHECK(log.record.text.find("said too much") != std::string::npos);
    }
  }
  CHECK_FALSE(chain.closed(1));
  CHECK(bytes <= 2 * 64 * 1024 + 4 * 1024 + 4096);
  CHECK(records <= 2 * 1024 + 64 + 1);
  CHECK(records > 10);
}

TEST_CASE("the reason why a rank or node failed is kept to its first words") {
  Chain chain;
  chain.launch();
  const std::string long_why(100'000, 'w');
  chain.from(1, msg::ProcessFail{2, {Ending::lost, 0, false, false, long_why}});
  REQUIRE(chain.sent<msg::ProcessFail>(kParentLink).size() == 1);
  CHECK(chain.sent<msg::ProcessFail>(kParentLink)[0].outcome.why.size() == 512);
  chain.from(1, msg::NodeFailed{2, StartPhase::running, long_why});
  REQUIRE(chain.sent<msg::NodeFailed>(kParentLink).size() == 1);
  CHECK(chain.sent<msg::NodeFailed>(kParentLink)[0].why.size() == 4096);
}

TEST_CASE("the causes that a subtree gives for its ranks' ends have a bound in all") {
  Chain chain;
  chain.launch();
  std::size_t bytes = 0, told = 0;
  for (int i = 0; i < 6000; ++i) {
    chain.from(1, msg::ProcessFail{2, {Ending::aborted, i, false, false, std::string(512, 'w')}});
    for (const msg::ProcessFail& one : chain.sent<msg::ProcessFail>(kParentLink)) {
      bytes += one.outcome.why.size();
      ++told;
    }
  }
  CHECK_FALSE(chain.closed(1));
  CHECK(told == 6000);
  CHECK(bytes == 2 * 1024 * 1024);  // the subtree has two nodes
}

}  // namespace hostile_child_test
