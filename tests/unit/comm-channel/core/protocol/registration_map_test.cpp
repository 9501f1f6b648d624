#include "comm-channel/core/protocol/registration_map.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "common/core/random.h"

namespace registration_map_test {

using namespace scela;
using scela::channel::RegistrationMap;
using Range = RegistrationMap::Range;

TEST_CASE("a registration is found by the memory that it covers, until it is released") {
  RegistrationMap map(1000);
  const auto id = map.add({100, 200}, true);
  CHECK(map.use({100, 200}) == id);
  CHECK(map.use({150, 160}) == id);
  CHECK_FALSE(map.use({99, 101}));
  CHECK_FALSE(map.use({199, 201}));
  CHECK(map.bytes() == 100);
  for (int i = 0; i < 3; ++i)
    map.release(id);
  CHECK(map.take_dropped().empty());
  CHECK(map.bytes() == 100);
  CHECK(map.use({150, 160}) == id);
}

TEST_CASE("unused registrations end when there are too many, the least recently used first") {
  RegistrationMap map(250);
  const auto a = map.add({0, 100}, true);
  const auto b = map.add({100, 200}, true);
  const auto c = map.add({200, 300}, true);
  map.release(a);
  map.release(b);
  CHECK(map.use({0, 1}) == a);  // b is the older one now
  map.release(a);
  CHECK(map.take_dropped().empty());
  map.release(c);
  CHECK(map.take_dropped() == std::vector{b});
  CHECK_FALSE(map.use({100, 101}));
  CHECK(map.use({0, 1}) == a);
  CHECK(map.use({200, 201}) == c);
}

TEST_CASE("a registration that is not kept is not found again and ends with its use") {
  RegistrationMap map(1000);
  const auto id = map.add({0, 10}, false);
  CHECK_FALSE(map.use({0, 10}));
  map.release(id);
  CHECK(map.take_dropped() == std::vector{id});
  CHECK(map.bytes() == 0);
}

TEST_CASE("registrations of memory that is gone are not found, and released after their last use") {
  RegistrationMap map(1000);
  const auto used = map.add({0, 100}, true);
  const auto unused = map.add({100, 200}, true);
  const auto beside = map.add({200, 300}, true);
  map.release(unused);
  map.invalidate({99, 200});
  CHECK(map.take_dropped() == std::vector{unused});
  CHECK_FALSE(map.use({0, 1}));
  CHECK(map.use({200, 201}) == beside);
  const auto anew = map.add({0, 100}, true);
  CHECK(map.use({0, 1}) == anew);
  map.release(used);
  CHECK(map.take_dropped() == std::vector{used});
  map.invalidate_all();
  CHECK_FALSE(map.use({0, 1}));
  CHECK(map.size() == 2);
}

namespace {

struct Modelled {
  Range range;
  int uses = 1;
  bool valid = true;
};

// use() does not find registrations that a new one covers.
void hide_covered(std::map<RegistrationMap::Id, Modelled>& model, const Range& range) {
  for (auto& [id, entry] : model)
    entry.valid = entry.valid && !range.covers(entry.range);
}

}  // namespace

TEST_CASE("random uses, releases and losses of memory: nothing that is gone is found") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    Random random(seed);
    const std::uint64_t room = random.below(3) * 400;
    RegistrationMap map(room);
    std::map<RegistrationMap::Id, Modelled> model;
    std::uint64_t needed = 0;  // bytes of the last dropped region that could be found
    const auto settle = [&] {
      needed = 0;
      for (const auto id : map.take_dropped()) {
        REQUIRE(model.count(id) == 1);
        REQUIRE(model[id].uses == 0);
        if (model[id].valid) needed = model[id].range.bytes();
        model.erase(id);
      }
    };
    for (int step = 0; step < 2'000; ++step) {
      const std::uint64_t begin = random.below(1'000);
      const Range range{begin, begin + 1 + random.below(200)};
      const auto what = random.below(10);
      if (what < 5) {
        if (const auto id = map.use(range)) {
          REQUIRE(model[*id].valid);
          REQUIRE(model[*id].range.covers(range));
          ++model[*id].uses;
        } else {
          const bool kept = random.below(4) != 0;
          const auto made = map.add(range, kept);
          REQUIRE(model.count(made) == 0);
          if (kept) hide_covered(model, range);
          model[made] = Modelled{range, 1, kept};
        }
      } else if (what < 9 && !model.empty()) {
        auto at = std::next(model.begin(), static_cast<long>(random.below(model.size())));
        if (at->second.uses > 0) {
          --at->second.uses;
          map.release(at->first);
        }
      } else {
        map.invalidate(range);
        for (auto& [id, entry] : model)
          entry.valid = entry.valid && !entry.range.overlaps(range);
      }
      settle();
      // The map keeps no unused region that cannot be found any more, and not too much.
      std::uint64_t bytes = 0, unused = 0;
      for (const auto& [id, entry] : model) {
        bytes += entry.range.bytes();
        if (entry.uses > 0) continue;
        unused += entry.range.bytes();
        REQUIRE(entry.valid);
      }
      REQUIRE(map.bytes() == bytes);
      REQUIRE(unused <= room);
      if (needed > 0) REQUIRE(unused + needed > room);  // not dropped without need
      REQUIRE(map.size() == model.size());
    }
  }
}

}  // namespace registration_map_test
