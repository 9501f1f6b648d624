#include "common/core/rank_set.h"

#include <catch2/catch.hpp>
#include <limits>
#include <set>
#include <string>

#include "common/core/random.h"

namespace rank_set_test {

using namespace scela;

namespace {

using Model = std::set<Rank>;

struct Pair {
  RankSet set;
  Model model;
};

void add_run(Pair& pair, Rank first, Rank count) {
  pair.set.add(RankSet::run(first, count));
  for (Rank i = 0; i < count; ++i)
    pair.model.insert(first + i);
}

Pair random_pair(Random& random, Rank universe) {
  Pair out;
  for (std::uint64_t i = random.below(8); i > 0; --i) {
    add_run(out, static_cast<Rank>(random.below(universe)), static_cast<Rank>(random.below(6)));
  }
  return out;
}

Model members(const RankSet& set) {
  Model out;
  set.for_each([&](Rank rank) { out.insert(rank); });
  return out;
}

// Returns true if the ranges are sorted, disjoint and not adjacent. In this form, equal sets
// compare equal.
bool is_normal(const RankSet& set) {
  for (std::size_t i = 0; i < set.ranges().size(); ++i) {
    if (set.ranges()[i].first > set.ranges()[i].last) return false;
    if (i > 0 && set.ranges()[i - 1].last + std::uint64_t{1} >= set.ranges()[i].first) return false;
  }
  return true;
}

void check_equal(const Pair& pair, Rank universe) {
  REQUIRE(is_normal(pair.set));
  REQUIRE(members(pair.set) == pair.model);
  REQUIRE(pair.set.size() == pair.model.size());
  REQUIRE(pair.set.empty() == pair.model.empty());
  if (!pair.model.empty()) REQUIRE(pair.set.front() == *pair.model.begin());
  for (Rank rank = 0; rank < universe + 8; ++rank) {
    REQUIRE(pair.set.contains(rank) == (pair.model.count(rank) == 1));
  }
  std::uint64_t index = 0;
  for (const Rank rank : pair.model) {
    REQUIRE(pair.set.index_of(rank) == index);
    REQUIRE(pair.set.at(index) == rank);
    ++index;
  }
  const auto back = RankSet::parse(pair.set.text());
  REQUIRE(back.has_value());
  REQUIRE(*back == pair.set);
}

}  // namespace

TEST_CASE("a rank set does what a set of numbers does, over random programs") {
  constexpr Rank kUniverse = 60;
  Random random(20090101);
  for (int program = 0; program < 300; ++program) {
    Pair pair;
    for (int step = 0; step < 25; ++step) {
      const Rank rank = static_cast<Rank>(random.below(kUniverse));
      const Pair other = random_pair(random, kUniverse);
      switch (random.below(5)) {
        case 0:
          pair.set.add(rank);
          pair.model.insert(rank);
          break;
        case 1:
          add_run(pair, rank, static_cast<Rank>(random.below(8)));
          break;
        case 2:
          pair.set.add(other.set);
          pair.model.insert(other.model.begin(), other.model.end());
          break;
        case 3:
          pair.set.remove(other.set);
          for (const Rank gone : other.model)
            pair.model.erase(gone);
          break;
        default: {
          Model both;
          for (const Rank one : pair.model) {
            if (other.model.count(one) == 1) both.insert(one);
          }
          REQUIRE(pair.set.intersects(other.set) == !both.empty());
          REQUIRE(pair.set.contains_all(other.set) == (both.size() == other.model.size()));
          REQUIRE(members(pair.set.intersection(other.set)) == both);
          REQUIRE(is_normal(pair.set.intersection(other.set)));
          RankSet rest = pair.set.minus(other.set);
          REQUIRE(is_normal(rest));
          REQUIRE_FALSE(rest.intersects(other.set));
          rest.add(pair.set.intersection(other.set));
          REQUIRE(rest == pair.set);
        }
      }
    }
    check_equal(pair, kUniverse);
  }
}

TEST_CASE("a rank set at the end of the numbers does not wrap") {
  constexpr Rank kLast = std::numeric_limits<Rank>::max();
  RankSet set = RankSet::single(kLast);
  set.add(0);
  CHECK(set.size() == 2);
  CHECK(set.contains(kLast));
  CHECK_FALSE(set.contains(1));
  set.add(RankSet::run(1, kLast - 1));
  CHECK(set.ranges().size() == 1);
  CHECK(set.size() == std::uint64_t{1} << 32);
  set.remove(RankSet::single(kLast));
  CHECK(set.size() == kLast);
  CHECK(RankSet::parse("4294967295").value() == RankSet::single(kLast));
}

TEST_CASE("a million consecutive ranks are one range") {
  RankSet set;
  for (Rank rank = 0; rank < 1'000'000; ++rank)
    set.add(rank);
  CHECK(set.ranges().size() == 1);
  CHECK(set.text() == "0-999999");
}

TEST_CASE("rank sets are read in any order and written in the shortest form") {
  CHECK(RankSet::parse("").value().empty());
  CHECK(RankSet::parse("7,0-3,4,9,2-3").value().text() == "0-4,7,9");
  CHECK(RankSet::run(5, 0).empty());
  CHECK(RankSet().text().empty());
}

TEST_CASE("a malformed rank set is refused with the text, the place and an example") {
  for (const std::string text :
       {"a", "1,", ",1", "1-", "-1", "3-1", "1;2", "1,,2", "1 2", "4294967296"}) {
    INFO(text);
    const auto set = RankSet::parse(text);
    REQUIRE_FALSE(set.has_value());
    CHECK(set.error().kind == ErrorKind::usage);
    CHECK(set.error().what.find("'" + text + "'") != std::string::npos);
    CHECK(set.error().hint.find("0-3,7") != std::string::npos);
  }
}

}  // namespace rank_set_test
