#include "pmi/client/process_mapping.h"

#include <catch2/catch.hpp>

#include "common/core/placement/rank_map.h"
#include "common/core/random.h"

namespace process_mapping_test {

using namespace scela;
using scela::pmi::client::ranks_beside;

TEST_CASE("ranks beside one are those that the job's map puts on its node") {
  Random random(6);
  for (int round = 0; round < 300; ++round) {
    RankMap map;
    for (std::uint64_t i = 1 + random.below(5); i > 0; --i) {
      map.append(static_cast<std::uint32_t>(random.below(6)),
                 static_cast<std::uint32_t>(1 + random.below(4)));
    }
    const std::string text = map.process_mapping();
    for (Rank rank = 0; rank < map.size(); ++rank) {
      std::vector<int> expected;
      map.ranks_of(*map.node_of(rank)).for_each([&](Rank other) {
        expected.push_back(static_cast<int>(other));
      });
      REQUIRE(ranks_beside(text, static_cast<int>(rank), static_cast<int>(map.size())) == expected);
    }
  }
}

TEST_CASE("blocks begin again when they give too few ranks, as in MPICH") {
  CHECK(ranks_beside("(vector,(0,2,1))", 2, 4) == std::vector<int>{0, 2});
  CHECK(ranks_beside("(vector, (0,1,2), (1,1,1))", 1, 3) == std::vector<int>{0, 1});
}

TEST_CASE("a malformed mapping gives no ranks") {
  for (const char* text :
       {"", "(", "(vector", "(vector,)", "(vector,(0,2)", "(vector,(0,2,x))", "(vector,(0,-2,4))",
        "(vector,(0,0,0))", "(list,(0,1,1))", "(vector,(0,99999999999,1))"}) {
    INFO(text);
    CHECK(ranks_beside(text, 0, 4).empty());
  }
  CHECK(ranks_beside("(vector,(0,1,4))", 4, 4).empty());
  CHECK(ranks_beside("(vector,(0,1,4))", -1, 4).empty());
}

}  // namespace process_mapping_test
