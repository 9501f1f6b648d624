#include "launcher/core/options/universe.h"

#include <catch2/catch.hpp>

namespace universe_test {

using namespace scela;

TEST_CASE("a universe size is a number, system or infinite") {
  using Kind = UniverseSize::Kind;
  CHECK(*parse_universe("12") == UniverseSize{Kind::number, 12});
  for (const char* word : {"system", "SYSTEM"})
    CHECK(parse_universe(word)->kind == Kind::system);
  for (const char* word : {"infinite", "INFINITE"})
    CHECK(parse_universe(word)->kind == Kind::infinite);
  for (const char* word : {"", "0", "-1", "System", "16777217", "1x"}) {
    const auto refused = parse_universe(word);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::usage);
    CHECK(refused.error().hint == "give a number from 1 to 16777216, system or infinite");
  }
}

TEST_CASE("slots are counted as the mapping does") {
  Options options;
  options.apps.resize(2);
  const std::vector<MapNode> open = {{"a", std::nullopt}, {"b", std::nullopt}};
  CHECK(slots_of(options, open) == 2);
  options.apps[0].ppn = 3;
  CHECK(slots_of(options, open) == 6);
  options.apps[1].ppn = 1;
  CHECK(slots_of(options, open) == 8);
  CHECK(slots_of(options, {{"a", 5}, {"b", std::nullopt}}) == 6);
  CHECK(slots_of(options, {{"a", UINT32_MAX}, {"b", UINT32_MAX}}) == kMaxRanks);
}

}  // namespace universe_test
