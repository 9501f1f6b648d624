#include "collectives/core/analysis/connection_count.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tests/unit/collectives/core/analysis/hand_written.h"

namespace connection_count_test {

using namespace scela::collectives;

TEST_CASE("nodes are numbered as their first ranks come, whatever they are called") {
  const std::vector<int> called = {30, 7, 30, -2, 7, 7};
  const NodeMap nodes(called);
  CHECK(nodes.ranks() == 6);
  CHECK(nodes.nodes() == 3);
  CHECK(nodes.of(0) == 0);
  CHECK(nodes.of(3) == 2);
  CHECK(nodes.members(1) == std::vector<int>{1, 4, 5});
  const std::vector<int> otherwise = {0, 1, 0, 2, 1, 1};
  CHECK(nodes == NodeMap(otherwise));
  CHECK(NodeMap(std::vector<int>{}).nodes() == 0);
}

TEST_CASE("a census counts each peer of a rank once, however often and in either direction") {
  const std::vector<int> called = {0, 0, 1, 1};
  Census census(4);
  const auto list = parse(
      "blocks in 1 out 2 scratch 0\nreceive 1 -> out[0]\nreceive 2 -> out[1]\nsend 1 <- in[0]\n"
      "send 1 <- in[0]\nwait received 1 1\nwait received 2 1\nwait sent 1 2\nsignal\n");
  REQUIRE(list);
  census.add(0, *list);
  census.add(0, *list);
  CHECK(census.to(0) == std::set<int>{1});
  CHECK(census.from(0) == std::set<int>{1, 2});
  CHECK(census.peers(0) == std::set<int>{1, 2});
  CHECK(census.peers_off_node(0, NodeMap(called)) == std::set<int>{2});
  CHECK(census.peers(1).empty());
}

}  // namespace connection_count_test
