// Compares sets of contexts with a set that holds the same numbers one by one.
#include "comm-channel/core/match/context_set.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "common/core/random.h"

namespace scela::channel::context_set_test {
namespace {

using Run = ContextSet::Run;

TEST_CASE("channel context set: neighbours are one run, and an absent context is reported") {
  ContextSet set;
  CHECK(set.add({5, 6}) == std::vector<Run>{{5, 6}});
  CHECK(set.add({9, 9}) == std::vector<Run>{{9, 9}});
  CHECK(set.runs() == 2);
  CHECK(set.add({4, 8}) == std::vector<Run>{{4, 4}, {7, 8}});
  CHECK(set.runs() == 1);
  CHECK(set.add({4, 9}).empty());
  set.remove({6, 7});
  CHECK(set.runs() == 2);
  CHECK(set.contains(5));
  CHECK_FALSE(set.contains(6));
  CHECK_FALSE(set.contains(10));
}

TEST_CASE("channel context set: the highest and the lowest context") {
  ContextSet set;
  CHECK(set.add({0xffff'fff0, 0xffff'ffff}).size() == 1);
  CHECK(set.add({0, 0}).size() == 1);
  CHECK(set.contains(0xffff'ffff));
  CHECK(set.contains(0));
  CHECK(set.runs() == 2);
  CHECK(set.add({0, 0xffff'ffff}) == std::vector<Run>{{1, 0xffff'ffef}});
  CHECK(set.runs() == 1);
  set.remove({0xffff'ffff, 0xffff'ffff});
  CHECK_FALSE(set.contains(0xffff'ffff));
  set.remove({0, 0xffff'ffff});
  CHECK(set.empty());
}

TEST_CASE("channel context set: random operations agree with a set of numbers") {
  constexpr std::uint32_t kMax = 60;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    ContextSet set;
    std::set<std::uint32_t> model;
    for (int step = 0; step < 60; ++step) {
      const auto first = static_cast<std::uint32_t>(random.below(kMax));
      const auto last = std::min(kMax - 1, first + static_cast<std::uint32_t>(random.below(9)));
      if (random.chance(1, 3)) {
        set.remove({first, last});
        for (std::uint32_t context = first; context <= last; ++context)
          model.erase(context);
      } else {
        std::set<std::uint32_t> news;
        for (std::uint32_t context = first; context <= last; ++context)
          if (model.insert(context).second) news.insert(context);
        std::set<std::uint32_t> told;
        for (const Run& run : set.add({first, last}))
          for (std::uint32_t context = run.first; context <= run.last; ++context)
            told.insert(context);
        REQUIRE(told == news);
      }
      std::size_t runs = 0;
      for (std::uint32_t context = 0; context < kMax; ++context) {
        REQUIRE(set.contains(context) == model.contains(context));
        runs += model.contains(context) && !model.contains(context + 1) ? 1 : 0;
      }
      REQUIRE(set.runs() == runs);
    }
  }
}

}  // namespace
}  // namespace scela::channel::context_set_test
