#include <catch2/catch.hpp>

#include "common/core/nodeset/nodeset.h"

namespace nodeset_parse_test {

using namespace scela;

namespace {

std::string folded(std::string_view text) {
  const Result<NodeSet> set = NodeSet::parse(text);
  return set ? set->fold() : set.error().text();
}

using Names = std::vector<std::string>;

Names ordered(std::string_view text) {
  const Result<Names> names = expand_ordered(text);
  return names ? *names : Names{names.error().text()};
}

}  // namespace

TEST_CASE("blank text is the empty set") {
  CHECK(NodeSet::parse("").value().empty());
  CHECK(NodeSet::parse(" \t\r\n ").value().empty());
  CHECK(ordered(" \n").empty());
}

TEST_CASE("blanks unite as commas do, and mean nothing beside an operator or in a bracket") {
  CHECK(folded("n1 n2\tn3\nn5") == "n[1-3,5]");
  CHECK(folded("  n1 , n2\n, n3  ") == "n[1-3]");
  CHECK(folded("n[1-9] ! n[2-3] & n[1-4]") == "n[1,4]");
  CHECK(folded("n[ 1 - 9 / 4 , 20 ]") == "n[1,5,9,20]");
}

TEST_CASE("operators bind from left to right") {
  CHECK(folded("a,b!b,c") == "a,c");
  CHECK(folded("a!b,b") == "a,b");
  CHECK(folded("n[1-9]!n2!n3&n[2-5]^n[5-6]") == "n[4,6]");
  CHECK(folded("n[1-3]^n[2-4]^n[3-5]") == "n[1,3,5]");
  CHECK(folded("a!a,b,c!c") == "b");
  CHECK(folded("a,b&b,c&c") == "c");
}

TEST_CASE("difference looks at names, not at how they were written") {
  CHECK(folded("node[1-10]!node[01-09]") == "node[1-10]");
  CHECK(folded("rack[1-2]n[1-2]!rack1n2") == "rack1n1,rack2n[1-2]");
  CHECK(folded("10.0.0.[1-3]!10.0.0.2") == "10.0.0.[1,3]");
}

// ClusterShell reads n1[9-11] as the range 19-111.
TEST_CASE("digits beside a bracket are part of each name's number") {
  CHECK(folded("n1[9-11]") == "n[19,110-111]");
  CHECK(folded("n0[1-3]5") == "n[015,025,035]");
}

TEST_CASE("digit runs too long for an index still name nodes") {
  CHECK(folded("n1234567890123456789[1-2]") == "n12345678901234567891,n12345678901234567892");
  CHECK(NodeSet::parse("n12345678901234567891!n12345678901234567891").value().empty());
}

TEST_CASE("a host list keeps the order in which it was written, and each name's first place") {
  CHECK(ordered("b,a,n[3,1],n[1-2] a c") == Names{"b", "a", "n3", "n1", "n2", "c"});
  CHECK(ordered("n10,n9,n09") == Names{"n10", "n9", "n09"});
  CHECK(ordered("r[2,1]n[1-2]") == Names{"r2n1", "r2n2", "r1n1", "r1n2"});
  CHECK(ordered("n[9-7/1]").front().find("backwards") != std::string::npos);
}

TEST_CASE("a host list with another operator than union comes in the order of a set") {
  CHECK(ordered("n3,n1,n2!n1") == Names{"n2", "n3"});
  CHECK(ordered("b,a&a,b") == Names{"a", "b"});
}

TEST_CASE("an ordered list refuses more than a million nodes") {
  CHECK(ordered("n[1-1000000],n[1-1000000]").size() == 1'000'000);
  const Result<Names> names = expand_ordered("n[1-1000000],m1");
  REQUIRE_FALSE(names);
  CHECK(names.error().why ==
        "character 14: with these, the text has more nodes than the limit of 1000000");
}

TEST_CASE("an error after an operator is found by the ordered reading too") {
  CHECK_FALSE(expand_ordered("a!b[").has_value());
  CHECK_FALSE(expand_ordered("a,b!").has_value());
}

}  // namespace nodeset_parse_test
