// Tests trees in which the application runs the levels nearest the leaves (P2).
#include <algorithm>
#include <catch2/catch.hpp>

#include "collectives/algorithms/registry/registry.h"
#include "tests/support/list_stages.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace split_test {

using namespace scela::collectives;

namespace {

template <typename Act>
void each_split(const std::vector<int>& all_ranks, Act act) {
  for (const int ranks : all_ranks) {
    for (const Algorithm& each : algorithms()) {
      if (!each.has_split) continue;
      for (const int root : roots(ranks)) {
        if (root > 0 && each.operation == Operation::allreduce) continue;
        Shape shape{.operation = each.operation, .ranks = ranks, .root = root};
        shape.segments = each.has_segments && (ranks + root) % 2 != 0 ? 3 : 1;
        shape.radix = each.has_radix ? 3 : 2;
        for (shape.split = 0; shape.split <= 5; ++shape.split)
          act(each, shape);
      }
    }
  }
}

Tree tree_for(const Shape& shape) {
  return {Tree::Form::nomial, shape.ranks, shape.operation == Operation::allreduce ? 0 : shape.root,
          shape.radix};
}

// Returns the level of a message. Level 0 is nearest the leaves.
int level_of(const Tree& tree, int one, int other) {
  int apart = std::abs(place_of(tree, one) - place_of(tree, other));
  int level = 0;
  for (; apart % static_cast<int>(tree.radix) == 0; apart /= static_cast<int>(tree.radix))
    ++level;
  return level;
}

// Returns the transfers at level i of ceil(log2 N) levels, with 1 at the root. These are the odd
// multiples of the level's distance below N. The printed F(N, i) of RR-9160 is one too large for
// most N, for example for eight ranks and level 1: its second term has N - 2^floor(log2 N) instead
// of one less.
int transfers(int ranks, int level) {
  const int distance = 1 << (ceil_log(ranks, 2) - level);
  return (ranks - 1 + distance) / (2 * distance);
}

}  // namespace

TEST_CASE("split: the result is exact wherever the tree is cut, in the same messages") {
  std::vector<int> counts = {1000};
  for (int ranks = 1; ranks <= 70; ++ranks)
    counts.push_back(ranks);
  Counts whole;
  each_split(counts, [&](const Algorithm& each, Shape shape) {
    if (shape.ranks > 70 && shape.segments > 1) return;
    INFO(text(each, shape));
    const Counts counted = prove(each, shape);
    if (shape.split == 0) whole = counted;
    CHECK(counted.messages == whole.messages);
    CHECK(counted.blocks == whole.blocks);
    // A rank may be later because its next stage waits for the one before it.
    if (shape.segments == 1) CHECK(counted.rounds <= whole.rounds + 2);
    if (shape.ranks > 20) return;
    shape.in_place = shape.operation != Operation::bcast;
    prove(each, shape);
    shape.commutes = false;
    prove(each, shape);
  });
}

TEST_CASE("split: the levels nearest the leaves are the application's, and no others") {
  each_split({1, 2, 3, 7, 8, 13, 32, 50}, [](const Algorithm& each, const Shape& shape) {
    INFO(text(each, shape));
    const Tree tree = tree_for(shape);
    for (int rank = 0; rank < shape.ranks; ++rank) {
      const TaskList list = each.build(shape, rank);
      const std::vector<Stage> all = stages(shape, list);
      if (shape.split == 0) {
        REQUIRE(all.size() == 1);
        CHECK(all[0].list == list);
        CHECK_FALSE(all[0].of_application);
        continue;
      }
      const bool is_down =
          shape.operation == Operation::bcast || shape.operation == Operation::scatter;
      REQUIRE(all.size() == (shape.operation == Operation::allreduce ? 3 : 2));
      CHECK(all.front().of_application != is_down);
      for (const Stage& stage : all) {
        for (const Task& task : stage.list.tasks) {
          if (task.kind != Kind::send && task.kind != Kind::receive) continue;
          const bool is_low = level_of(tree, rank, task.peer) < static_cast<int>(shape.split);
          if (is_low != stage.of_application) FAIL("rank " << rank << ": " << to_text(task));
        }
      }
    }
  });
}

TEST_CASE("split: a stage is a list of its own, and together they are the whole") {
  each_split({1, 5, 16, 21}, [](const Algorithm& each, const Shape& shape) {
    INFO(text(each, shape));
    for (int rank = 0; rank < shape.ranks; ++rank) {
      const TaskList list = each.build(shape, rank);
      std::vector<Task> together;
      for (const Stage& stage : stages(shape, list)) {
        REQUIRE_FALSE(stage.list.tasks.empty());
        CHECK(stage.list.tasks.back().kind == Kind::signal);
        std::int64_t open = 0;
        for (const Task& task : stage.list.tasks) {
          if (task.kind == Kind::send || task.kind == Kind::receive) ++open;
          if (task.kind == Kind::wait_sent || task.kind == Kind::wait_received) open -= task.count;
        }
        CHECK(open == 0);
        CHECK(std::ranges::equal(stage.list.blocks, list.blocks));
        together.insert(together.end(), stage.list.tasks.begin(), stage.list.tasks.end());
      }
      CHECK(together == list.tasks);
    }
  });
}

TEST_CASE("split: a binomial tree has as many transfers on each level as the model needs") {
  for (const int ranks : up_to_130(2)) {
    const Tree tree{Tree::Form::nomial, ranks, 0, 2};
    const int high = ceil_log(ranks, 2);
    std::vector<int> counted(static_cast<std::size_t>(high) + 1);
    for (int rank = 1; rank < ranks; ++rank)
      ++counted[static_cast<std::size_t>(high - level_of(tree, rank, parent(tree, rank)))];
    for (int level = 1; level <= high; ++level) {
      INFO(ranks << " ranks, level " << level);
      CHECK(counted[static_cast<std::size_t>(level)] == transfers(ranks, level));
    }
  }
}

}  // namespace split_test
