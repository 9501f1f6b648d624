// Tests keys with owners (policy dht) at one agent: what it keeps, where it sends pairs and
// questions, in which order, and which neighbours' messages break the protocol.
#include <catch2/catch.hpp>

#include "cache/dht.h"
#include "common/core/text.h"
#include "tests/unit/nla/core/agent/chain.h"

namespace owners_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::Chain;

namespace {

constexpr Rank kRanks = 8;  // 0 and 1 here, 2 to 5 below link 1, 6 and 7 elsewhere

std::string key_of(Rank owner, int which = 0) {
  for (int i = 0;; ++i) {
    const std::string key = cat("key-", i);
    if (cache::owner_of(key, kRanks) == owner && which-- == 0) return key;
  }
}

std::string pairs(std::initializer_list<std::string> keys, std::string_view value = "v") {
  std::string out;
  for (const std::string& key : keys)
    cache::append_pair(out, key, value);
  return out;
}

Chunk chunk(std::string text) {
  return Chunk(std::move(text));
}

struct Owners : Chain {
  Owners() {
    policy = cache::PolicyKind::dht;
    launch();
  }
  const RankSet all = RankSet::run(0, kRanks);

  void put(Rank rank, const std::string& key, std::string value) {
    give(event::Asked{rank, ++request, ask::Put{key, chunk(std::move(value))}});
  }
  void get(Rank rank, const std::string& key, bool wait = false) {
    give(event::Asked{rank, ++request, ask::Get{key, wait}});
  }
  void enter(Rank rank, const RankSet& set) {
    give(event::Asked{rank, ++request, ask::Collective{CollectiveKind::fence, set, 0, {}}});
  }
  msg::CollectiveUp aggregate(std::string records, bool last = true) {
    return {{all, 0, 0}, CollectiveKind::fence, 0, last, {}, {}, chunk(std::move(records))};
  }
  void release(const RankSet& set) {
    from(kParentLink, msg::CollectiveDown{{set, 0, 0}, CollectiveKind::fence, 0, true, {}, {}, {}});
  }
  // Returns what ranks of this node were answered because of the last event.
  std::vector<std::string> answers() const {
    std::vector<std::string> out;
    for (const Action& action : actions) {
      const auto* reply = std::get_if<action::Reply>(&action);
      if (reply == nullptr) continue;
      const Response& response = reply->response;
      out.push_back(!response.ok      ? "error"
                    : !response.found ? "none"
                                      : std::string(response.parts.front().view()));
    }
    return out;
  }
  // Returns the positions of messages on a link among the actions of the last event.
  template <class M>
  std::vector<std::size_t> at(LinkId link) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const auto* send = std::get_if<action::Send>(&actions[i]);
      if (send != nullptr && send->link == link && std::holds_alternative<M>(send->message))
        out.push_back(i);
    }
    return out;
  }
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("pairs of a fence go to their owners, before the word that its release waits for") {
  Owners node;
  node.put(0, key_of(0), "mine");
  node.put(0, key_of(3), "below");
  node.put(1, key_of(6), "elsewhere");
  node.from(1, node.aggregate(pairs({key_of(1), key_of(7)}, "child")));
  CHECK(node.actions.empty());  // they wait for this node's own
  node.enter(0, node.all);
  node.enter(1, node.all);
  const auto down = node.sent<msg::Pairs>(1);
  REQUIRE(down.size() == 1);
  CHECK(down[0].pairs.view() == pairs({key_of(3)}, "below"));
  const auto up = node.sent<msg::CollectiveUp>(kParentLink);
  REQUIRE(up.size() == 1);
  CHECK(up[0].last);
  CHECK(up[0].records.view() == pairs({key_of(7)}, "child") + pairs({key_of(6)}, "elsewhere"));
  CHECK(node.at<msg::Pairs>(1)[0] < node.at<msg::CollectiveUp>(kParentLink)[0]);

  node.from(kParentLink, msg::Pairs{chunk(pairs({key_of(0, 1), key_of(5)}, "above"))});
  CHECK(node.sent<msg::Pairs>(1)[0].pairs.view() == pairs({key_of(5)}, "above"));
  node.release(node.all);
  CHECK(node.replies() == 2);
  REQUIRE(node.sent<msg::CollectiveDown>(1).size() == 1);
  CHECK(node.sent<msg::CollectiveDown>(1)[0].records.empty());  // of constant size

  node.get(0, key_of(1));
  CHECK(node.answers() == Texts{"child"});
  node.get(0, key_of(0, 1));
  CHECK(node.answers() == Texts{"above"});
  node.get(0, key_of(1, 1));
  CHECK(node.answers() == Texts{"none"});  // the owner knows that it has none
  CHECK(node.agent.cache_bytes() == std::string("mine"
                                                "child"
                                                "above")
                                            .size() +
                                        key_of(0).size() + key_of(1).size() + key_of(0, 1).size());
}

TEST_CASE("questions go towards the owner, once, and answers are kept until the next fence") {
  Owners node;
  const std::string below = key_of(4), above = key_of(6);
  node.get(0, below);
  CHECK(node.sent<msg::Get>(1).size() == 1);
  node.from(kParentLink, msg::Get{below, false});
  CHECK(node.actions.empty());
  node.from(1, msg::Answer{below, false, true, false, chunk("b")});
  CHECK(node.answers() == Texts{"b"});
  REQUIRE(node.sent<msg::Answer>(kParentLink).size() == 1);
  node.get(1, below);
  CHECK(node.answers() == Texts{"b"});

  node.from(1, msg::Get{above, false});
  CHECK(node.sent<msg::Get>(kParentLink).size() == 1);
  node.from(kParentLink, msg::Answer{above, false, true, false, chunk("a")});
  CHECK(node.sent<msg::Answer>(1).size() == 1);
  node.from(1, node.aggregate({}));
  node.enter(0, node.all);
  node.enter(1, node.all);
  node.get(0, above);
  CHECK(node.answers() == Texts{"a"});
  node.release(node.all);
  node.get(0, above);
  CHECK(node.sent<msg::Get>(kParentLink).size() == 1);
}

TEST_CASE("an answer that was under way when a fence passed is for ranks that asked before it") {
  Owners node;
  const std::string key = key_of(6);
  const RankSet pair = RankSet::run(0, 2);  // a group on this node alone
  const bool whole = GENERATE(true, false);
  node.get(0, key);
  CHECK(node.sent<msg::Get>(kParentLink).size() == 1);
  if (whole) node.from(1, node.aggregate({}));
  node.enter(0, whole ? node.all : pair);
  node.enter(1, whole ? node.all : pair);
  node.release(whole ? node.all : pair);
  node.get(1, key);
  CHECK(node.sent<msg::Get>(kParentLink).empty());  // one question at a time
  node.from(1, msg::Get{key, false});
  node.from(kParentLink, msg::Answer{key, false, true, false, chunk("old")});
  CHECK(node.answers() == Texts{"old"});  // rank 0
  CHECK(node.sent<msg::Get>(kParentLink).size() == 1);
  node.from(kParentLink, msg::Answer{key, false, true, false, chunk("new")});
  CHECK(node.answers() == Texts{"new"});
  CHECK(node.sent<msg::Answer>(1)[0].value.view() == "new");
  node.get(0, key);
  CHECK(node.answers() == Texts{"new"});
}

TEST_CASE("a pair that passes makes the copy, and the answer under way, an old one") {
  Owners node;
  const std::string key = key_of(2);
  node.get(0, key);
  node.from(1, msg::Answer{key, false, true, false, chunk("old")});
  node.from(kParentLink, msg::Pairs{chunk(pairs({key}, "new"))});
  CHECK(node.sent<msg::Pairs>(1).size() == 1);
  node.get(0, key);
  REQUIRE(node.sent<msg::Get>(1).size() == 1);
  node.from(kParentLink, msg::Pairs{chunk(pairs({key}, "newer"))});
  node.from(1, msg::Answer{key, false, true, false, chunk("new")});
  CHECK(node.answers() == Texts{"new"});
  node.get(0, key);
  CHECK(node.sent<msg::Get>(1).size() == 1);
}

TEST_CASE("a rank that waits for a pair is answered when the pair comes to its owner") {
  Owners node;
  node.from(1, msg::Get{key_of(0), true});
  node.from(kParentLink, msg::Get{key_of(0), true});
  node.get(1, key_of(0), true);
  CHECK(node.actions.empty());
  node.from(kParentLink, msg::Pairs{chunk(pairs({key_of(0)}))});
  CHECK(node.answers() == Texts{"v"});
  CHECK(node.sent<msg::Answer>(1).size() == 1);
  CHECK(node.sent<msg::Answer>(kParentLink).size() == 1);
}

TEST_CASE("pairs that a lost child's ranks owned are answered as lost, at once and later") {
  Owners node;
  node.get(0, key_of(3));
  node.from(kParentLink, msg::Get{key_of(4), true});
  node.give(event::LinkEnded{1, ""});
  CHECK(node.answers() == Texts{"error"});
  REQUIRE(node.sent<msg::Answer>(kParentLink).size() == 1);
  CHECK(node.sent<msg::Answer>(kParentLink)[0].lost);
  node.from(kParentLink, msg::Get{key_of(5), false});
  REQUIRE(node.sent<msg::Answer>(kParentLink).size() == 1);
  CHECK(node.sent<msg::Answer>(kParentLink)[0].lost);
}

TEST_CASE("pairs, questions and answers that do not belong where they come from end the link") {
  Owners node;
  SECTION("an aggregate with a pair of the child's own subtree") {
    node.from(1, node.aggregate(pairs({key_of(0), key_of(4)})));
  }
  SECTION("a question about one") {
    node.from(1, msg::Get{key_of(4), false});
  }
  SECTION("an answer without a question") {
    node.from(1, msg::Answer{key_of(4), false, true, false, chunk("v")});
  }
  SECTION("an answer to what the parent was asked") {
    node.get(0, key_of(6));
    node.from(1, msg::Answer{key_of(6), false, true, false, chunk("v")});
  }
  SECTION("an answer to what it was asked otherwise") {
    node.get(0, key_of(4), true);
    node.from(1, msg::Answer{key_of(4), false, true, false, chunk("v")});
  }
  SECTION("an answer that a pair is not there, to a get that waits for it") {
    node.get(0, key_of(4), true);
    node.from(1, msg::Answer{key_of(4), true, false, false, {}});
  }
  SECTION("more questions than its ranks can be waiting for") {
    for (int i = 0; i < 1025; ++i) {
      REQUIRE_FALSE(node.closed(1));
      node.from(1, msg::Get{key_of(6, i), true});
    }
  }
  SECTION("pairs that only a parent sends") {
    node.from(1, msg::Pairs{chunk(pairs({key_of(0)}))});
  }
  CHECK(node.closed(1));
}

TEST_CASE("misdirected pairs, questions and answers from the parent end this agent") {
  Owners node;
  SECTION("pairs for others") {
    node.from(kParentLink, msg::Pairs{chunk(pairs({key_of(0), key_of(6)}))});
  }
  SECTION("pairs that are none") {
    node.from(kParentLink, msg::Pairs{chunk("\x05")});
  }
  SECTION("a question about others' keys") {
    node.from(kParentLink, msg::Get{key_of(6), false});
  }
  SECTION("an answer without a question") {
    node.from(kParentLink, msg::Answer{key_of(6), false, true, false, chunk("v")});
  }
  CHECK(node.sent<msg::Terminate>(1).size() == 1);
}

TEST_CASE("a key without an owner is asked for further up only") {
  Chain node;
  node.launch();
  node.from(kParentLink, msg::Get{"key", false});
  CHECK(node.sent<msg::Terminate>(1).size() == 1);
}

TEST_CASE("a neighbour is asked for so much at a time, the rest waits its turn") {
  Owners node;
  std::size_t asked = 0;
  for (int i = 0; i < 1100; ++i) {
    node.get(0, key_of(4, i));
    asked += node.sent<msg::Get>(1).size();
  }
  CHECK(asked == 1024);
  node.get(0, key_of(6));  // another neighbour
  CHECK(node.sent<msg::Get>(kParentLink).size() == 1);
  for (int i = 0; i < 1100; ++i) {
    node.from(1, msg::Answer{key_of(4, i), false, true, false, chunk("v")});
    REQUIRE_FALSE(node.closed(1));
    REQUIRE(node.answers() == Texts{"v"});
    asked += node.sent<msg::Get>(1).size();
  }
  CHECK(asked == 1100);
}

TEST_CASE("pairs that wait for others of their fence are bounded") {
  Owners node;
  std::string large;
  for (int i = 0; i < 50; ++i)
    cache::append_pair(large, key_of(7, i), std::string(1000, 'x'));
  std::string below;
  for (int i = 0; i < 50; ++i)
    cache::append_pair(below, key_of(2, i), std::string(1000, 'x'));
  std::size_t sent = 0;
  for (int piece = 0; piece < 20; ++piece) {
    for (int i = 0; i < 50; ++i)
      node.put(0, key_of(2, 50 * piece + i), std::string(1000, 'x'));
  }
  node.from(1, node.aggregate(large));
  node.enter(0, node.all);
  node.enter(1, node.all);
  for (const msg::Pairs& piece : node.sent<msg::Pairs>(1)) {
    CHECK(piece.pairs.size() <= 64 * 1024);
    sent += piece.pairs.size();
  }
  CHECK(sent > 1000 * 1000);
  CHECK(node.agent.held_bytes() == 0);
}

}  // namespace owners_test
