// Tests fences of groups. A rank that was in one sees what its members had put, or something newer.
// This holds under every policy, on any tree, with any limit, however old values travel again.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cache/store.h"
#include "common/core/random.h"
#include "common/core/text.h"
#include "tests/unit/cache/cache_tree.h"

namespace group_fence_test {

using namespace scela;
using namespace scela::cache;
using scela::cache::testing::Tree;

namespace {

using Puts = std::set<int>;  // the puts' numbers

// The puts of one key that each node knows. A put that was known at a node is older than any later
// put there.
class Key {
 public:
  explicit Key(std::size_t nodes) : known_(nodes), shown_(nodes), own_(nodes) {}

  std::string put(std::size_t node) {
    const int id = static_cast<int>(before_.size());
    before_.push_back(known_[node]);
    known_[node].insert(id);
    shown_[node].insert(id);
    own_[node].insert(id);
    return std::to_string(id);
  }
  void fence(const std::vector<std::size_t>& members) {
    Puts known;
    Puts put;
    for (const std::size_t node : members) {
      known.insert(known_[node].begin(), known_[node].end());
      put.insert(own_[node].begin(), own_[node].end());
    }
    for (const std::size_t node : members) {
      known_[node] = known;
      shown_[node].insert(put.begin(), put.end());
    }
  }
  std::string judge(std::size_t node, const std::optional<std::string>& got) const {
    if (!got) return shown_[node].empty() ? "" : "what a fence has brought is not found";
    const int id = std::stoi(*got);
    for (const int newer : shown_[node]) {
      if (before_[static_cast<std::size_t>(newer)].count(id) != 0) {
        return cat("put ", id, " is older than put ", newer, ", which a fence has brought");
      }
    }
    return {};
  }

 private:
  std::vector<Puts> before_;  // the older puts, by put
  std::vector<Puts> known_;   // these three by node
  std::vector<Puts> shown_;
  std::vector<Puts> own_;
};

void play(PolicyKind kind, std::uint64_t seed) {
  Random random(seed);
  const std::size_t nodes = 1 + random.below(8);
  std::vector<std::size_t> parents;
  std::vector<std::size_t> everybody;
  for (std::size_t i = 1; i <= nodes; ++i) {
    parents.push_back(random.below(i));
    everybody.push_back(i);
  }
  const std::uint64_t limit = random.chance(1, 2) ? 1 + random.below(30) : 0;
  INFO(name_of(kind) << ", seed " << seed << ", " << nodes << " nodes, limit " << limit);
  Tree tree(kind, parents, limit);
  std::vector<Key> keys(1 + random.below(6), Key(nodes + 1));
  for (int step = 0; step < 150; ++step) {
    const std::size_t node = 1 + random.below(nodes);
    const std::size_t key = random.below(keys.size());
    const std::uint64_t what = random.below(20);
    if (what < 6) {
      tree.put(node, cat("key-", key), keys[key].put(node));
    } else if (what < 15) {
      REQUIRE(keys[key].judge(node, tree.get(node, cat("key-", key))) == "");
    } else if (what < 19) {
      std::vector<std::size_t> members;
      std::copy_if(everybody.begin(), everybody.end(), std::back_inserter(members),
                   [&](std::size_t) { return random.chance(1, 2); });
      if (members.empty()) continue;
      tree.group_fence(members, random.chance(1, 2));
      for (Key& one : keys)
        one.fence(members);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        for (const std::size_t member : members)
          REQUIRE(keys[i].judge(member, tree.get(member, cat("key-", i))) == "");
      }
    } else {
      tree.fence();
      for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i].fence(everybody);
        const auto value = tree.get(1, cat("key-", i));
        for (const std::size_t other : everybody) {
          const auto got = tree.get(other, cat("key-", i));
          REQUIRE(keys[i].judge(other, got) == "");
          REQUIRE(got == value);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("a value put after a group's fence is newer than the fenced one on every agent") {
  for (int kind = 0; kind < kPolicyKinds; ++kind) {
    for (std::uint64_t seed = 1; seed <= 400; ++seed)
      play(static_cast<PolicyKind>(kind), seed);
  }
}

TEST_CASE("pairs have no stamp until a group has a fence, and the clock never turns over") {
  Tree tree(PolicyKind::hcmab, {0, 0});
  for (int i = 0; i < 3; ++i) {
    tree.put(1, "key", std::to_string(i));
    tree.fence();
  }
  CHECK(tree.table(1).clock() == 0);
  tree.group_fence({1}, false);
  CHECK(tree.table(1).clock() == 1);
  CHECK(tree.table(2).clock() == 0);
  tree.fence();
  CHECK(tree.table(2).clock() == tree.table(1).clock());
  CHECK(tree.table(2).clock() > 1);

  Store store;
  store.saw(UINT32_MAX);
  store.tick();
  CHECK(store.clock() == UINT32_MAX);
  store.stage("key", "own");
  store.take_stage();
  store.stage("key", "anew");
  CHECK(store.stamp_of("key") == UINT32_MAX);
}

TEST_CASE("the newest value stays, and a put here is newer than received values") {
  Store store;
  store.commit("key", "new", 5);
  CHECK(store.commit("key", "old", 4));  // a change, whichever value stays
  CHECK(store.find("key") == "new");
  CHECK_FALSE(store.commit("key", "new", 3));
  CHECK(store.stamp_of("key") == 5);
  store.commit("key", "as new", 5);
  CHECK(store.find("key") == "as new");
  store.stage("key", "own");
  CHECK(store.stamp_of("key") == 6);
  store.stage("key", "own again");
  CHECK(store.stamp_of("key") == 6);  // no node has seen the first one
  std::string pair;
  append_pair(pair, "key", "own again", 6);
  CHECK(store.take_stage() == pair);
  // A put that was made while a fence of the whole job was under way is newer than all that the
  // fence brought.
  store.stage("late", "value");
  store.saw(9);
  store.settle(store.taken());
  CHECK(store.stamp_of("late") == 9);
  CHECK(store.stamp_of("key") == 6);
  store.keep("key", "older", 5);
  CHECK(store.find("key") == "own again");
}

}  // namespace group_fence_test
