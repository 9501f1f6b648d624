#include "cache/store.h"

#include <catch2/catch.hpp>
#include <list>
#include <map>
#include <set>
#include <string>

#include "common/core/random.h"
#include "common/core/text.h"

namespace store_test {

using namespace scela;
using namespace scela::cache;

TEST_CASE("the store does what two maps do, over random programs") {
  Random random(4);
  for (int program = 0; program < 40; ++program) {
    Store store;
    std::map<std::string, std::string> table;
    std::map<std::string, std::string> staged;  // and not settled
    std::set<std::string> fresh;                // and not taken
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
          fresh.insert(key);
          break;
        case 3:
        case 4:
          store.commit(key, value);
          if (fresh.count(key) == 0) table[key] = value;
          if (fresh.count(key) == 0 && staged.count(key) != 0) staged[key] = value;
          break;
        case 5: {
          if (!random.chance(1, 10)) break;
          std::map<std::string, std::string> taken;
          for_each_pair(store.take_stage(), [&](std::string_view k, std::string_view v) {
            REQUIRE(taken.emplace(k, v).second);
          });
          fresh.clear();
          REQUIRE(taken == staged);  // the same until it is settled
          if (random.chance(1, 2)) break;
          store.settle(store.taken());
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

TEST_CASE("the store evicts what a list of settled pairs would, over random programs") {
  Random random(11);
  for (int program = 0; program < 60; ++program) {
    Store store;
    std::map<std::string, std::string> table;
    std::list<std::string> settled;  // least recently used first
    // Each key is kept (4), staged (3), to travel with the next stage (2), or travelling (1).
    std::map<std::string, int> held;
    const auto used = [&](const std::string& key) {
      if (held.count(key) != 0) return;
      settled.remove(key);
      settled.push_back(key);
    };
    const std::uint64_t keys = 1 + random.below(300);
    for (int step = 0; step < 1500; ++step) {
      const std::string key = cat("key", random.below(keys));
      const std::string value(random.below(30), static_cast<char>('a' + step % 26));
      const bool kept_for_good = held.count(key) != 0 && held[key] == 4;
      switch (random.below(11)) {
        case 0:
          if (kept_for_good) break;
          store.stage(key, value);
          table[key] = value;
          settled.remove(key);
          held[key] = 3;
          break;
        case 1:
          if (kept_for_good) break;
          store.hold(key, value);
          table[key] = value;
          settled.remove(key);
          if (held.count(key) == 0 || held[key] != 3) held[key] = 2;
          break;
        case 2:
        case 3: {
          const auto before = table.find(key);
          const bool kept = held.count(key) != 0 && held[key] == 3;
          const bool changes = before != table.end() && before->second != value && !kept;
          REQUIRE(store.commit(key, value) == changes);
          if (kept) break;
          table[key] = value;
          used(key);
          break;
        }
        case 4: {
          const auto found = store.use(key);
          REQUIRE(found.has_value() == (table.count(key) == 1));
          if (!found) break;
          REQUIRE(*found == table[key]);
          used(key);
          break;
        }
        case 5:
          if (!random.chance(1, 8)) break;
          store.take_stage();
          for (auto& [k, life] : held)
            life = life == 4 ? 4 : 1;
          break;
        case 6: {
          if (!random.chance(1, 8)) break;
          store.settle(store.taken());
          // The pairs become usable in the order in which they began to travel, which the table
          // does not keep.
          std::set<std::string> freed;
          for (const auto& [k, life] : held) {
            if (life == 1) freed.insert(k);
          }
          for (const std::string& k : freed)
            held.erase(k);
          for (const std::string& k : freed) {
            REQUIRE(store.use(k) == table[k]);
            settled.push_back(k);
          }
          break;
        }
        case 7:  // the store keeps no pending pair
          REQUIRE(store.is_pending(key) == (held.count(key) != 0 && held[key] != 4));
          if (store.is_pending(key)) break;
          store.keep(key, value);
          table[key] = value;
          settled.remove(key);
          held[key] = 4;
          break;
        case 8: {
          store.forget(key);
          if (held.count(key) == 0) table.erase(key);
          settled.remove(key);
          if (!random.chance(1, 10)) break;
          std::uint64_t bytes = 0;
          for (const std::string& k : settled)
            bytes += k.size() + table[k].size();
          const std::uint64_t bound = random.below(bytes + 1);
          for (; bytes > bound; settled.pop_front()) {
            bytes -= settled.front().size() + table[settled.front()].size();
            table.erase(settled.front());
          }
          store.evict_settled_to(bound);
          REQUIRE(store.usage().pairs == table.size());
          break;
        }
        default: {
          if (!random.chance(1, 10)) break;
          std::uint64_t bytes = 0;
          for (const auto& [k, v] : table)
            bytes += k.size() + v.size();
          const std::uint64_t bound = random.below(bytes + 1);
          const bool some = bytes > bound && !settled.empty();
          while (bytes > bound && !settled.empty()) {
            bytes -= settled.front().size() + table[settled.front()].size();
            table.erase(settled.front());
            settled.pop_front();
          }
          REQUIRE(store.evict_to(bound) == some);
          REQUIRE(store.usage().bytes == bytes);
          REQUIRE(store.usage().pairs == table.size());
          for (std::uint64_t i = 0; i < keys; ++i) {
            const std::string k = cat("key", i);
            REQUIRE(store.find(k).has_value() == (table.count(k) == 1));
          }
        }
      }
    }
    for (const auto& [key, value] : table)
      REQUIRE(store.find(key) == value);
  }
}

TEST_CASE("a mirror is told of every change and holds what the store holds") {
  struct Copy final : Mirror {
    std::map<std::string, std::string, std::less<>> pairs;
    void set(std::string_view key, std::string_view value) override {
      pairs[std::string(key)] = value;
    }
    void erase(std::string_view key) override { REQUIRE(pairs.erase(std::string(key)) == 1); }
  } copy;
  Random random(21);
  Store store;
  store.reflect_in(&copy);
  for (int step = 0; step < 5000; ++step) {
    const std::string key = cat("key", random.below(80));
    const std::string value(random.below(60), static_cast<char>('a' + step % 26));
    const bool kept = key.ends_with("7");
    switch (random.below(8)) {
      case 0:
        if (!kept) store.stage(key, value);
        break;
      case 1:
        if (!kept) store.hold(key, value);
        break;
      case 2:
      case 3:
        store.commit(key, value);
        break;
      case 4:
        store.take_stage();
        if (random.chance(1, 4)) store.settle(store.taken());
        break;
      case 5:
        if (kept) store.keep(key, value);
        break;
      case 6:
        store.forget(key);
        if (random.chance(1, 9)) store.evict_settled_to(random.below(1000));
        break;
      default:
        if (random.chance(1, 5)) store.evict_to(random.below(3000));
    }
    REQUIRE(copy.pairs.size() == store.usage().pairs);
  }
  std::size_t seen = 0;
  store.for_each([&](std::string_view key, std::string_view value) {
    ++seen;
    REQUIRE(copy.pairs.find(key)->second == value);
  });
  CHECK(seen == copy.pairs.size());
}

TEST_CASE("stages that are evicted again for ever do not grow the store") {
  Store store;
  for (int stage = 0; stage < 500; ++stage) {
    for (int i = 0; i < 200; ++i)
      store.commit(cat("card-", stage, "-", i), std::string(100, 'x'));
    store.evict_to(30'000);
  }
  CHECK(store.usage().bytes <= 30'000);
  CHECK(store.held_bytes() < 400 * 1024);
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

TEST_CASE("pairs of a stage are sent again, with their present values, until they are settled") {
  Store store;
  store.stage("a", "1");
  store.take_stage();
  const std::uint64_t taken = store.taken();
  store.stage("b", "2");
  store.commit("a", "newer");  // by a release
  CHECK(store.pending_bytes() == 8 + 2 * Store::kPairOverhead);
  std::string both;
  append_pair(both, "a", "newer");
  append_pair(both, "b", "2");
  CHECK(store.take_stage() == both);
  store.settle(taken);
  std::string second;
  append_pair(second, "b", "2");
  CHECK(store.take_stage() == second);
  store.settle(store.taken());
  CHECK(store.take_stage().empty());
  CHECK(store.pending_bytes() == 0);
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

}  // namespace store_test
