#include <catch2/catch.hpp>

#include "collectives/algorithms/groups.h"
#include "collectives/algorithms/tree.h"
#include "tests/unit/collectives/algorithms/proof.h"

namespace allgather_test {

using namespace scela::collectives;

namespace {

// Returns the messages of a rank in Bruck's algorithm: as many as there are ranks at distance i *
// b^j ahead, i = 1 ... b - 1.
std::uint64_t bruck_messages(const Shape& shape) {
  std::uint64_t count = 0;
  for (std::int64_t distance = 1; distance < shape.ranks; distance *= shape.radix) {
    for (std::uint32_t i = 1; i < shape.radix; ++i)
      count += i * distance < shape.ranks ? 1 : 0;
  }
  return count;
}

std::uint64_t standard_exchange_messages(const Shape& shape) {
  const Groups groups(shape.ranks, shape.radix);
  std::uint64_t count = static_cast<std::uint64_t>(shape.ranks) *
                        static_cast<std::uint64_t>(groups.rounds()) * (shape.radix - 1);
  for (int group = 0; group < groups.count(); ++group)
    count += static_cast<std::uint64_t>(groups.size(group)) *
             static_cast<std::uint64_t>(groups.size(group) - 1);
  return count;
}

// Returns the length of chains in which each of `items` follows the one `width` before it.
std::uint32_t in_chains(std::uint32_t items, std::uint32_t width) {
  return (items + width - 1) / width;
}

bool has_form(const Algorithm& algorithm) {
  return algorithm.name.starts_with("eager-") || algorithm.name.starts_with("rendezvous-");
}

void count(const Algorithm& algorithm, const Shape& shape, const Counts& counts) {
  if (has_form(algorithm)) return;  // tests/unit/collectives/algorithms/forms_test.cpp
  const auto ranks = static_cast<std::uint64_t>(shape.ranks);
  const auto others = static_cast<std::uint32_t>(shape.ranks - 1);
  const auto logarithm = static_cast<std::uint32_t>(ceil_log(shape.ranks, shape.radix));
  CHECK(counts.blocks == ranks * others * shape.segments);
  if (algorithm.name == "direct") {
    CHECK(counts.messages == ranks * others);
    CHECK(counts.rounds == (others > 0 ? 1 : 0));
  } else if (algorithm.name == "neighbour-exchange" && ranks % 2 == 0) {
    CHECK(counts.messages == ranks * ranks / 2);
    CHECK(counts.rounds == ranks / 2);
    CHECK(counts.peers == (ranks == 2 ? 1 : 2));
  } else if (algorithm.name == "ring" || algorithm.name == "neighbour-exchange") {
    CHECK(counts.messages == ranks * others * shape.segments);
    CHECK(counts.rounds == in_chains(others * shape.segments, std::min(shape.segments, 2u)));
    CHECK(counts.peers == std::min(others, 2u));
  } else if (algorithm.name == "binomial") {
    CHECK(counts.messages <= 3 * others);
    CHECK(counts.rounds ==
          2 * static_cast<std::uint32_t>(depth({Tree::Form::nomial, shape.ranks})));
  } else if (algorithm.name == "bruck") {
    CHECK(counts.messages == ranks * bruck_messages(shape));
    CHECK(counts.rounds == logarithm);
  } else {
    REQUIRE(algorithm.name == "standard-exchange");
    CHECK(counts.messages == standard_exchange_messages(shape));
    CHECK(counts.rounds == logarithm);
  }
}

bool is_long(const Algorithm& algorithm) {
  return algorithm.name == "direct" || algorithm.name == "ring" ||
         algorithm.name == "neighbour-exchange" || has_form(algorithm);
}

}  // namespace

// Requirements O18 and O19 (docs/coverage.md).
TEST_CASE("allgather: every block comes to every rank, once, in the rounds of the formulas") {
  for (const int ranks : rank_counts()) {
    each_shape(Operation::allgather, ranks, [&](const Algorithm& algorithm, Shape shape) {
      // The number of blocks is the square of the number of ranks, so the largest counts get one
      // shape each.
      if (ranks > 1000 || (ranks > 130 && is_long(algorithm))) return;
      if (ranks > 130 && shape.radix > 3) return;
      if (ranks > 40 && shape.segments > 1) return;
      for (const bool in_place : {false, true}) {
        if (ranks > 130 && in_place) continue;
        shape.in_place = in_place;
        INFO(text(algorithm, shape));
        count(algorithm, shape, prove(algorithm, shape));
      }
    });
  }
}

TEST_CASE("allgather: the v form is the same list, with blocks of any sizes") {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    each_shape(Operation::allgather, ranks, [&](const Algorithm& algorithm, Shape shape) {
      std::vector<std::uint64_t> sizes;
      for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(ranks) * shape.segments; ++i)
        sizes.push_back(i * i * 31 % 17 % 5 * 100);
      for (const bool in_place : {false, true}) {
        shape.in_place = in_place;
        prove_sizes(algorithm, shape, sizes);
      }
    });
  }
}

// Offload thesis, section 4.5.2: 128 ranks have three queue pairs for each connection.
TEST_CASE("allgather: a standard exchange of 128 ranks has 7 peers, a ring 2") {
  const Shape shape{.operation = Operation::allgather, .ranks = 128};
  CHECK(3 * prove(algorithm(Operation::allgather, "standard-exchange"), shape).peers == 21);
  // The thesis has 42 for Bruck: 14 connections of one direction each. The ranks 64 ahead and
  // behind are the same one.
  CHECK(3 * (prove(algorithm(Operation::allgather, "bruck"), shape).peers + 1) == 42);
  CHECK(3 * prove(algorithm(Operation::allgather, "ring"), shape).peers == 6);
}

TEST_CASE("ranks are cut into as many groups as a power of the radix, of 1 to radix ranks") {
  for (const int ranks : up_to_130()) {
    for (const std::uint32_t radix : {2u, 3u, 4u, 8u}) {
      const Groups groups(ranks, radix);
      std::int64_t power = 1;
      for (int round = 0; round < groups.rounds(); ++round)
        power *= radix;
      CHECK(groups.count() == power);
      CHECK(groups.first(0) == 0);
      CHECK(groups.first(groups.count()) == ranks);
      for (int rank = 0; rank < ranks; ++rank) {
        const int group = groups.of(rank);
        if (groups.first(group) > rank || groups.first(group + 1) <= rank) FAIL("rank " << rank);
        if (groups.size(group) > static_cast<int>(radix)) FAIL("group " << group);
      }
    }
  }
}

}  // namespace allgather_test
