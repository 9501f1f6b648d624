#include "common/core/percent_pattern.h"

#include <catch2/catch.hpp>

namespace percent_pattern_test {

using namespace scela;

TEST_CASE("the letters of a pattern are replaced, and any other percent sign stays") {
  CHECK(expand_percent_pattern("%h-%r.%h", {{'h', "node1"}, {'r', "7"}}) == "node1-7.node1");
  CHECK(expand_percent_pattern("100%% of %Y%", {{'h', "node1"}}) == "100% of %Y%");
  CHECK(expand_percent_pattern("%h", {{'h', "%r"}, {'r', "7"}}) == "%r");
  CHECK(expand_percent_pattern("", {{'h', "node1"}}).empty());
}

}  // namespace percent_pattern_test
