#include "common/core/nodeset/nodeset_reader.h"

#include <catch2/catch.hpp>

namespace nodeset_reader_test {

using namespace scela;

namespace {

// Returns "POSITION: why", with the position counted from 1.
std::string complaint(const std::string& text) {
  const Result<NodeSet> set = NodeSet::parse(text);
  if (set) return "accepted as " + set->fold();
  CHECK(set.error().kind == ErrorKind::usage);
  CHECK(set.error().what == "read node set '" + text + "'");
  const Result<std::vector<std::string>> ordered = expand_ordered(text);
  REQUIRE_FALSE(ordered);
  CHECK(ordered.error() == set.error());
  const std::string prefix = "character ";
  REQUIRE(set.error().why.substr(0, prefix.size()) == prefix);
  return set.error().why.substr(prefix.size());
}

}  // namespace

TEST_CASE("an operator without nodes on either side is refused at the operator") {
  CHECK(complaint("n1,") == "3: operator ',' has no nodes after it");
  CHECK(complaint("n1 , ") == "4: operator ',' has no nodes after it");
  CHECK(complaint("n[1-3]!") == "7: operator '!' has no nodes after it");
  CHECK(complaint("n1,,n2") == "3: operator ',' has no nodes after it");
  CHECK(complaint("n1!,n2") == "3: operator '!' has no nodes after it");
  CHECK(complaint("n1&^n2") == "3: operator '&' has no nodes after it");
  CHECK(complaint("^n1") == "1: operator '^' has no nodes before it");
  CHECK(complaint(",") == "1: operator ',' has no nodes before it");
}

TEST_CASE("unbalanced brackets are refused where they stand") {
  CHECK(complaint("n[1-3") == "2: '[' is never closed");
  CHECK(complaint("a,n[") == "4: '[' is never closed");
  CHECK(complaint("n[1,") == "2: '[' is never closed");
  CHECK(complaint("n[1-") == "2: '[' is never closed");
  CHECK(complaint("n[1-3/") == "2: '[' is never closed");
  CHECK(complaint("n1-3]") == "5: ']' closes no '['");
  CHECK(complaint("n[1-3]]") == "7: ']' closes no '['");
  CHECK(complaint("n[[1-3]]") == "3: '[' is not a number");
}

TEST_CASE("ranges that mean nothing are refused at the item that is wrong") {
  CHECK(complaint("n[]") == "3: an empty range");
  CHECK(complaint("n[1-3,]") == "7: an empty range");
  CHECK(complaint("n[,1]") == "3: an empty range");
  CHECK(complaint("n[1,,3]") == "5: an empty range");
  CHECK(complaint("n[7,5-3]") == "5: range 5-3 runs backwards");
  CHECK(complaint("n[a]") == "3: 'a' is not a number");
  CHECK(complaint("n[-1]") == "3: '-' is not a number");
  CHECK(complaint("n[1-]") == "5: ']' is not a number");
  CHECK(complaint("n[1-b]") == "5: 'b' is not a number");
  CHECK(complaint("n[1.5]") == "4: '.' cannot follow a number in a range");
  CHECK(complaint("n[1 2]") == "5: '2' cannot follow a number in a range");
  CHECK(complaint("n[1-3-5]") == "6: '-' cannot follow a number in a range");
  CHECK(complaint("n[1-9/0]") == "6: a step of zero never ends");
  CHECK(complaint("n[1-9/]") == "7: ']' is not a number");
  CHECK(complaint("n[5/2]") == "4: a step needs a range, as in 5-9/2");
  CHECK(complaint("n[9-010]") == "3: the zero-padded range 9-010 has ends of different width");
  CHECK(complaint("n[01-100]") == "3: the zero-padded range 01-100 has ends of different width");
  CHECK(complaint("n[1234567890123456789]") == "3: a number of more than 18 digits");
}

TEST_CASE("two brackets in one number are refused, since their names would be ambiguous") {
  CHECK(complaint("n[1-2][3-4]") == "7: a second bracket in the same number");
  CHECK(complaint("n[1-2]3[4-5]") == "8: a second bracket in the same number");
  CHECK(NodeSet::parse("n[1-2]x[4-5]"));
}

TEST_CASE("notation that needs a list of all nodes is refused by name") {
  CHECK(complaint("n1,@io") == "4: node groups (@name) are not supported");
  CHECK(complaint("n*") ==
        "2: wildcards are not supported, there is no list of all nodes to match");
  CHECK(NodeSet::parse("me@host"));
}

TEST_CASE("control characters are refused and shown as question marks") {
  const Result<NodeSet> set = NodeSet::parse(std::string_view("n1,a\x01z\0", 7));
  REQUIRE_FALSE(set);
  CHECK(set.error().what == "read node set 'n1,a?z?'");
  CHECK(set.error().why == "character 5: a control character cannot be part of a node name");
}

TEST_CASE("more than a million nodes are refused, with the limit named") {
  CHECK(NodeSet::parse("n[1-1000000]").value().size() == NodeSet::kMaxNodes);
  CHECK(complaint("n[1-1000001]") == "3: more nodes than the limit of 1000000");
  CHECK(complaint("n[0-999999999999999999]") == "3: more nodes than the limit of 1000000");
  CHECK(complaint("n[1-600000,700000-1200000]") == "12: more nodes than the limit of 1000000");
  CHECK(complaint("a,r[1-1001]n[1-1000]") == "3: more nodes than the limit of 1000000");
  CHECK(complaint("a[1-9999]b[1-9999]c[1-9999]d[1-9999]e[1-9999]") ==
        "1: more nodes than the limit of 1000000");
  CHECK(complaint("n[1-600000],m[1-600000],x") ==
        "13: with these, the text has more nodes than the limit of 1000000");
}

TEST_CASE("a caller may set a lower limit, which the error names") {
  CHECK(NodeSet::parse("n[1-9],m", 10).value().size() == 10);
  const Result<NodeSet> set = NodeSet::parse("n[1-9],m[1-2]", 10);
  REQUIRE_FALSE(set);
  CHECK(set.error().why == "character 8: with these, the text has more nodes than the limit of 10");
  CHECK(expand_ordered("n[1-9],m[1-2]", 10).error() == set.error());
}

TEST_CASE("the limit counts different nodes, and those that operators leave") {
  CHECK(NodeSet::parse("n[1-1000000],n[1-1000000],n[5-9]").value().size() == 1'000'000);
  CHECK(NodeSet::parse("n[1-1000000]!n[1-999999],m[1-999999]").value().size() == 1'000'000);
  CHECK_FALSE(NodeSet::parse("n[1-1000000]!n[1-9],m[1-10]"));
}

TEST_CASE("a name of more than 255 characters is refused, expanded or not") {
  const std::string longest(255, 'a');
  CHECK(NodeSet::parse(longest));
  CHECK_FALSE(NodeSet::parse(longest + "a"));
  CHECK(NodeSet::parse(longest.substr(2) + "[1-10]"));
  const Result<NodeSet> set = NodeSet::parse(longest.substr(1) + "[1-10]");
  REQUIRE_FALSE(set);
  CHECK(set.error().why == "character 1: a node name of more than 255 characters");
}

TEST_CASE("an error in a long text shows the part around it") {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "node" + std::to_string(i) + ",";
  const std::size_t at = text.size() + 1;
  text += "bad],";
  for (int i = 0; i < 1000; ++i)
    text += "node" + std::to_string(i) + "\n";
  const Result<NodeSet> set = NodeSet::parse(text);
  REQUIRE_FALSE(set);
  CHECK(set.error().why == "character " + std::to_string(at + 3) + ": ']' closes no '['");
  CHECK(set.error().what ==
        "read node set '...e997,node998,node999,bad],node0 node1 node2 node3 node4 node5 no...'");
}

}  // namespace nodeset_reader_test
