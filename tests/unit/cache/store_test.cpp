#include "cache/store.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "common/core/random.h"
#include "common/core/text.h"

using namespace scela;
using namespace scela::cache;

TEST_CASE("the store does what two maps do, over random programs") {
  Random random(4);
  for (int program = 0; program < 40; ++program) {
    Store store;
    std::map<std::string, std::string> table;
    std::map<std::string, std::string> staged;
    for (int step = 0; step < 500; ++step) {
      const std::string key = cat("key", random.below(60));
      const std::string value(random.below(random.chance(1, 20) ? 3000 : 40),
                              static_cast<char>('a' + step % 26));
      switch (random.below(8)) {
        case 0:
        case 1:
        case 2:
          store.stage(key, value);
          table[key] = staged[key] = value;
          break;
        case 3:
        case 4:
          store.commit(key, value);
          if (staged.count(key) == 0) table[key] = value;
          break;
        case 5: {
          if (!random.chance(1, 10)) break;
          std::map<std::string, std::string> taken;
          for_each_pair(store.take_stage(), [&](std::string_view k, std::string_view v) {
            REQUIRE(taken.emplace(k, v).second);
          });
          REQUIRE(taken == staged);
          staged.clear();
          break;
        }
        default: {
          const auto found = store.find(key);
          REQUIRE(found.has_value() == (table.count(key) == 1));
          if (found) REQUIRE(*found == table[key]);
        }
      }
    }
    std::uint64_t bytes = 0;
    for (const auto& [key, value] : table) {
      REQUIRE(store.find(key) == value);
      bytes += key.size() + value.size();
    }
    REQUIRE(store.usage().pairs == table.size());
    REQUIRE(store.usage().bytes == bytes);
  }
}

TEST_CASE("the stage keeps the order in which keys were first put") {
  Store store;
  store.stage("b", "1");
  store.stage("a", "2");
  store.stage("b", "3");
  std::string expected;
  append_pair(expected, "b", "3");
  append_pair(expected, "a", "2");
  CHECK(store.take_stage() == expected);
}

TEST_CASE("an empty store finds nothing and an empty key is a key") {
  Store store;
  CHECK_FALSE(store.find("").has_value());
  CHECK(store.take_stage().empty());
  store.commit("", "value of the empty key");
  CHECK(store.find("") == "value of the empty key");
}

TEST_CASE("values that are replaced for ever do not grow the store") {
  Store store;
  for (int i = 0; i < 50; ++i)
    store.commit(cat("quiet", i), "unchanged");
  for (int i = 0; i < 20000; ++i) {
    store.commit(cat("busy", i % 7), std::string(static_cast<std::size_t>(i % 1000), 'x'));
  }
  CHECK(store.usage().pairs == 57);
  CHECK(store.held_bytes() < 400 * 1024);
  for (int i = 0; i < 50; ++i)
    REQUIRE(store.find(cat("quiet", i)) == "unchanged");
}

TEST_CASE("a small store is small and a value larger than a block is kept whole") {
  Store store;
  store.commit("small", "pair");
  CHECK(store.held_bytes() <= 2048);
  const std::string large(1'000'000, 'L');
  store.commit("large", large);
  store.commit("after", "it");
  CHECK(store.find("large") == large);
  CHECK(store.find("after") == "it");
  CHECK(store.find("small") == "pair");
}
