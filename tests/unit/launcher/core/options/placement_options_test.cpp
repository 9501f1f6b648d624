#include "launcher/core/options/placement_options.h"

#include <catch2/catch.hpp>

namespace placement_options_test {

using namespace scela;

namespace {

PlacementPolicy policy_of(std::string_view map_by, std::string_view bind_to = {}) {
  PlacementOptions said;
  if (!map_by.empty()) REQUIRE(parse_map_by(map_by, said));
  if (!bind_to.empty()) REQUIRE(parse_bind_to(bind_to, said));
  return placement_of(said, false);
}

}  // namespace

TEST_CASE("ranks are bound to what they are mapped by, unless it is said otherwise") {
  CHECK(policy_of("") == PlacementPolicy());
  CHECK(policy_of("node").bind_to == BindTo::none);
  CHECK(policy_of("numa").bind_to == BindTo::numa);
  CHECK(policy_of("package").map_by == MapBy::socket);
  CHECK(policy_of("l3cache", "core").bind_to == BindTo::core);
  CHECK(policy_of("socket", "none").bind_to == BindTo::none);
  CHECK(policy_of("pe=3").bind_to == BindTo::core);
  CHECK(policy_of("numa:pe=3").bind_to == BindTo::core);
  CHECK(policy_of("numa:pe=3").cpus_per_rank == 3);
  CHECK(policy_of("numa:pe=3").map_by == MapBy::numa);
  CHECK(policy_of("pe=3").map_by == MapBy::slot);
}

TEST_CASE("hosts count their processors where the mapping is about those") {
  CHECK_FALSE(policy_of("").counts_objects());
  CHECK_FALSE(policy_of("node", "core").counts_objects());
  CHECK(policy_of("core").counts_objects());
  CHECK(policy_of("pe=2").counts_objects());
}

TEST_CASE("words of placement that are not known are named, with those that are") {
  PlacementOptions said;
  const auto refused = parse_map_by("board", said);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().why == "'board' is not known");
  CHECK(refused.error().hint == "there are slot, node, core, l3, numa, socket and pe=N");
  for (const char* text : {"", "pe=", "pe=0", "pe=x", "numa:", "numa:pe", "numa:span", "pe=1:pe=2"})
    CHECK_FALSE(parse_map_by(text, said));
  CHECK_FALSE(parse_rank_by("board", said));
  CHECK_FALSE(parse_bind_to("board", said));
  CHECK_FALSE(parse_cpus_per_rank("65537", said));
}

TEST_CASE("where no host has what a rank needs, it is said what that is, and the ways out") {
  PlacementPolicy placement;
  placement.cpus_per_rank = 9;
  const auto text = [&](const std::optional<LargestHost>& largest) {
    return no_room_error(placement, largest).text();
  };
  CHECK(text(LargestHost{"vm", 2}) ==
        "place the ranks: a rank needs 9 cores; the largest host (vm) has 2 (lower --cpus-per-rank "
        "(pe=N), or name larger hosts)");
  CHECK(text(std::nullopt).find("9 cores; no host has so many that ranks may use (lower") !=
        std::string::npos);
  const std::string shared = text(LargestHost{"sim0", 1, true});
  CHECK(shared.find("(sim0) has 1 of this machine's, which simulated nodes share (lower") !=
        std::string::npos);
  CHECK(shared.find("simulate fewer nodes") != std::string::npos);
  placement.map_by = MapBy::numa;
  CHECK(text(LargestHost{"vm", 16}).find("9 cores of the same numa; no host has so many") !=
        std::string::npos);
  CHECK(text(LargestHost{"vm", 4}).find("of the same numa; the largest numa (of vm) has 4 (") !=
        std::string::npos);
  placement = {};
  placement.cpus_per_rank = 9;
  placement.bind_to = BindTo::hwthread;
  CHECK(text(LargestHost{"vm", 2}).find("a rank needs 9 hardware threads;") != std::string::npos);
}

TEST_CASE("words of placement are the same in any case") {
  PlacementOptions said;
  REQUIRE(parse_map_by("NUMA:PE=2", said));
  CHECK(said.map_by == MapBy::numa);
  CHECK(said.cpus_per_rank == 2);
  REQUIRE(parse_map_by("PE=3", said));
  CHECK(said.cpus_per_rank == 3);
  REQUIRE(parse_rank_by("Fill", said));
  CHECK(said.rank_by == RankBy::fill);
  REQUIRE(parse_bind_to("HWThread", said));
  CHECK(said.bind_to == BindTo::hwthread);
}

TEST_CASE("Open MPI's words for ranks per node and shared cores are answered with ours") {
  PlacementOptions out;
  const auto per_node = parse_map_by("ppr:4:node", out);
  REQUIRE_FALSE(per_node);
  CHECK(per_node.error().hint == "say --ppn 4");
  CHECK_FALSE(parse_map_by("ppr:node", out));
  const auto shared = parse_bind_to("core:overload-allowed", out);
  REQUIRE_FALSE(shared);
  CHECK(shared.error().hint == "say --bind-to core --oversubscribe");
}

}  // namespace placement_options_test
