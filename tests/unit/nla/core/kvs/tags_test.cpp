// Tests operations of one set of ranks that tags keep apart.
#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "nla/core/kvs/budget.h"
#include "nla/core/tree/agent.h"
#include "tests/support/tree_harness.h"

namespace tags_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::TreeHarness;

namespace {

// Two nodes of three ranks: 0-2 and 3-5.
struct Tree : TreeHarness {
  Tree() : TreeHarness(2, 2) {
    begin();
    launch(job(2, 3));
    REQUIRE(shell.launched);
  }
  RequestId enter(Rank rank, const RankSet& set, std::uint32_t tag,
                  CollectiveKind kind = CollectiveKind::fence) {
    ask::Collective call;
    call.kind = kind;
    call.set = set;
    call.tag = tag;
    ask(rank, call, ++last);
    run();
    return last;
  }
  bool released(Rank rank, RequestId id) const {
    return answer(rank, id) != nullptr && answer(rank, id)->ok;
  }
  RequestId last = 0;
};

}  // namespace

TEST_CASE("operations of one set with different tags overlap, in any order") {
  Tree tree;
  const RankSet set = RankSet::run(1, 3);
  std::map<std::uint32_t, std::vector<std::pair<Rank, RequestId>>> asked;
  const auto enter = [&](Rank rank, std::uint32_t tag) {
    asked[tag].emplace_back(rank, tree.enter(rank, set, tag));
  };
  const auto released = [&](std::uint32_t tag) {
    std::size_t count = 0;
    for (const auto& [rank, id] : asked[tag])
      count += tree.released(rank, id) ? 1 : 0;
    return count;
  };
  enter(1, 7);
  enter(2, 8);
  enter(3, 8);
  enter(2, 7);
  CHECK(released(7) + released(8) == 0);
  enter(1, 8);
  CHECK(released(8) == 3);
  CHECK(released(7) == 0);
  enter(3, 7);
  CHECK(released(7) == 3);
}

TEST_CASE("pairs taken along by overlapping fences of the job are not lost to later ones") {
  Tree tree;
  const RankSet all = RankSet::run(0, 6);
  const auto put = [&](const std::string& key) {
    tree.ask(0, ask::Put{key, Chunk(std::string("value of ") + key)}, ++tree.last);
    tree.run();
  };
  const auto everybody = [&](Rank first, std::uint32_t tag) {
    for (Rank rank = first; rank < 6; ++rank)
      tree.enter(rank, all, tag);
  };
  put("a");
  for (Rank rank = 0; rank < 3; ++rank)
    tree.enter(rank, all, 1);  // takes a along
  put("b");
  everybody(0, 0);  // is done: a and b are everywhere
  put("c");
  for (Rank rank = 0; rank < 3; ++rank)
    tree.enter(rank, all, 2);  // takes c along
  everybody(3, 1);
  for (Rank rank = 3; rank < 6; ++rank)
    tree.enter(rank, all, 2, CollectiveKind::barrier);  // fails: they disagree
  CHECK_FALSE(tree.answer(5, tree.last)->ok);
  everybody(0, 0);
  for (const std::string key : {"a", "b", "c"}) {
    tree.ask(5, ask::Get{key}, ++tree.last);
    tree.run();
    REQUIRE(tree.answer(5, tree.last) != nullptr);
    CHECK(tree.answer(5, tree.last)->found);
  }
}

TEST_CASE("a rank that makes up sets and tags without end is refused") {
  Tree tree;
  std::uint32_t tag = 0;
  const Response* answer = nullptr;
  do {
    ask::Collective barrier;
    barrier.set = RankSet::single(0);
    barrier.tag = ++tag;
    tree.ask(0, barrier, tag);
    tree.run();
    answer = &tree.programs.answers.back().response;
  } while (answer->ok && tag < 1'000'000);
  CHECK(tag > 10'000);
  CHECK(answer->error == "the ranks of this node have used too many groups and tags");
}

TEST_CASE("a rank that puts without end is refused until the next fence of all ranks") {
  Tree tree;
  const Chunk value(std::string(1024 * 1024, 'v'));
  const auto put = [&](Rank rank, const std::string& key) {
    tree.ask(rank, ask::Put{key, value}, ++tree.last);
    tree.run();
    return *tree.answer(rank, tree.last);
  };
  // Each node has three ranks.
  const std::uint64_t most = 3 * kRankBudget / (value.size() + 16);
  std::uint64_t taken = 0;
  while (taken <= most && put(0, cat("key ", taken)).ok)
    ++taken;
  CHECK(taken >= most - 1);
  CHECK(taken <= most);
  CHECK(put(1, "another").error ==
        "the ranks of this node have put more than 32 MiB each since the last fence of all ranks");
  CHECK(put(3, "elsewhere").ok);
  for (Rank rank = 0; rank < 6; ++rank)
    tree.enter(rank, RankSet::run(0, 6), 0);
  CHECK(put(1, "another").ok);
}

}  // namespace tags_test
