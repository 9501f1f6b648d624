#include "collectives/algorithms/tree.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "tests/unit/collectives/algorithms/proof.h"

namespace tree_test {

using namespace scela::collectives;

namespace {

std::vector<Tree> trees(int ranks, int root) {
  std::vector<Tree> all;
  for (const auto form : {Tree::Form::flat, Tree::Form::chain, Tree::Form::binary})
    all.push_back({form, ranks, root, 2});
  for (const std::uint32_t radix : {2u, 3u, 4u, 8u, 5000u})
    all.push_back({Tree::Form::nomial, ranks, root, radix});
  return all;
}

// Returns the number of levels below `root`, found by walking, and marks each rank that it meets. A
// chain is as deep as there are ranks, so the function does not call itself.
int walk(const Tree& tree, int root, std::vector<bool>& met) {
  int deepest = 0;
  std::vector<std::pair<int, int>> left{{root, 0}};  // a rank, and its level
  while (!left.empty()) {
    const auto [rank, level] = left.back();
    left.pop_back();
    if (met.at(static_cast<std::size_t>(rank))) FAIL("rank " << rank << " is met twice");
    met[static_cast<std::size_t>(rank)] = true;
    deepest = std::max(deepest, level);
    int next = place_of(tree, rank) + 1;
    for (const int child : children(tree, rank)) {
      if (parent(tree, child) != rank) FAIL("rank " << child << " does not know its parent");
      // Algorithms rely on this: a subtree's places follow each other, and children are in order.
      if (place_of(tree, child) != next) FAIL("rank " << child << " is at another place");
      next += subtree(tree, child);
      if (child != rank) left.emplace_back(child, level + 1);
    }
    if (next != place_of(tree, rank) + subtree(tree, rank)) FAIL("subtree of " << rank);
  }
  return deepest;
}

}  // namespace

TEST_CASE("every rank has one place in every tree, and subtrees are runs of places") {
  for (const int ranks : rank_counts()) {
    for (const int root : roots(ranks)) {
      for (const Tree& tree : trees(ranks, root)) {
        INFO("form " << static_cast<int>(tree.form) << " radix " << tree.radix << " ranks " << ranks
                     << " root " << root);
        std::vector<bool> met(static_cast<std::size_t>(ranks), false);
        if (depth(tree) != walk(tree, root, met)) FAIL("another depth");
        if (std::count(met.begin(), met.end(), true) != ranks) FAIL("ranks are missing");
        CHECK(parent(tree, root) == kNoParent);
      }
    }
  }
}

TEST_CASE("trees look as they are drawn in books") {
  const Tree binomial{Tree::Form::nomial, 8, 0, 2};
  CHECK(children(binomial, 0) == std::vector{1, 2, 4});
  CHECK(children(binomial, 4) == std::vector{5, 6});
  CHECK(children_largest_first(binomial, 0) == std::vector{4, 2, 1});
  CHECK(parent(binomial, 7) == 6);
  CHECK(depth(binomial) == 3);
  const Tree turned{Tree::Form::nomial, 8, 3, 2};
  CHECK(children(turned, 3) == std::vector{4, 5, 7});
  CHECK(children(turned, 7) == std::vector{0, 1});
  CHECK(runs(turned, place_of(turned, 7), subtree(turned, 7)) ==
        std::vector<Stretch>{{7, 1}, {0, 3}});
  CHECK(runs(turned, 0, 8) == std::vector<Stretch>{{3, 5}, {0, 3}});
  const Tree by_three{Tree::Form::nomial, 9, 0, 3};
  CHECK(children(by_three, 0) == std::vector{1, 2, 3, 6});
  CHECK(depth(by_three) == 2);
  const Tree binary{Tree::Form::binary, 7, 0, 2};
  CHECK(children(binary, 0) == std::vector{1, 4});
  CHECK(children(binary, 4) == std::vector{5, 6});
  CHECK(depth(binary) == 2);
  CHECK(depth({Tree::Form::binary, 1000, 0, 2}) == 9);
}

}  // namespace tree_test
