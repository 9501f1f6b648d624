#include "nla/core/pmix/pmix_copies.h"

#include <catch2/catch.hpp>

#include <deque>
#include <memory>
#include <vector>

#include "common/core/bytes.h"
#include "nla/core/wire/request_names.h"
#include "tests/support/tree_harness.h"

namespace pmix_copies_test {

using namespace scela;
using namespace scela::nla;
using pmix::msg::Copy;
using pmix::msg::Pull;
using pmix::msg::PullNoMore;
using pmix::msg::Taken;
using scela::nla::testing::TreeHarness;

namespace {

// The copies of `hosts` nodes with two ranks each, and what the nodes send each other.
struct Copiers {
  struct Node {
    RankSet own;
    std::unique_ptr<PmixCopies> copies;
    std::vector<Copy> told;
  };
  struct RoutedMessage {
    std::uint32_t tag;
    Rank from;
    Rank to;
    std::string bytes;
  };

  explicit Copiers(std::uint32_t hosts) : job(TreeHarness::job(hosts, 2)), nodes(hosts) {
    for (std::uint32_t i = 0; i < hosts; ++i) {
      Node& node = nodes[i];
      node.own = job.map.ranks_of(i);
      node.copies = std::make_unique<PmixCopies>(
          job, node.own,
          PmixCopies::Callbacks{
              [&node](pmix::Message message) {
                node.told.push_back(std::get<Copy>(std::move(message)));
              },
              [this, &node](std::uint32_t tag, Rank to, std::string bytes) {
                routed_messages.push_back({tag, node.own.front(), to, std::move(bytes)});
              }});
    }
  }
  void settle() {
    for (; !routed_messages.empty(); routed_messages.pop_front()) {
      const RoutedMessage one = routed_messages.front();
      REQUIRE(nodes[one.to / 2].copies->heard(one.tag, one.from, one.bytes));
    }
  }
  template <class M>
  void say(std::uint32_t node, M message) {
    REQUIRE(nodes[node].copies->receive(message));
    settle();
  }
  void write(Rank rank, bool error, const std::string& text) {
    nodes[rank / 2].copies->output(rank, error, text);
    settle();
  }
  // Returns what a node's server was told. If `takes` is true, the server says that it has passed
  // it on.
  std::vector<Copy> told(std::uint32_t node, bool takes = true) {
    const std::vector<Copy> all = std::exchange(nodes[node].told, {});
    for (const Copy& one : all)
      if (takes) say(node, Taken{one.rank, one.bytes.size()});
    return all;
  }

  Job job;
  std::vector<Node> nodes;
  std::deque<RoutedMessage> routed_messages;
};

RankSet set_of(std::initializer_list<Rank> ranks) {
  RankSet out;
  for (const Rank rank : ranks)
    out.add(rank);
  return out;
}

}  // namespace

TEST_CASE("copies of ranks' output on any node go to the servers that want them, and no others") {
  Copiers copiers(3);
  copiers.write(3, false, "before");
  copiers.say(0, Pull{set_of({0, 3}), true, false});
  copiers.say(0, Pull{set_of({4}), false, true});
  copiers.say(2, Pull{set_of({3}), true, true});
  CHECK_FALSE(copiers.nodes[1].copies->receive(*std::make_unique<Pull>(Pull{set_of({6}), true})));
  copiers.write(0, false, "zero");
  copiers.write(0, true, "not wanted");
  copiers.write(1, false, "nor that");
  copiers.write(3, false, "three");
  copiers.write(3, true, "three's error");
  copiers.write(4, true, "four");
  CHECK(copiers.told(0) ==
        std::vector<Copy>{{0, false, 0, "zero"}, {3, false, 0, "three"}, {4, true, 0, "four"}});
  CHECK(copiers.told(2) ==
        std::vector<Copy>{{3, false, 0, "three"}, {3, true, 0, "three's error"}});
  CHECK(copiers.told(1).empty());
  SECTION("until they want no more") {
    copiers.say(0, PullNoMore{});
    CHECK_FALSE(copiers.nodes[0].copies->wanted());
    copiers.write(0, false, "zero");
    copiers.write(3, false, "three");
    CHECK(copiers.told(0).empty());
    CHECK(copiers.told(2).size() == 1);
  }
  SECTION("or their node is gone") {
    copiers.nodes[1].copies->peers_failed(set_of({0, 1, 4}));
    copiers.nodes[1].copies->peers_failed(set_of({5}));
    CHECK_FALSE(copiers.nodes[1].copies->wanted());
  }
}

TEST_CASE(
    "copies for which a slow reader has no room are dropped, and the reader is told how many") {
  const std::uint32_t hosts = GENERATE(1U, 2U);
  Copiers copiers(hosts);
  const Rank writer = hosts == 1 ? 1 : 3;
  const std::string piece(64 * 1024, 'x');
  copiers.say(0, Pull{set_of({writer}), true, true});
  std::uint64_t written = 0;
  for (int i = 0; i < 100; ++i, written += piece.size())
    copiers.write(writer, false, piece);
  std::vector<Copy> all = copiers.told(0, false);
  const std::uint64_t had = all.size() * piece.size();
  CHECK(had == kCopiesWindow / hosts);
  // There is room for one more copy, which says what is missing before it.
  copiers.say(0, Taken{writer, piece.size()});
  copiers.write(writer, true, "error");
  copiers.write(writer, false, "more");
  CHECK(copiers.told(0, false) ==
        std::vector<Copy>{{writer, true, 0, "error"}, {writer, false, written - had, "more"}});
  copiers.write(writer, false, piece);
  CHECK(copiers.told(0, false).empty());
  // A gap that no copy follows is told when all else was taken. A server gains nothing if it says
  // that it took more than it got.
  copiers.say(0, Taken{writer, 10 * had});
  CHECK(copiers.told(0) == std::vector<Copy>{{writer, false, piece.size(), ""}});
  for (int i = 0; i < 100; ++i)
    copiers.write(writer, false, piece);
  CHECK(copiers.told(0).size() == had / piece.size());
}

TEST_CASE("copies without a request, or of other nodes' ranks, are not believed") {
  Copiers copiers(3);
  constexpr std::uint32_t kCopy = kServiceTags + 13;
  const auto claim = [&](Rank from, Rank of) {
    ByteWriter out;
    out.varint(1);
    out.varint(of);
    out.flag(false);
    out.varint(0);
    out.raw("text");
    CHECK(copiers.nodes[0].copies->heard(kCopy, from, out.bytes()));
    return copiers.told(0).size();
  };
  CHECK(claim(2, 2) == 0);
  copiers.say(0, Pull{set_of({2, 4}), true, true});
  CHECK(claim(2, 2) == 1);
  CHECK(claim(2, 4) == 0);
  CHECK(claim(2, 0) == 0);
  for (const std::uint32_t tag : {kServiceTags + 12, kCopy, kServiceTags + 14}) {
    CHECK(copiers.nodes[0].copies->heard(tag, 2, "\xff"));
    CHECK(copiers.nodes[0].copies->heard(tag, 99, "text"));
  }
  CHECK_FALSE(copiers.nodes[0].copies->heard(kServiceTags + 11, 2, ""));
  CHECK(copiers.told(0).empty());
}

TEST_CASE("a node that sends more copies than its window is cut short, and its reader told so") {
  Copiers copiers(2);
  copiers.say(0, Pull{set_of({2}), true, true});
  const std::string piece(64 * 1024, 'e');
  const auto flood = [&](std::uint64_t generation) {
    ByteWriter out;
    out.varint(generation);
    out.varint(2);
    out.flag(false);
    out.varint(0);
    out.raw(piece);
    CHECK(copiers.nodes[0].copies->heard(kServiceTags + 13, 2, out.bytes()));
  };
  for (int i = 0; i < 1000; ++i)
    flood(1);
  const std::uint64_t had = copiers.told(0, false).size() * piece.size();
  CHECK(had == kCopiesWindow / 2);
  copiers.say(0, Taken{2, had});
  CHECK(copiers.told(0) == std::vector<Copy>{{2, false, 1000 * piece.size() - had, ""}});
  flood(7);  // no question asked for these
  CHECK(copiers.told(0).empty());
}

TEST_CASE("copies go on after an adoption, whatever was lost with the agent between") {
  Copiers copiers(2);
  const std::string piece(64 * 1024, 'x');
  const std::size_t window = kCopiesWindow / 2 / piece.size();
  const bool question = GENERATE(true, false);
  if (question) {
    Pull pull{set_of({2}), true, false};
    REQUIRE(copiers.nodes[0].copies->receive(pull));
    copiers.routed_messages.clear();
    copiers.write(2, false, "unheard");
  } else {
    copiers.say(0, Pull{set_of({2}), true, false});
    for (std::size_t i = 0; i < window; ++i)
      copiers.write(2, false, piece);
    // All copies but three have been passed on, but their writer will not hear of it.
    for (std::size_t i = 3; i < window; ++i) {
      Taken taken{2, piece.size()};
      REQUIRE(copiers.nodes[0].copies->receive(taken));
    }
    copiers.routed_messages.clear();
    CHECK(copiers.told(0, false).size() == window);
    copiers.write(2, false, "no room");
    CHECK(copiers.told(0, false).empty());
  }
  for (Copiers::Node& node : copiers.nodes)
    node.copies->reconnected(set_of({2, 3}));
  copiers.settle();
  for (std::size_t i = 0; i < 2 * window; ++i)
    copiers.write(2, false, piece);
  CHECK(copiers.told(0, false).size() == (question ? window : window - 3));
  SECTION("but not to and of nodes that are lost") {
    copiers.nodes[1].copies->nodes_lost(RankSet::single(0));
    CHECK_FALSE(copiers.nodes[1].copies->wanted());
    copiers.nodes[0].copies->nodes_lost(RankSet::single(1));
    copiers.nodes[0].copies->reconnected(set_of({2, 3}));
    CHECK(copiers.routed_messages.empty());
  }
}

}  // namespace pmix_copies_test
