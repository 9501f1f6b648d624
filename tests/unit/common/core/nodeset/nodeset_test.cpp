#include "common/core/nodeset/nodeset.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "common/core/random.h"

namespace nodeset_test {

using namespace scela;

namespace {

using Names = std::set<std::string>;

NodeSet parsed(std::string_view text) {
  return NodeSet::parse(text).value();
}

// Returns a name in one of many shapes over few numbers, so that two sets of such names overlap and
// fold.
std::string random_name(Random& random) {
  const auto number = [&] {
    static const char* const padding[] = {"", "", "", "0", "00"};
    return padding[random.below(5)] + std::to_string(random.below(random.chance(1, 2) ? 4 : 120));
  };
  switch (random.below(7)) {
    case 0:
      return std::string(1, static_cast<char>('a' + random.below(4)));
    case 1:
      return "n" + number() + "-ib";
    case 2:
      return "r" + number() + "n" + number();
    case 3:
      return "x" + number() + "y" + number() + "z" + number();
    case 4:
      return "10.0." + std::to_string(random.below(2)) + "." + number();
    default:
      return "n" + number();
  }
}

Names random_names(Random& random) {
  Names names;
  for (std::uint64_t i = random.below(60); i > 0; --i)
    names.insert(random_name(random));
  return names;
}

NodeSet set_of(const Names& names) {
  const std::vector<std::string> list(names.begin(), names.end());
  return NodeSet::from_names(list).value();
}

Names names_of(const NodeSet& set) {
  return {set.begin(), set.end()};
}

// Returns the names that are in one of the sets only.
NodeSet one_of_both(const NodeSet& a, const NodeSet& b) {
  return a.minus(b).united(b.minus(a));
}

// Returns the names that the operation must keep, according to std::set.
Names kept(const Names& a, const Names& b, bool left, bool both, bool right) {
  Names out;
  for (const std::string& name : a) {
    if (b.count(name) != 0 ? both : left) out.insert(name);
  }
  for (const std::string& name : b) {
    if (right && a.count(name) == 0) out.insert(name);
  }
  return out;
}

}  // namespace

TEST_CASE("node1, node01 and node001 are three nodes") {
  const NodeSet set = parsed("node1,node01,node001,node1");
  CHECK(set.size() == 3);
  CHECK(set.contains("node01"));
  CHECK_FALSE(set.contains("node0001"));
  CHECK(parsed("node1") != parsed("node01"));
}

TEST_CASE("a set contains the names it was given and no others") {
  const NodeSet set = parsed("rack[1-3]n[01-20],login,n[0-10/5]!rack2n07");
  CHECK(set.size() == 63);
  CHECK(set.contains("rack2n08"));
  CHECK(set.contains("login"));
  CHECK(set.contains("n10"));
  for (const char* name : {"rack2n07", "rack4n01", "rack1n1", "rack1n21", "rack", "", "n1", "n",
                           "logi", "login1", "n\x01", "rack\x01n01"}) {
    CAPTURE(name);
    CHECK_FALSE(set.contains(name));
  }
}

TEST_CASE("equal sets are equal however they were written") {
  CHECK(parsed("n3,n1,n2") == parsed("n[1-3]"));
  CHECK(parsed("r1n1,r1n2,r2n1,r2n2") == parsed("r[1-2]n[1-2]"));
  CHECK(parsed("n[1-3]!n[1-3]") == NodeSet());
}

TEST_CASE("iteration gives each name once, in the order of expand") {
  const NodeSet set = parsed("b,n[10,9,1],a,r2n1,r1n10,r1n9");
  std::vector<std::string> names;
  for (const std::string& name : set)
    names.push_back(name);
  CHECK(names == std::vector<std::string>{"a", "b", "n1", "n9", "n10", "r1n9", "r1n10", "r2n1"});
  CHECK(names == set.expand());
  const NodeSet empty;
  CHECK(empty.begin() == empty.end());
  CHECK(empty.size() == 0);
}

TEST_CASE("a list of names is taken literally, and notation in it is refused") {
  const std::vector<std::string> names = {"n2", "n1", "n2"};
  CHECK(NodeSet::from_names(names).value() == parsed("n[1-2]"));
  for (const char* name : {"", "n[1-2]", "a,b", "a b", "a!b", "@g", "n*", "a\n"}) {
    CAPTURE(name);
    const std::vector<std::string> list = {"ok", name};
    const Result<NodeSet> set = NodeSet::from_names(list);
    REQUIRE_FALSE(set);
    CHECK(set.error().kind == ErrorKind::usage);
    CHECK_FALSE(set.error().why.empty());
  }
  const std::vector<std::string> too_long = {std::string(NodeSet::kMaxNameBytes + 1, 'a')};
  CHECK_FALSE(NodeSet::from_names(too_long));
}

TEST_CASE("set operations agree with std::set on random names") {
  Random random(20240607);
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const Names a = random_names(random);
    const Names b = random_names(random);
    const NodeSet x = set_of(a);
    const NodeSet y = set_of(b);
    REQUIRE(x.size() == a.size());
    REQUIRE(names_of(x) == a);
    REQUIRE(names_of(x.united(y)) == kept(a, b, true, true, true));
    REQUIRE(names_of(x.minus(y)) == kept(a, b, true, false, false));
    REQUIRE(names_of(x.intersection(y)) == kept(a, b, false, true, false));
    REQUIRE(names_of(one_of_both(x, y)) == kept(a, b, true, false, true));
    for (const std::string& name : b)
      REQUIRE(x.contains(name) == (a.count(name) != 0));
  }
}

TEST_CASE("the laws of sets hold") {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const NodeSet a = set_of(random_names(random));
    const NodeSet b = set_of(random_names(random));
    const NodeSet c = set_of(random_names(random));
    REQUIRE(a.united(b) == b.united(a));
    REQUIRE(a.intersection(b.united(c)) == a.intersection(b).united(a.intersection(c)));
    REQUIRE(a.minus(b).minus(c) == a.minus(b.united(c)));
    REQUIRE(one_of_both(a, b) == a.united(b).minus(a.intersection(b)));
    REQUIRE(one_of_both(one_of_both(a, b), b) == a);
    REQUIRE(a.minus(a).empty());
    REQUIRE(a.united(a) == a);
  }
}

TEST_CASE("a set read back from its folded text is the same set") {
  Random random(31);
  for (int round = 0; round < 500; ++round) {
    const Names names = random_names(random);
    const NodeSet set = set_of(names);
    const std::string text = set.fold();
    CAPTURE(text);
    const Result<NodeSet> again = NodeSet::parse(text);
    REQUIRE(again);
    REQUIRE(*again == set);
    REQUIRE(again->fold() == text);
    const Result<std::vector<std::string>> ordered = expand_ordered(text);
    REQUIRE(ordered);
    // The fold holds every name once.
    REQUIRE(ordered->size() == names.size());
    REQUIRE(Names(ordered->begin(), ordered->end()) == names);
  }
}

TEST_CASE("operators in a text do what the methods do, from left to right") {
  Random random(99);
  const auto bracket = [&] {
    const std::uint64_t first = random.below(9);
    return "[" + std::to_string(first) + "-" + std::to_string(first + random.below(9)) + "]";
  };
  const auto operand = [&] {
    return random.chance(2, 3) ? "n" + bracket() : "r" + bracket() + "n" + bracket();
  };
  for (int round = 0; round < 500; ++round) {
    std::string text = operand();
    NodeSet expected = parsed(text);
    for (std::uint64_t i = random.below(8); i > 0; --i) {
      const std::string next = operand();
      const std::uint64_t op = random.below(5);
      text += ", !&^"[op] + next;
      const NodeSet set = parsed(next);
      expected = op == 2   ? expected.minus(set)
                 : op == 3 ? expected.intersection(set)
                 : op == 4 ? one_of_both(expected, set)
                           : expected.united(set);
    }
    CAPTURE(text);
    REQUIRE(parsed(text) == expected);
  }
}

}  // namespace nodeset_test
