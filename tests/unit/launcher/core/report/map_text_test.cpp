#include <catch2/catch.hpp>

#include "common/core/text.h"
#include "launcher/core/report/job_report.h"

namespace map_text_test {

using namespace scela;

TEST_CASE("the plan shows the tree, the ranks of each node and the command of each program") {
  RankMap map;
  for (std::uint32_t node = 0; node < 3; ++node)
    map.append(node, 2);
  map.append(0, 1);
  const std::vector<std::string> names{"a", "b", "c", "d"};
  const std::vector<std::int64_t> parents{-1, 0, 0, -1};
  const std::vector<SegmentRanks> segments{{0, 6}, {6, 1}};
  const std::vector<std::vector<std::string>> commands{{"./p", "two words"}, {"./q"}};
  CHECK(map_text({map, names, parents, segments, commands}) ==
        "7 ranks on 4 nodes\n"
        "scela-run\n"
        "|-- a  ranks 0-1,6\n"
        "|   |-- b  ranks 2-3\n"
        "|   `-- c  ranks 4-5\n"
        "`-- d  no ranks\n"
        "ranks 0-5: ./p 'two words'\n"
        "rank 6: ./q\n");
}

TEST_CASE("leaves of a large tree that look alike share a line") {
  RankMap map;
  std::vector<std::string> names;
  std::vector<std::int64_t> parents;
  for (std::uint32_t node = 0; node < 100; ++node) {
    map.append(node, node < 90 ? 2 : 1);
    names.push_back(cat("n", node));
    parents.push_back(node == 0 ? -1 : 0);
  }
  const std::vector<SegmentRanks> segments{{0, map.size()}};
  CHECK(map_text({map, names, parents, segments, {{"p"}}}) ==
        "190 ranks on 100 nodes\n"
        "scela-run\n"
        "`-- n0  ranks 0-1\n"
        "    |-- n[1-89]  2 ranks each: 2-179\n"
        "    `-- n[90-99]  1 rank each: 180-189\n"
        "ranks 0-189: p\n");
}

TEST_CASE("a tree as deep as the host list is long is drawn") {
  RankMap map;
  std::vector<std::string> names;
  std::vector<std::int64_t> parents;
  for (std::uint32_t node = 0; node < 500; ++node) {
    map.append(node, 1);
    names.push_back(cat("n", node));
    parents.push_back(static_cast<std::int64_t>(node) - 1);
  }
  const std::string text = map_text({map, names, parents, {}, {}});
  CHECK(text.find("`-- n499  rank 499\n") != std::string::npos);
}

TEST_CASE("a command is shown as a shell would need it") {
  CHECK(command_text({"./p", "-n", "5", "a=b", "/x:y"}) == "./p -n 5 a=b /x:y");
  CHECK(command_text({"p", "", "$HOME", "it's"}) == "p '' '$HOME' 'it'\\''s'");
}

TEST_CASE("nodes with ranks that are bound alike share their lines") {
  std::vector<NodeBindings> nodes;
  for (Rank node = 0; node < 100; ++node) {
    nodes.push_back({cat("n", node), "2 cores", {{2 * node, "core 0"}, {2 * node + 1, "core 1"}}});
  }
  nodes[7].has = "3 cores";
  nodes[8].ranks[1].second = "core 0";
  CHECK(bindings_text({}).empty());
  CHECK(bindings_text(nodes) ==
        "bindings:\n"
        "n[0-6,9-99]: 2 cores\n"
        "  ranks 0,2,4,...,198: core 0\n"
        "  ranks 1,3,5,...,199: core 1\n"
        "n7: 3 cores\n"
        "  rank 14: core 0\n"
        "  rank 15: core 1\n"
        "n8: 2 cores\n"
        "  ranks 16-17: core 0\n");
  // If names fold badly, the text leaves some out.
  std::vector<NodeBindings> apart;
  for (Rank node = 0; node < 100; ++node)
    apart.push_back({cat("n", 2 * node), "2 cores", {}});
  CHECK(bindings_text(apart) == "bindings:\nn0,n2,...,n198 (100 nodes): 2 cores\n");
}

}  // namespace map_text_test
