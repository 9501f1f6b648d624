// The end of a node's processes, without an agent around it.
#include "nla/core/job/node_processes.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <variant>

namespace node_processes_test {

using namespace scela;
using namespace scela::nla;

namespace {

// A node with ranks 0 and 1, which have been started.
struct EndingNode {
  EndingNode() : output(context), processes(context, verdicts, output) {
    context.node = 0;
    context.grace_ms = 500;
    context.own_ranks = context.subtree_ranks = RankSet::run(0, 2);
    context.job.emplace();
    context.out = &actions;
    verdicts.expect(context.own_ranks);
    processes.start(context.own_ranks, true);
    processes.on(event::RankStarted{0});
    processes.on(event::RankStarted{1});
    actions.clear();
  }
  void ranks_end() { verdicts.record(context.own_ranks, {}); }
  void pipes_end() {
    for (const Rank rank : {0u, 1u}) {
      processes.on(event::RankStreamEnded{rank, Stream::out});
      processes.on(event::RankStreamEnded{rank, Stream::err});
    }
  }
  template <class A>
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::count_if(actions.begin(), actions.end(),
                      [](const Action& action) { return std::holds_alternative<A>(action); }));
  }

  Context context;
  Verdicts verdicts;
  OutputFlow output;
  NodeProcesses processes;
  Actions actions;
};

TEST_CASE("a node has ended once its ranks, what they left behind and its pipes have") {
  EndingNode node;
  CHECK_FALSE(node.processes.end());
  CHECK(node.actions.empty());
  node.ranks_end();
  CHECK_FALSE(node.processes.end());
  CHECK_FALSE(node.processes.end());
  CHECK(node.count<action::EndLeftovers>() == 1);
  node.processes.on(event::NodeEmpty{});
  CHECK_FALSE(node.processes.end());
  node.pipes_end();
  CHECK(node.processes.end());
}

TEST_CASE("a node that was emptied by force is asked again, as ranks may have left more behind") {
  EndingNode node;
  node.processes.force_end();
  node.processes.on(event::NodeEmpty{});
  node.actions.clear();
  node.processes.force_end();
  CHECK(node.actions.empty());
  node.ranks_end();
  node.pipes_end();
  CHECK_FALSE(node.processes.end());
  CHECK(node.count<action::EndLeftovers>() == 1);
  node.processes.on(event::NodeEmpty{});
  CHECK(node.processes.end());
}

TEST_CASE("the time limit of a node ends its ranks first with SIGTERM and then by force") {
  EndingNode node;
  node.processes.limit_reached();
  CHECK(node.processes.timed_out());
  REQUIRE(node.count<action::SignalRanks>() == 1);
  CHECK(node.count<action::EndLeftovers>() == 0);
  node.processes.limit_reached();
  CHECK(node.count<action::SignalRanks>() == 1);
  CHECK(node.count<action::EndLeftovers>() == 1);
}

TEST_CASE("the time limit of a node means nothing to ranks that have ended") {
  EndingNode node;
  node.ranks_end();
  node.processes.limit_reached();
  CHECK_FALSE(node.processes.timed_out());
  CHECK(node.actions.empty());
}

TEST_CASE("pipes that stay open without output are dropped when the node is empty") {
  EndingNode node;
  node.ranks_end();
  node.processes.end();
  node.processes.on(event::NodeEmpty{});
  CHECK_FALSE(node.processes.end());
  node.processes.drain();
  CHECK(node.count<action::DropStreams>() == 1);
  node.pipes_end();
  CHECK(node.processes.end());
}

}  // namespace
}  // namespace node_processes_test
