#include "cache/policy.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/core/random.h"

namespace policy_test {

using namespace scela;
using namespace scela::cache;

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs_of(std::string_view aggregate, bool& whole) {
  Pairs out;
  whole = for_each_pair(aggregate, [&](std::string_view key, std::string_view value) {
    out.emplace_back(key, value);
  });
  return out;
}

}  // namespace

TEST_CASE("an aggregate is its pairs in order, whatever bytes they are made of") {
  const Pairs sent = {
      {"k", "v"}, {"", ""}, {std::string("\0\xff", 2), std::string(300, '\0')}, {"k", "w"}};
  std::string aggregate;
  for (const auto& [key, value] : sent)
    append_pair(aggregate, key, value);
  bool whole = false;
  CHECK(pairs_of(aggregate, whole) == sent);
  CHECK(whole);
  CHECK(pairs_of("", whole).empty());
  CHECK(whole);
}

TEST_CASE("a pair with a stamp comes back with it, and costs no byte without one") {
  std::string plain;
  append_pair(plain, "key", "value");
  CHECK(plain.size() == 3 + 5 + 2);
  std::string aggregate = plain;
  for (const Stamp stamp : {1u, 127u, 128u, UINT32_MAX})
    append_pair(aggregate, "key", "value", stamp);
  std::vector<Stamp> stamps;
  CHECK(for_each_stamped(aggregate, [&](std::string_view key, std::string_view value, Stamp stamp) {
    CHECK(key == "key");
    CHECK(value == "value");
    stamps.push_back(stamp);
  }));
  CHECK(stamps == std::vector<Stamp>({0, 1, 127, 128, UINT32_MAX}));

  std::string none = "\x07";  // a key of three bytes with a stamp of 0
  none += std::string("\0key\5value", 10);
  CHECK_FALSE(for_each_pair(none, [](auto, auto) {}));
  none[1] = 1;
  CHECK(for_each_pair(none, [](auto, auto) {}));
  CHECK_FALSE(for_each_pair("\x07\xff\xff\xff\xff\x1fkey\5value", [](auto, auto) {}));
}

TEST_CASE("an aggregate cut inside a pair gives the pairs before the cut and says so") {
  std::string aggregate;
  std::vector<std::size_t> ends = {0};
  for (int i = 0; i < 5; ++i) {
    append_pair(aggregate, "key" + std::to_string(i),
                std::string(static_cast<std::size_t>(i * 60), 'v'));
    ends.push_back(aggregate.size());
  }
  for (std::size_t length = 0; length <= aggregate.size(); ++length) {
    std::size_t pairs = 0;
    while (pairs + 1 < ends.size() && ends[pairs + 1] <= length)
      ++pairs;
    bool whole = false;
    REQUIRE(pairs_of(std::string_view(aggregate).substr(0, length), whole).size() == pairs);
    REQUIRE(whole == (ends[pairs] == length));
  }
}

TEST_CASE("random bytes are read as an aggregate without harm") {
  Random random(99);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(random.below(40), '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(random.chance(1, 2) ? random.below(4) : random.next());
    std::size_t seen = 0;
    for_each_pair(bytes, [&](std::string_view key, std::string_view value) {
      seen += key.size() + value.size();
    });
    REQUIRE(seen <= bytes.size());
  }
}

TEST_CASE("policies have the names that the command line uses") {
  CHECK(name_of(PolicyKind::hcs) == "hcs");
  CHECK(name_of(PolicyKind::hcma) == "hcma");
  CHECK(name_of(PolicyKind::hcmab) == "hcmab");
  CHECK(name_of(PolicyKind::hcmab_lru) == "hcmab-lru");
  CHECK(name_of(PolicyKind::dht) == "dht");
}

TEST_CASE("the least recently used pair is evicted first, and a read in shared memory is a use") {
  for (const PolicyKind kind : {PolicyKind::hcs, PolicyKind::hcma, PolicyKind::hcmab_lru}) {
    for (const bool told : {false, true}) {
      INFO(name_of(kind) << (told ? ", read in shared memory" : ", asked for"));
      const auto policy = make_policy(kind, {false, 30});
      for (const char* key : {"a", "b", "c"})
        policy->answer_passes(key, "nine byte");
      if (told) {
        policy->table().use("a");
      } else {
        CHECK(policy->get("a", false).found == Found::here);
      }
      policy->answer_passes("d", "nine byte");
      CHECK(policy->usage().pairs == 3);
      CHECK(policy->get("a", false).found == Found::here);
      CHECK(policy->get("b", false).found == Found::elsewhere);
    }
  }
}

TEST_CASE("policies that evict are known") {
  CHECK_FALSE(evicts(PolicyKind::hcs, 0));
  CHECK(evicts(PolicyKind::hcs, 1));
  CHECK(evicts(PolicyKind::hcma, 1));
  CHECK_FALSE(evicts(PolicyKind::hcmab, 1));
  CHECK(evicts(PolicyKind::hcmab_lru, 0));
  CHECK(evicts(PolicyKind::dht, 0));
}

}  // namespace policy_test
