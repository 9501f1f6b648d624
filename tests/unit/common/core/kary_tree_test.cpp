#include "common/core/kary_tree.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

namespace kary_tree_test {

using namespace scela;

namespace {

// Returns k + k^2 + ... + k^depth, as the rule writes it.
std::uint64_t capacity(std::uint64_t degree, std::uint32_t depth) {
  std::uint64_t level = 1;
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < depth; ++i)
    total += level *= degree;
  return total;
}

// Returns the levels of agents if the root splits `nodes` hosts.
std::uint32_t tree_depth(std::uint32_t nodes, std::uint32_t degree) {
  std::uint32_t most = 0;
  for (const Slice& slice : split({0, nodes}, degree))
    most = std::max(most, height(slice, degree));
  return most;
}

}  // namespace

TEST_CASE(
    "the degree is the smallest with a tree that is deep enough, up to the connection limit") {
  for (const std::uint32_t depth : {1u, 2u, 3u, 4u, 7u}) {
    for (const std::uint32_t ranks : {0u, 1u, 8u, 64u, 100u, 120u, 126u}) {
      const TreeLimits limits{kMaxConnections, depth};
      std::uint32_t smallest = 1;  // grows with the nodes
      for (std::uint32_t nodes = 1; nodes <= 5000; ++nodes) {
        while (capacity(smallest, depth) < nodes)
          ++smallest;
        const auto degree = choose_degree(nodes, ranks, limits);
        REQUIRE(degree.has_value());
        const std::uint32_t most = kMaxConnections - 1 - ranks;
        if (*degree != std::min(smallest, most)) {
          FAIL("nodes " << nodes << " ranks " << ranks << " depth " << depth << ": degree "
                        << *degree);
        }
        // Thesis section 2.2.2: c + k + 1 <= MAX_CONN, whatever the depth becomes.
        if (ranks + *degree + 1 > kMaxConnections) FAIL("too many connections at " << nodes);
      }
    }
  }
}

TEST_CASE("the degree of some well-known sizes") {
  const auto degree = [](std::uint32_t nodes, std::uint32_t ranks) {
    return choose_degree(nodes, ranks, {}).value();
  };
  CHECK(degree(1, 8) == 1);
  CHECK(degree(3, 8) == 1);
  CHECK(degree(4, 8) == 2);
  CHECK(degree(14, 8) == 2);
  CHECK(degree(15, 8) == 3);
  CHECK(degree(64, 8) == 4);
  CHECK(degree(256, 8) == 6);
  CHECK(degree(1000, 16) == 10);
  CHECK(degree(4096, 8) == 16);
  CHECK(degree(1000, 120) == 7);        // capped: 128 - 1 - 120
  CHECK(degree(10'000'000, 0) == 127);  // the connections alone cap it
}

TEST_CASE("the degree never exceeds what log_k(n) <= MAX_DEPTH asks for") {
  // The thesis counts the first agent as the tree's root. Here scela-run is an extra root, which
  // saves a little.
  for (std::uint32_t nodes = 2; nodes <= 5000; ++nodes) {
    std::uint64_t thesis = 1;
    while (thesis * thesis * thesis < nodes)
      ++thesis;
    INFO("at " << nodes);
    CHECK(choose_degree(nodes, 0, {}).value() <= thesis);
  }
}

TEST_CASE("a tree without a cap on its degree is at most MAX_DEPTH deep") {
  for (const std::uint32_t depth : {1u, 2u, 3u, 5u}) {
    for (std::uint32_t nodes = 1; nodes <= 5000; nodes += nodes < 300 ? 1 : 17) {
      const TreeLimits limits{100'000, depth};
      const std::uint32_t degree = choose_degree(nodes, 0, limits).value();
      if (tree_depth(nodes, degree) > depth) FAIL("nodes " << nodes << " depth " << depth);
    }
  }
  const std::uint32_t capped = choose_degree(5000, 120, {}).value();
  CHECK(capped == 7);
  CHECK(tree_depth(5000, capped) > kMaxDepth);
}

TEST_CASE("ranks that leave no connection for a child hang all nodes under the root while it can") {
  CHECK(choose_degree(1, 5000, {}).value() == 1);
  CHECK(choose_degree(10, 127, {}).value() == 10);
  CHECK(choose_degree(127, 128, {}).value() == 127);
  CHECK(tree_depth(127, 127) == 1);  // no agent has a child
}

TEST_CASE("ranks that leave no connection for a child are an error with numbers and option") {
  CHECK(choose_degree(200, 126, {}).value() == 1);
  for (const std::uint32_t ranks : {127u, 128u, 5000u}) {
    const auto degree = choose_degree(128, ranks, {});
    REQUIRE_FALSE(degree.has_value());
    const std::string text = degree.error().text();
    CHECK(degree.error().kind == ErrorKind::usage);
    CHECK(text.find(std::to_string(ranks) + " ranks") != std::string::npos);
    CHECK(text.find("limit 128") != std::string::npos);
    CHECK(text.find("128 nodes") != std::string::npos);
    CHECK(text.find("--max-conn") != std::string::npos);
  }
}

TEST_CASE("splitting covers the slice exactly in pieces that differ by at most one") {
  for (std::uint32_t size = 0; size <= 200; ++size) {
    for (const std::uint32_t degree : {1u, 2u, 3u, 7u, 16u, 127u, 300u}) {
      const Slice whole{11, 11 + size};
      const std::vector<Slice> parts = split(whole, degree);
      REQUIRE(parts.size() == std::min(size, degree));
      std::uint32_t at = whole.first;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        REQUIRE(parts[i].first == at);
        REQUIRE(parts[i].size() > 0);
        REQUIRE(parts.front().size() - parts[i].size() <= 1);
        if (i > 0) REQUIRE(parts[i - 1].size() >= parts[i].size());
        at = parts[i].end;
      }
      if (!parts.empty()) REQUIRE(at == whole.end);
    }
  }
}

TEST_CASE("the height of a slice is the longest way down to a leaf") {
  CHECK(height({5, 5}, 3) == 0);
  CHECK(height({5, 6}, 3) == 1);
  CHECK(height({5, 9}, 3) == 2);
  CHECK(height({5, 10}, 3) == 3);
  CHECK(height({0, 100}, 1) == 100);
}

TEST_CASE("every node has the parent that handed it its slice") {
  CHECK(parents(0, 3).empty());
  CHECK(parents(5, 5) == std::vector<std::uint32_t>(5, kRootParent));
  // The root has two children, 0 and 4. Each has two of its own, and the first child of 0 has one
  // more.
  CHECK(parents(7, 2) == std::vector<std::uint32_t>{kRootParent, 0, 1, 0, kRootParent, 4, 4});
  for (const std::uint32_t nodes : {1u, 2u, 15u, 64u, 1000u, 4097u}) {
    const std::uint32_t degree = choose_degree(nodes, 8, {}).value();
    const std::vector<std::uint32_t> parent = parents(nodes, degree);
    std::vector<std::uint32_t> children(nodes + 1, 0);
    for (std::uint32_t node = 0; node < nodes; ++node) {
      const bool below_root = parent[node] == kRootParent;
      REQUIRE((below_root || parent[node] < node));
      ++children[below_root ? nodes : parent[node]];
      std::uint32_t levels = 1;
      for (std::uint32_t at = node; parent[at] != kRootParent; at = parent[at])
        ++levels;
      REQUIRE(levels <= kMaxDepth);
    }
    CHECK(*std::max_element(children.begin(), children.end()) <= degree);
  }
}

constexpr TreeLimits kNoLimit{100'000, 3};

TEST_CASE("the number of levels is the one that starts fastest") {
  const StartCosts costs{200'000, 6'000};
  const auto time_of = [&](std::uint32_t nodes, std::uint32_t depth) {
    const std::uint32_t degree = choose_degree(nodes, 0, {100'000, depth}).value();
    return depth * (costs.level_us + std::uint64_t{costs.child_us} * degree);
  };
  for (const std::uint32_t nodes : {1u, 2u, 3u, 16u, 47u, 48u, 64u, 128u, 500u, 1000u, 5000u}) {
    const std::uint32_t depth = choose_depth(nodes, 0, kNoLimit, costs);
    for (std::uint32_t other = 1; other <= 3; ++other) {
      CHECK(time_of(nodes, depth) <= time_of(nodes, other));
      if (other < depth) CHECK(time_of(nodes, depth) < time_of(nodes, other));
    }
  }
  CHECK(choose_depth(47, 0, kNoLimit, costs) == 1);
  CHECK(choose_depth(64, 0, kNoLimit, costs) == 2);
  CHECK(choose_depth(5000, 0, kNoLimit, costs) == 3);
  CHECK(choose_depth(5000, 0, {100'000, 1}, costs) == 1);
  // If a level costs nothing, the smallest degree is best; if a child costs nothing, one level is.
  CHECK(choose_depth(64, 0, kNoLimit, {0, 1}) == 3);
  CHECK(choose_depth(64, 0, kNoLimit, {1, 0}) == 1);
  CHECK(choose_depth(64, 0, kNoLimit, {0, 0}) == 1);
}

TEST_CASE("levels for which an agent cannot hold the children are not chosen") {
  const StartCosts costs{200'000, 1'500};
  CHECK(choose_depth(150, 0, kNoLimit, costs) == 1);
  CHECK(choose_depth(150, 1, {128, 3}, costs) == 2);
  // An agent with one rank holds 126 children of 128 connections, and with four ranks 123.
  for (const std::uint32_t ranks : {1u, 4u}) {
    CHECK(choose_depth(127 - ranks, ranks, {128, 3}, costs) == 1);
    CHECK(choose_depth(128 - ranks, ranks, {128, 3}, costs) == 2);
  }
  // The tree has as many levels as were chosen, because its degree is not capped.
  for (std::uint32_t nodes = 1; nodes <= 1000; ++nodes) {
    const TreeLimits limits{128, choose_depth(nodes, 1, {128, 3}, costs)};
    const std::uint32_t degree = choose_degree(nodes, 1, limits).value();
    INFO("at " << nodes << " with degree " << degree);
    CHECK(tree_depth(nodes, degree) == limits.max_depth);
  }
  // No number of levels is possible: the tree has as many as it needs.
  CHECK(choose_depth(1000, 120, {128, 3}, costs) == 3);
  CHECK(choose_depth(1000, 127, {128, 3}, costs) == 3);
}

}  // namespace kary_tree_test
