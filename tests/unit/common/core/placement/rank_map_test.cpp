#include "common/core/placement/rank_map.h"

#include <catch2/catch.hpp>
#include <optional>
#include <vector>

#include "common/core/random.h"

namespace rank_map_test {

using namespace scela;

TEST_CASE("a regular job is one block, written as PMI_process_mapping has it") {
  RankMap map;
  map.append(0, 4);
  map.append(1, 4);
  CHECK(map.process_mapping() == "(vector,(0,2,4))");
  CHECK(map.blocks().size() == 1);
  CHECK(map.size() == 8);
  CHECK(RankMap().process_mapping() == "(vector)");
}

TEST_CASE("an irregular job has a block for every change of pattern") {
  RankMap map;
  map.append(0, 4);
  map.append(1, 2);
  map.append(2, 2);
  map.append(3, 0);  // a node without ranks leaves a gap
  map.append(4, 2);
  CHECK(map.process_mapping() == "(vector,(0,1,4),(1,2,2),(4,1,2))");
  CHECK(map.size() == 10);
  CHECK(map.ranks_of(0).text() == "0-3");
  CHECK(map.ranks_of(2).text() == "6-7");
  CHECK(map.ranks_of(3).empty());
  CHECK(map.ranks_of(4).text() == "8-9");
  CHECK(map.ranks_of(1, 5).text() == "4-9");
  CHECK(map.node_of(9) == 4u);
  CHECK(map.node_of(10) == std::nullopt);
}

TEST_CASE("a node may come up again, as in cyclic placement") {
  RankMap map;
  for (const std::uint32_t node : {0u, 1u, 0u, 1u})
    map.append(node, 1);
  CHECK(map.process_mapping() == "(vector,(0,2,1),(0,2,1))");
  CHECK(map.ranks_of(0).text() == "0,2");
  CHECK(map.ranks_of(1).text() == "1,3");
  CHECK(map.ranks_of(0, 2).text() == "0-3");
}

TEST_CASE("ranks and nodes find each other in random maps") {
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    RankMap map;
    std::vector<std::uint32_t> node_of_rank;
    for (std::uint64_t i = random.below(12); i > 0; --i) {
      const auto node = static_cast<std::uint32_t>(random.below(6));
      const auto ranks = static_cast<std::uint32_t>(random.below(4));
      map.append(node, ranks);
      node_of_rank.insert(node_of_rank.end(), ranks, node);
    }
    REQUIRE(map.size() == node_of_rank.size());
    REQUIRE(RankMap::from_blocks(map.blocks()) == map);
    for (std::uint32_t first = 0; first < 7; ++first) {
      for (std::uint32_t end = first; end < 8; ++end) {
        RankSet expected;
        for (Rank rank = 0; rank < map.size(); ++rank) {
          if (node_of_rank[rank] >= first && node_of_rank[rank] < end) expected.add(rank);
        }
        REQUIRE(map.ranks_of(first, end) == expected);
      }
    }
    for (Rank rank = 0; rank < map.size(); ++rank)
      REQUIRE(map.node_of(rank) == node_of_rank[rank]);
    REQUIRE(map.node_of(map.size()) == std::nullopt);
  }
}

}  // namespace rank_map_test
