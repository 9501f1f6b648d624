#include "launcher/core/ssh/ssh_patterns.h"

#include <catch2/catch.hpp>

namespace ssh_patterns_test {

using namespace scela;

TEST_CASE("a star is any run of characters, a question mark one") {
  CHECK(matches_pattern("", ""));
  CHECK(matches_pattern("", "**"));
  CHECK(matches_pattern("node12", "node*"));
  CHECK(matches_pattern("node12", "*2"));
  CHECK(matches_pattern("node12", "n*d*1?"));
  CHECK(matches_pattern("aXbXc", "*X*c"));
  CHECK_FALSE(matches_pattern("node12", "node?"));
  CHECK_FALSE(matches_pattern("node1", "node1?"));
  CHECK_FALSE(matches_pattern("Node1", "node1"));
  CHECK_FALSE(matches_pattern("node12", ""));
}

TEST_CASE("many stars cost no more than their number") {
  std::string pattern;
  for (int i = 0; i < 1000; ++i)
    pattern += "a*";
  CHECK_FALSE(matches_pattern(std::string(5000, 'a') + "c", pattern + "b"));
}

TEST_CASE("a list matches by one of its patterns unless a negated one matches") {
  const std::vector<std::string> list{"*.a", "!x.a", "y"};
  CHECK(matches_patterns("b.a", list));
  CHECK(matches_patterns("y", list));
  CHECK_FALSE(matches_patterns("x.a", list));
  CHECK_FALSE(matches_patterns("z", list));
  CHECK_FALSE(matches_patterns("z", std::vector<std::string>{"!x"}));
}

}  // namespace ssh_patterns_test
