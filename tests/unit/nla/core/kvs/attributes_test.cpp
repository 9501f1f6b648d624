#include "nla/core/kvs/attributes.h"

#include <catch2/catch.hpp>

#include "tests/support/tree_harness.h"

namespace attributes_test {

using namespace scela;
using namespace scela::nla;
using scela::nla::testing::TreeHarness;

namespace {

// Two nodes of three ranks: 0-2 and 3-5.
struct Tree : TreeHarness {
  explicit Tree(OnFailure on_failure = OnFailure::kill) : TreeHarness(2, 2) {
    begin();
    launch(job(2, 3, on_failure));
    REQUIRE(shell.launched);
  }
  void put(Rank rank, const std::string& key, const std::string& value) {
    ask(rank, ask::PutNode{key, value}, ++last);
    run();
    REQUIRE(answer(rank, last) != nullptr);
    CHECK(answer(rank, last)->ok);
  }
  RequestId get(Rank rank, const std::string& key, bool wait) {
    ask(rank, ask::GetNode{key, wait}, ++last);
    run();
    return last;
  }
  RequestId last = 0;
};

}  // namespace

TEST_CASE("an attribute of a node is seen by its ranks at once and by no other") {
  Tree tree;
  tree.put(1, "key", "value");
  CHECK(tree.answer(0, tree.get(0, "key", false))->parts[0].view() == "value");
  CHECK_FALSE(tree.answer(3, tree.get(3, "key", false))->found);
  tree.put(2, "key", "another");
  CHECK(tree.answer(1, tree.get(1, "key", true))->parts[0].view() == "another");
}

TEST_CASE("a get that waits is answered when a rank of its node puts the attribute") {
  Tree tree;
  const RequestId here = tree.get(0, "key", true);
  const RequestId also = tree.get(1, "key", true);
  const RequestId there = tree.get(4, "key", true);
  tree.put(2, "another", "value");
  CHECK(tree.answer(0, here) == nullptr);
  tree.put(2, "key", "value");
  REQUIRE(tree.answer(0, here) != nullptr);
  CHECK(tree.answer(0, here)->found);
  CHECK(tree.answer(0, here)->parts[0].view() == "value");
  REQUIRE(tree.answer(1, also) != nullptr);
  CHECK(tree.answer(4, there) == nullptr);
}

TEST_CASE("a rank that waits for an attribute is told if a rank of the node fails") {
  Tree tree(OnFailure::wait);
  const RequestId here = tree.get(0, "key", true);
  const RequestId there = tree.get(3, "key", true);
  tree.exit(1, Outcome{Ending::exited, 7, false, false, {}});
  tree.run();
  REQUIRE(tree.answer(0, here) != nullptr);
  CHECK(tree.answer(0, here)->error == "rank 1 failed");
  CHECK(tree.answer(3, there) == nullptr);
  tree.put(2, "key", "value");  // rank 0 was answered and asks no more
  CHECK(tree.answer(2, tree.get(2, "key", true))->found);
}

TEST_CASE("the attributes of a node take a bounded room, what is replaced not counted") {
  Tree tree;
  const std::string value(1024, 'v');
  RequestId refused = 0;
  int kept = 0;
  for (int i = 0; i < 1000 && refused == 0; ++i) {
    tree.ask(0, ask::PutNode{"key" + std::to_string(i), value}, ++tree.last);
    tree.run();
    if (tree.answer(0, tree.last)->ok) {
      ++kept;
    } else {
      refused = tree.last;
    }
  }
  REQUIRE(refused != 0);
  CHECK(kept > 64);
  CHECK(tree.answer(0, refused)->error == "the attributes of a node take 196608 bytes at most");
  tree.put(1, "key0", value);
  tree.put(1, "key0", "");
  CHECK(tree.answer(0, tree.get(0, "key1", false))->found);
}

TEST_CASE("under wait, a rank that asks is told which ranks have failed") {
  Tree tree(OnFailure::wait);
  const auto failed = [&] {
    tree.ask(0, ask::Failed{}, ++tree.last);
    tree.run();
    return std::string(tree.answer(0, tree.last)->parts[0].view());
  };
  CHECK(failed() == "");
  tree.exit(4, Outcome{Ending::exited, 7, false, false, {}});
  tree.exit(5, Outcome{});
  tree.run();
  CHECK(failed() == "4");
  tree.exit(1, Outcome{Ending::signaled, 11, false, false, {}});
  tree.run();
  CHECK(failed() == "1,4");
}

}  // namespace attributes_test
