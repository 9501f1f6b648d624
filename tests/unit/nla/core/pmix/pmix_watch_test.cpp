#include "nla/core/pmix/pmix_watch.h"

#include <catch2/catch.hpp>

#include <deque>
#include <memory>

#include "common/core/bytes.h"
#include "tests/support/tree_harness.h"

namespace pmix_watch_test {

using namespace scela;
using namespace scela::nla;
using pmix::Process;
using pmix::ProcessState;
using pmix::Status;
using scela::nla::testing::TreeHarness;

namespace {

// The watches of `hosts` nodes with `ppn` ranks each, and what the nodes send each other.
struct Watches {
  struct Node {
    RankSet own;
    std::unique_ptr<PmixWatch> watch;
    std::vector<pmix::Message> told;
    std::vector<std::pair<Rank, std::int32_t>> killed;
    std::string written;
    bool gone = false;
  };
  struct RoutedMessage {
    std::uint32_t tag;
    Rank from;
    Rank to;
    std::string bytes;
  };

  Watches(std::uint32_t hosts, std::uint32_t ppn)
      : job(TreeHarness::job(hosts, ppn)), nodes(hosts) {
    for (std::uint32_t i = 0; i < hosts; ++i) {
      Node& node = nodes[i];
      node.own = job.map.ranks_of(i);
      PmixWatch::Callbacks sides;
      sides.tell = [&node](pmix::Message message) { node.told.push_back(std::move(message)); };
      sides.send = [this, &node](std::uint32_t tag, Rank to, std::string bytes) {
        routed_messages.push_back({tag, node.own.front(), to, std::move(bytes)});
      };
      sides.look = [](Rank rank) { return Process{rank, 100 + rank, ProcessState::running, 0}; };
      sides.kill = [&node](Rank rank, std::int32_t signo) {
        node.killed.emplace_back(rank, signo);
      };
      sides.write = [&node](Rank rank, bool, const std::string& text) {
        if (rank == 1) return false;  // its output has ended
        node.written += text;
        return true;
      };
      node.watch = std::make_unique<PmixWatch>(job, node.own, std::move(sides));
    }
  }
  // Carries what was sent, but not to nodes that are gone. Returns how many routed messages there
  // were.
  std::size_t settle() {
    std::size_t count = 0;
    for (; !routed_messages.empty(); ++count) {
      const RoutedMessage one = std::move(routed_messages.front());
      routed_messages.pop_front();
      Node& node = nodes[*job.map.node_of(one.to)];
      if (!node.gone) CHECK(node.watch->heard(one.tag, one.from, one.bytes));
    }
    return count;
  }
  template <class M>
  std::size_t say(std::uint32_t node, M message) {
    REQUIRE(nodes[node].watch->receive(message));
    return settle();
  }
  template <class M>
  std::vector<M> told(std::uint32_t node) const {
    std::vector<M> out;
    for (const pmix::Message& message : nodes[node].told) {
      if (const auto* one = std::get_if<M>(&message)) out.push_back(*one);
    }
    return out;
  }
  // Returns the table that was the last answer. It is empty if the last answer is no table.
  std::vector<Process> table(std::uint32_t node) const {
    const auto answers = told<pmix::msg::Answer>(node);
    if (answers.empty()) return {};
    return pmix::decode_processes(answers.back().blob).value_or(std::vector<Process>());
  }

  Job job;
  std::vector<Node> nodes;
  std::deque<RoutedMessage> routed_messages;
};

}  // namespace

TEST_CASE("a table of PMIx processes has those of all nodes, and what has become of them") {
  Watches all(3, 2);
  all.nodes[2].watch->ended({5, 0, ProcessState::signaled, 11});
  all.nodes[2].watch->ended({5, 0, ProcessState::exited, 0});  // the first word counts
  all.say(1, pmix::msg::TableWanted{7, false});
  const std::vector<Process> table = all.table(1);
  REQUIRE(table.size() == 6);
  for (Rank rank = 0; rank < 5; ++rank)
    CHECK(table[rank] == Process{rank, 100 + rank, ProcessState::running, 0});
  CHECK(table[5] == Process{5, 0, ProcessState::signaled, 11});
  SECTION("that of one node asks no other node") {
    CHECK(all.say(1, pmix::msg::TableWanted{8, true}) == 0);
    REQUIRE(all.table(1).size() == 2);
    CHECK(all.table(1).front().rank == 2);
  }
}

TEST_CASE("a table of one PMIx process is asked of its node alone") {
  Watches all(3, 2);
  all.nodes[1].gone = true;  // a full table would wait for it
  all.nodes[2].watch->ended({5, 0, ProcessState::exited, 0});
  all.say(0, pmix::msg::TableWanted{7, false, RankSet::single(5)});
  const std::vector<Process> table = all.table(0);
  REQUIRE(table.size() == 4);
  CHECK(table[3] == Process{5, 0, ProcessState::exited, 0});
  CHECK(all.say(0, pmix::msg::TableWanted{8, false, RankSet::single(1)}) == 0);
  CHECK(all.told<pmix::msg::Answer>(0).back().id == 8);
  pmix::msg::TableWanted strange{9, false, RankSet::single(6)};
  CHECK_FALSE(all.nodes[0].watch->receive(strange));
}

TEST_CASE("a table of PMIx processes does not wait for nodes that are gone") {
  Watches all(3, 2);
  all.nodes[2].gone = true;
  all.say(0, pmix::msg::TableWanted{1, false});
  CHECK(all.told<pmix::msg::Answer>(0).empty());
  SECTION("but it waits for a node with an agent that may be there") {
    all.nodes[0].watch->peers_failed(RankSet::single(4));
    CHECK(all.told<pmix::msg::Answer>(0).empty());
  }
  all.nodes[0].watch->peers_failed(RankSet::run(4, 2));
  REQUIRE(all.table(0).size() == 6);
  CHECK(all.table(0)[4] == Process{4, 0, ProcessState::lost, 0});
  CHECK(all.table(0)[3].state == ProcessState::running);
  // The node that is gone is not asked again.
  CHECK(all.say(0, pmix::msg::TableWanted{2, false}) == 2);
  CHECK(all.told<pmix::msg::Answer>(0).back().id == 2);
  CHECK(all.table(0).size() == 6);
}

TEST_CASE("tables of PMIx processes that are awaited have a bound") {
  Watches all(2, 1);
  all.nodes[1].gone = true;
  for (pmix::Id id = 1; id <= kMaxTables; ++id)
    all.say(0, pmix::msg::TableWanted{id, false});
  CHECK(all.told<pmix::msg::Answer>(0).empty());
  all.say(0, pmix::msg::TableWanted{kMaxTables + 1, false});
  REQUIRE(all.told<pmix::msg::Answer>(0).size() == 1);
  CHECK(all.told<pmix::msg::Answer>(0).front().id == 1);
  CHECK(all.told<pmix::msg::Answer>(0).front().status == Status::ok);
  all.nodes[0].watch->peers_failed(RankSet::single(1));
  CHECK(all.told<pmix::msg::Answer>(0).size() == kMaxTables + 1);
}

TEST_CASE("a PMIx event goes once to each other node that it is for") {
  Watches all(3, 2);
  CHECK(all.say(0, pmix::msg::Notify{{}, "to all"}) == 2);
  CHECK(all.told<pmix::msg::Event>(0).empty());
  CHECK(all.told<pmix::msg::Event>(1).size() == 1);
  REQUIRE(all.told<pmix::msg::Event>(2).size() == 1);
  CHECK(all.told<pmix::msg::Event>(2).front().blob == "to all");
  CHECK(all.say(0, pmix::msg::Notify{RankSet::run(1, 2), "to some"}) == 1);
  CHECK(all.told<pmix::msg::Event>(1).size() == 2);
  // No watch sends an event that is too large, or takes one about ranks beyond the job.
  CHECK(all.say(0, pmix::msg::Notify{{}, std::string(kMaxEvent + 1, 'x')}) == 0);
  pmix::msg::Notify beyond{RankSet::run(5, 2), "x"};
  CHECK_FALSE(all.nodes[0].watch->receive(beyond));
}

TEST_CASE("all servers are told of ranks that have failed") {
  Watches all(2, 2);
  all.nodes[0].watch->peers_failed(RankSet::single(3));
  REQUIRE(all.told<pmix::msg::RanksFailed>(0).size() == 1);
  CHECK(all.told<pmix::msg::RanksFailed>(0).front().ranks == RankSet::single(3));
}

TEST_CASE("a signal that PMIx asks for reaches its ranks on every node, but none that has ended") {
  Watches all(2, 2);
  all.nodes[1].watch->ended({3, 0, ProcessState::exited, 0});
  CHECK(all.say(0, pmix::msg::Control{1, RankSet::run(1, 3), 10}) == 1);
  CHECK(all.nodes[0].killed == std::vector{std::pair{Rank{1}, 10}});
  CHECK(all.nodes[1].killed == std::vector{std::pair{Rank{2}, 10}});
  CHECK(all.told<pmix::msg::Answer>(0).front().status == Status::ok);
  for (const std::int32_t signo : {0, -1, 65}) {
    pmix::msg::Control wrong{2, RankSet::single(0), signo};
    CHECK_FALSE(all.nodes[0].watch->receive(wrong));
    ByteWriter bytes;
    bytes.u32(static_cast<std::uint32_t>(signo));
    bytes.ranks(RankSet::single(0));
    all.nodes[0].watch->heard(0xfffffffb, 2, bytes.bytes());
  }
  pmix::msg::Control beyond{3, RankSet::single(4), 9};
  CHECK_FALSE(all.nodes[0].watch->receive(beyond));
  CHECK(all.nodes[0].killed.size() == 1);
}

TEST_CASE("text that PMIx is to log is put among the output of its rank, if that has not ended") {
  Watches all(1, 2);
  all.say(0, pmix::msg::Log{1, 0, false, "line"});
  CHECK(all.nodes[0].written == "line");
  all.say(0, pmix::msg::Log{2, 1, false, "more"});
  all.say(0, pmix::msg::Log{3, 0, false, std::string(kMaxLog + 1, 'x')});
  const auto answers = all.told<pmix::msg::Answer>(0);
  REQUIRE(answers.size() == 3);
  CHECK(answers[0].status == Status::ok);
  CHECK(answers[1].status == Status::failed);
  CHECK(answers[2].status == Status::too_large);
  pmix::msg::Log beyond{4, 2, false, "x"};
  CHECK_FALSE(all.nodes[0].watch->receive(beyond));
}

TEST_CASE("a PMIx watch that is told nonsense by another does nothing") {
  Watches all(3, 1);
  all.nodes[2].gone = true;
  all.say(0, pmix::msg::TableWanted{1, false});
  PmixWatch& watch = *all.nodes[0].watch;
  CHECK_FALSE(watch.heard(0xfffffff0, 1, "a direct modex is not for it"));
  for (const std::string& bytes : {std::string(), std::string(20, '\xff'), std::string("\1\1\1")}) {
    for (std::uint32_t tag = 0xfffffff8; tag <= 0xfffffff9; ++tag)
      CHECK(watch.heard(tag, 1, bytes));
    CHECK(watch.heard(0xfffffffb, 1, bytes));
  }
  // A node must not tell of another node's processes.
  all.say(0, pmix::msg::TableWanted{2, false});
  ByteWriter out;
  out.varint(2);
  out.raw(
      pmix::encode_processes({{0, 1, ProcessState::exited, 0}, {2, 5, ProcessState::running, 0}}));
  CHECK(watch.heard(0xfffffff9, 2, out.bytes()));
  const auto table = all.table(0);
  REQUIRE(table.size() == 3);
  CHECK(table[0].state == ProcessState::running);
  CHECK(table[2].pid == 5);
  CHECK(all.nodes[0].killed.empty());
}

}  // namespace pmix_watch_test
