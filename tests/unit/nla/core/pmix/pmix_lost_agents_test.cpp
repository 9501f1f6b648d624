// Tests what PMIx servers ask of each other while agents between them are lost.
#include <catch2/catch.hpp>

#include "common/core/bytes.h"
#include "tests/support/launched_tree.h"
#include "tests/unit/nla/core/pmix/pmix_nodes.h"

namespace pmix_lost_agents_test {

using namespace scela;
using namespace scela::nla;
using pmix::ProcessState;
using pmix::Status;
using Nodes = scela::nla::testing::PmixNodes;

namespace {

// Node i is the parent of node i + 1, and lost agents are replaced.
Nodes chain(std::uint32_t hosts, std::uint32_t ppn) {
  return {hosts, ppn, OnFailure::wait, 1, 60'000};
}

std::vector<pmix::Process> table_of(const Nodes& nodes, std::uint32_t node, pmix::Id id) {
  REQUIRE(nodes.answer_of(node, id) != nullptr);
  REQUIRE(nodes.answer_of(node, id)->status == Status::ok);
  auto table = pmix::decode_processes(nodes.answer_of(node, id)->blob);
  REQUIRE(table);
  return *table;
}

}  // namespace

TEST_CASE("PMIx data and tables pass an adoption, at whatever moment the agent between is lost") {
  const std::string large(200'000, 'x');
  std::uint64_t moments = 0;
  for (bool came = true; came; ++moments) {
    Nodes nodes = chain(4, 1);
    nodes.interrupt_after(moments + 1, [&] { nodes.crash(1); });
    INFO("lost after " << moments << " events");
    nodes.say(0, pmix::msg::DataWanted{7, 3, {}});
    nodes.say(3, pmix::msg::DataWanted{8, 0, {}});
    nodes.say(0, pmix::msg::TableWanted{9, false});
    nodes.say(2, pmix::msg::TableWanted{10, false});
    nodes.put(3, large);
    nodes.put(0, large);
    came = nodes.interrupted();
    if (!came) break;
    nodes.put(3, large);  // asked again
    nodes.put(0, large);
    for (const auto& [node, id] : {std::pair{0u, 7u}, {3u, 8u}}) {
      REQUIRE(nodes.answer_of(node, id) != nullptr);
      CHECK(nodes.answer_of(node, id)->status == Status::ok);
      CHECK((nodes.answer_of(node, id)->blob == large));
    }
    CHECK(table_of(nodes, 0, 9).size() == 4);
    CHECK(table_of(nodes, 2, 10).size() == 4);
  }
  CHECK(moments > 20);
}

TEST_CASE("PMIx servers beyond an adoption's edge are asked as before, those of a lost node not") {
  Nodes nodes = chain(4, 1);
  nodes.crash(1);
  nodes.settle();
  nodes.say(0, pmix::msg::DataWanted{7, 3, {}});
  nodes.put(3, "far");
  REQUIRE(nodes.answer_of(0, 7) != nullptr);
  CHECK(nodes.answer_of(0, 7)->blob == "far");
  nodes.say(3, pmix::msg::DataWanted{8, 1, {}});
  CHECK(nodes.answer_of(3, 8)->status == Status::not_found);
  const auto table = table_of(nodes, (nodes.say(3, pmix::msg::TableWanted{9, false}), 3), 9);
  REQUIRE(table.size() == 4);
  CHECK(table[1].state == ProcessState::lost);
  nodes.say(0, pmix::msg::Notify{{}, "news"});
  REQUIRE(nodes.last<pmix::msg::Event>(3) != nullptr);
  CHECK(nodes.last<pmix::msg::Event>(3)->blob == "news");
}

TEST_CASE("ranks that ended well before their node was lost count as ended, and no rank waits") {
  const bool all = GENERATE(false, true);  // all or one of the node's ranks
  const bool asked_before = GENERATE(false, true);
  const auto policy = all ? GENERATE(OnFailure::wait, OnFailure::kill) : OnFailure::wait;
  Nodes nodes(3, 2, policy, 2, policy == OnFailure::wait ? 60'000 : 0);
  const std::uint32_t lost = 1;  // a child of the root
  for (Rank rank = 2; rank < (all ? 4u : 3u); ++rank) {
    nodes.exit(rank);
    nodes.settle();
  }
  if (asked_before) {  // the question is lost with the agent
    nodes.nodes[0].service->receive(pmix::msg::TableWanted{9, false});
    nodes.nodes[0].service->receive(pmix::msg::DataWanted{10, 2, {}});
  }
  nodes.crash(lost);
  nodes.settle();
  if (!asked_before) {
    nodes.say(0, pmix::msg::TableWanted{9, false});
    nodes.say(0, pmix::msg::DataWanted{10, 2, {}});
  }
  const auto table = table_of(nodes, 0, 9);
  REQUIRE(table.size() == 6);
  CHECK(table[2] == pmix::Process{2, 0, ProcessState::exited, 0});
  CHECK(table[3].state == (all ? ProcessState::exited : ProcessState::lost));
  REQUIRE(nodes.answer_of(0, 10) != nullptr);
  CHECK(nodes.answer_of(0, 10)->status == Status::not_found);
}

TEST_CASE("adopted and late agents hear which nodes were lost before") {
  SECTION("adopted") {
    Nodes nodes = chain(5, 1);
    nodes.links.hold_attach = true;
    nodes.exit(1);
    nodes.settle();
    nodes.crash(3);
    nodes.crash(1);  // its children wait for another parent while the others are told of it
    nodes.settle();
    nodes.release_attach();
    nodes.settle();
    for (const std::uint32_t node : {0u, 2u, 4u}) {
      nodes.say(node, pmix::msg::TableWanted{9, false});
      const auto table = table_of(nodes, node, 9);
      REQUIRE(table.size() == 5);
      CHECK(table[1].state == ProcessState::exited);
      CHECK(table[3].state == ProcessState::lost);
    }
  }
  SECTION("late") {
    testing::LaunchedTree tree(3, 2);
    tree.exit(1);
    tree.run();
    tree.crash(1);
    tree.run();
    tree.add_hosts(1);
    REQUIRE(tree.of(0, testing::spawn(3)).ok);
    bool told = false;
    for (const Action& action : tree.node(3).news) {
      const auto* lost = std::get_if<action::NodesLost>(&action);
      told = told || (lost != nullptr && lost->nodes == RankSet::single(1));
    }
    CHECK(told);
  }
}

TEST_CASE("data of a rank is believed of its own node only, and numbers of no node cost nothing") {
  Nodes nodes(3, 1);
  PmixService& service = *nodes.nodes[0].service;
  service.receive(pmix::msg::DataWanted{7, 1, {}});
  const auto number = [](std::uint64_t value) {
    ByteWriter out;
    out.varint(value);
    return Chunk(out.take());
  };
  const auto claim = [&](Rank from) {
    ByteWriter out;
    out.varint(7);
    out.flag(true);
    out.raw("data");
    Response response;
    response.parts = {number(from), number(kServiceTags + 1), Chunk(out.take())};
    service.reply({0, kUnasked, response});
    return nodes.answer_of(0, 7) != nullptr;
  };
  CHECK_FALSE(claim(2));
  CHECK(claim(1));
  service.receive(pmix::msg::DataWanted{8, 2, {}});
  service.nodes_lost(RankSet::run(1, UINT32_MAX - 1));
  REQUIRE(nodes.answer_of(0, 8) != nullptr);
  CHECK(nodes.answer_of(0, 8)->status == Status::not_found);
}

}  // namespace pmix_lost_agents_test
