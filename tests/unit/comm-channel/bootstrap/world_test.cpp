#include <catch2/catch.hpp>

#include "comm-channel/bootstrap/bootstrap.h"
#include "comm-channel/bootstrap/pmi_spaces.h"

namespace world_test {

using namespace scela;
using namespace scela::channel;

TEST_CASE("nodes are numbered by their first ranks, without gaps") {
  CHECK(numbered_by_first_ranks({"b", "a", "b", "c"}) == std::vector<int>{0, 1, 0, 2});
  CHECK(numbered_by_first_ranks({"node 7"}) == std::vector<int>{0});
}

TEST_CASE("a world lists the ranks of each node") {
  World world;
  world.rank = 3;
  world.size = 5;
  world.node_of = {0, 1, 2, 0, 1};
  world.nodes = 3;
  CHECK(world.node() == 0);
  CHECK(world.ranks_of(1) == std::vector<int>{1, 4});
  CHECK(world.local_rank() == 1);
  CHECK(world.local_size() == 2);
}

TEST_CASE("a mapping that names not all ranks is not used") {
  CHECK(node_names_of("(vector,(0,2,2))", 4) ==
        std::vector<std::string>{"node 0", "node 0", "node 1", "node 1"});
  CHECK(node_names_of("", 4).empty());
  CHECK(node_names_of("(vector)", 1).empty());
}

TEST_CASE("a launcher is told one line") {
  CHECK(one_line("two\nlines\x7f") == "two lines ");
}

}  // namespace world_test
