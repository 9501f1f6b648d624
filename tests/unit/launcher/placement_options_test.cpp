#include "launcher/core/placement_options.h"

#include <catch2/catch.hpp>

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
