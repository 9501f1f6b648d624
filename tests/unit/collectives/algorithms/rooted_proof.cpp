#include "tests/unit/collectives/algorithms/rooted_proof.h"

#include <catch2/catch.hpp>
#include <vector>

#include "collectives/algorithms/tree.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace scela::collectives {

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

void count(const Algorithm& algorithm, const Shape& shape, const Counts& counts,
           std::uint32_t of_each) {
  const Tree tree = tree_of(algorithm, shape);
  const auto others = static_cast<std::uint32_t>(shape.ranks - 1);
  CHECK(counts.blocks == blocks_of(tree, shape));
  if (algorithm.name == "sequential") {
    CHECK(counts.messages == of_each * others);
    CHECK(counts.rounds == of_each * others);
    return;
  }
  std::uint32_t messages = others;
  for (const int child : children(tree, shape.root))
    messages += runs(tree, place_of(tree, child), subtree(tree, child)).size() > 1 ? 1 : 0;
  CHECK(messages <= others + 1);
  CHECK(counts.messages == messages);
  CHECK(counts.rounds == static_cast<std::uint32_t>(depth(tree)));
}

std::vector<std::uint64_t> unequal(const Shape& shape) {
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(shape.ranks) * shape.segments; ++i)
    sizes.push_back(i * i * 31 % 17 % 5 * 100);
  return sizes;
}

// Calls `act` with each algorithm and shape of the operation for so many ranks.
void each_rooted(Operation operation, int ranks,
                 const std::function<void(const Algorithm&, const Shape&)>& act) {
  for (const int root : roots(ranks)) {
    each_shape(operation, ranks, [&](const Algorithm& algorithm, Shape shape) {
      shape.root = root;
      for (const bool in_place : {false, true}) {
        shape.in_place = in_place;
        act(algorithm, shape);
      }
    });
  }
}

}  // namespace

void prove_rooted(Operation operation, std::uint32_t of_each) {
  for (const int ranks : rank_counts()) {
    each_rooted(operation, ranks, [&](const Algorithm& algorithm, const Shape& shape) {
      INFO(text(algorithm, shape));
      count(algorithm, shape, prove(algorithm, shape), of_each);
    });
  }
}

void prove_rooted_sizes(Operation operation) {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    each_rooted(operation, ranks, [](const Algorithm& algorithm, const Shape& shape) {
      prove_sizes(algorithm, shape, unequal(shape));
    });
  }
}

}  // namespace scela::collectives
