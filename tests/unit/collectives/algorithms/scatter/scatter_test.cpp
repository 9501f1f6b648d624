#include <catch2/catch.hpp>

#include "collectives/algorithms/tree.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace scatter_test {

using namespace scela::collectives;

namespace {

// Returns the blocks in all messages: each block takes as many messages as its rank is levels below
// the root.
std::uint64_t blocks_of(const Tree& tree, const Shape& shape) {
  std::uint64_t blocks = 0;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    if (rank != shape.root) blocks += static_cast<std::uint64_t>(subtree(tree, rank));
  }
  return blocks * shape.segments;
}

void count(const Algorithm& algorithm, const Shape& shape, const Counts& counts) {
  const Tree tree = tree_of(algorithm, shape);
  const auto others = static_cast<std::uint32_t>(shape.ranks - 1);
  CHECK(counts.blocks == blocks_of(tree, shape));
  if (algorithm.name == "sequential") {
    CHECK(counts.messages == others);
    CHECK(counts.rounds == others);
    return;
  }
  std::uint32_t messages = others;
  for (const int child : children(tree, shape.root))
    messages += runs(tree, place_of(tree, child), subtree(tree, child)).size() > 1 ? 1 : 0;
  CHECK(messages <= others + 1);
  CHECK(counts.messages == messages);
  CHECK(counts.rounds == static_cast<std::uint32_t>(depth(tree)));
}

// Returns sizes of a few bytes, none, and many.
std::vector<std::uint64_t> unequal(const Shape& shape) {
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(shape.ranks) * shape.segments; ++i)
    sizes.push_back(i * i * 31 % 17 % 5 * 100);
  return sizes;
}

}  // namespace

TEST_CASE("scatter: every block comes to its rank, as few messages as the formulas say") {
  for (const int ranks : rank_counts()) {
    for (const int root : roots(ranks)) {
      each_shape(Operation::scatter, ranks, [&](const Algorithm& algorithm, Shape shape) {
        shape.root = root;
        for (const bool in_place : {false, true}) {
          shape.in_place = in_place;
          INFO(text(algorithm, shape));
          count(algorithm, shape, prove(algorithm, shape));
        }
      });
    }
  }
}

TEST_CASE("scatter: the v form is the same list, with blocks of any sizes") {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    for (const int root : roots(ranks)) {
      each_shape(Operation::scatter, ranks, [&](const Algorithm& algorithm, Shape shape) {
        shape.root = root;
        for (const bool in_place : {false, true}) {
          shape.in_place = in_place;
          prove_sizes(algorithm, shape, unequal(shape));
        }
      });
    }
  }
}

TEST_CASE("scatter: a sequential root sends to one rank at a time") {
  const Algorithm& each = algorithm(Operation::scatter, "sequential");
  const Shape shape{.operation = Operation::scatter, .ranks = 9, .root = 4};
  std::uint32_t sending = 0;
  for (const Task& task : each.build(shape, shape.root).tasks) {
    if (task.kind == Kind::send) CHECK(++sending == 1);
    if (task.kind == Kind::wait_sent) sending -= task.count;
  }
  CHECK(sending == 0);
}

}  // namespace scatter_test
