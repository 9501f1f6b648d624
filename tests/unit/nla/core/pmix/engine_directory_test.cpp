// Tests how the agents of a job find the adapter engines of each other's nodes.
#include "nla/core/pmix/engine_directory.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "tests/support/tree_harness.h"

namespace engine_directory_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::TreeHarness;

namespace {

// The directories of `hosts` nodes with two ranks each, over a tree of agents. The test plays the
// engines.
struct Nodes : TreeHarness {
  struct Node {
    RankSet own;
    std::vector<std::string> told;       // what the engine was told
    std::vector<std::string> not_taken;  // said, but not heard by the directory yet
    std::unique_ptr<EngineDirectory> directory;
  };

  explicit Nodes(std::uint32_t hosts) : TreeHarness(hosts, 2), work(job(hosts, 2)), nodes(hosts) {
    begin();
    launch(work);
    REQUIRE(shell.launched);
    for (std::uint32_t i = 0; i < hosts; ++i) {
      Node& node = nodes[i];
      node.own = work.map.ranks_of(i);
      EngineDirectory::Callbacks sides;
      sides.tell = [&node](std::string_view text) { node.told.emplace_back(text); };
      sides.send = [this, i](Rank from, const ask::Send& send) {
        ++asked;
        post(agent_of(i), event::Asked{from, kEngineRequest, send});  // also if that rank has ended
      };
      sides.catch_up = [&node] {
        for (const std::string& text : std::exchange(node.not_taken, {}))
          REQUIRE(node.directory->said(text));
      };
      sides.key = [i](std::uint32_t from) {
        return std::string(30, '\0') + static_cast<char>(i) + static_cast<char>(from);
      };
      node.directory = std::make_unique<EngineDirectory>(work, node.own, std::move(sides));
    }
  }
  void say(std::uint32_t node, const std::string& text) {
    REQUIRE(nodes[node].directory->said(text));
    run();
    for (; passed < programs.answers.size(); run()) {
      const auto one = programs.answers[passed++];
      if (one.id == kEngineRequest) continue;  // it only says that the message was sent
      REQUIRE(
          nodes[*work.map.node_of(one.rank)].directory->heard({one.rank, one.id, one.response}));
    }
  }

  Job work;
  std::vector<Node> nodes;
  std::size_t passed = 0;
  int asked = 0;
};

action::Reply message(Rank source, std::uint32_t tag, std::string text) {
  ByteWriter from, about;
  from.varint(source);
  about.varint(tag);
  Response response;
  response.parts = {Chunk(from.take()), Chunk(about.take()), Chunk(std::move(text))};
  return {0, kUnasked, response};
}

using Told = std::vector<std::string>;

// Returns what an engine is told of the engine of node `node`, with the key of connections from
// node `from` to it.
std::string peer(std::uint32_t node, std::string_view address, std::uint32_t from) {
  return cat("peer ", node, " ", address, " ", std::string(60, '0'), "0", node, "0", from);
}

}  // namespace

TEST_CASE("engines: the agent answers where another node's engine is") {
  Nodes job(5);
  job.say(4, "listening 192.0.2.4:7000");
  job.say(1, "listening [2001:db8::1]:80");
  CHECK(job.asked == 0);  // no engine is told of what it did not ask
  job.say(1, "where 4");
  CHECK(job.nodes[1].told == Told{peer(4, "192.0.2.4:7000", 1)});
  job.say(4, "where 1");
  CHECK(job.nodes[4].told == Told{peer(1, "[2001:db8::1]:80", 4)});
  CHECK(job.asked == 4);  // a question and its answer
  for (const std::uint32_t other : {0u, 2u, 3u})
    CHECK(job.nodes[other].told.empty());
}

TEST_CASE("engines: an engine that has ended, or that never was, is said to be none") {
  Nodes job(3);
  job.say(0, "where 2");
  CHECK(job.nodes[0].told == Told{"nobody 2"});
  job.say(2, "listening 127.0.0.1:1");
  job.nodes[2].directory->ended();
  job.say(0, "where 2");
  job.say(2, "listening 127.0.0.1:2");
  job.say(0, "where 2");
  CHECK(job.nodes[0].told == Told{"nobody 2", "nobody 2", peer(2, "127.0.0.1:2", 0)});
  // The directory has no engine to name for a node without ranks, nor for the asker's own node.
  job.say(0, "where 9");
  job.say(0, "where 0");
  CHECK(job.nodes[0].told.size() == 5);
  CHECK(job.nodes[0].told.back() == "nobody 0");
}

TEST_CASE("engines: an address that an engine announced before the question counts") {
  Nodes job(2);
  job.nodes[1].not_taken = {"listening 127.0.0.1:5"};
  job.say(0, "where 1");
  CHECK(job.nodes[0].told == Told{peer(1, "127.0.0.1:5", 0)});
}

TEST_CASE("engines: they are found also when the ranks that would be asked have ended") {
  Nodes job(3);
  job.say(2, "listening 127.0.0.1:5");
  job.exit(0);
  job.exit(4);
  job.run();
  job.say(0, "where 2");
  CHECK(job.nodes[0].told == Told{peer(2, "127.0.0.1:5", 0)});
}

TEST_CASE("engines: senseless messages are not passed on") {
  Nodes job(2);
  EngineDirectory& directory = *job.nodes[0].directory;
  for (const char* const text :
       {"", "listening", "listening ", "listening a b", "listening 1.2.3.4:5\n", "where", "where ",
        "where x", "where 1 ", "where 99999999999", "peer 1"}) {
    CAPTURE(text);
    CHECK_FALSE(directory.said(text));
  }
  CHECK_FALSE(directory.listens());
  const std::string key(64, 'a');
  for (const std::string& text :
       {std::string("1.2.3.4:5"), std::string("1.2.3.4:5 6"), cat("1.2.3.4:5  ", key),
        cat("1.2.3.4:5 ", key, "a"), cat("1.2.3.4:5 ", std::string(64, 'g')), cat(" ", key),
        cat("1.2.3.4:5 ", key, " ", key)})
    CHECK(directory.heard(message(2, kEngineTag, text)));
  CHECK(directory.heard(message(2, kEngineTag, std::string(100, '1'))));
  CHECK(directory.heard(message(99, kEngineTag, "1.2.3.4:5")));
  CHECK(job.nodes[0].told.empty());
  // Messages of PMIx have other tags.
  CHECK_FALSE(directory.heard(message(2, kServiceTags, "?")));
  CHECK_FALSE(directory.heard({0, 7, {}}));
}

}  // namespace engine_directory_test
