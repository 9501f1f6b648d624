// Tests the promises of every policy on trees of many shapes: the same answers as one table, and
// the counts of Table 3.1 (thesis chapter 3), derived in docs/design/caches.md.
#include "tests/unit/cache/cache_tree.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "cache/dht.h"
#include "cache/store.h"
#include "common/core/random.h"
#include "common/core/text.h"

namespace tree_test {

using namespace scela;
using namespace scela::cache;
using scela::cache::testing::Tree;

namespace {

constexpr PolicyKind kAll[] = {PolicyKind::hcs, PolicyKind::hcma, PolicyKind::hcmab,
                               PolicyKind::hcmab_lru, PolicyKind::dht};

std::vector<std::size_t> random_tree(Random& random, std::size_t nodes) {
  std::vector<std::size_t> parents;
  const std::size_t shape = random.below(4);  // flat, a chain, random, binary
  for (std::size_t i = 1; i <= nodes; ++i) {
    parents.push_back(shape == 0   ? 0
                      : shape == 1 ? i - 1
                      : shape == 2 ? random.below(i)
                                   : (i - 1) / 2);
  }
  return parents;
}

// Returns the parents of a k-ary tree with `nodes` agents below the root.
std::vector<std::size_t> kary(std::size_t nodes, std::size_t k) {
  std::vector<std::size_t> parents;
  for (std::size_t i = 1; i <= nodes; ++i)
    parents.push_back((i - 1) / k);
  return parents;
}

// One table that says which answers to a get are right.
class Model {
 public:
  explicit Model(std::size_t nodes) : own_(nodes) {}
  void put(std::size_t node, const std::string& key, const std::string& value) {
    own_[node][key] = value;
    since_[key].insert(value);
  }
  // If several nodes put a key in the same stage, one value wins on all nodes. `answer` says which.
  template <class F>
  void fence(F&& answer) {
    for (auto& [key, values] : since_) {
      const std::optional<std::string> now = answer(key);
      REQUIRE(now.has_value());
      REQUIRE(values.count(*now) == 1);
      settled_[key] = *now;
    }
    since_.clear();
    for (auto& own : own_)
      own.clear();
  }
  std::string judge(std::size_t node, const std::string& key,
                    const std::optional<std::string>& got) const {
    if (const auto own = own_[node].find(key); own != own_[node].end()) {
      // A value of another node may have come after it.
      if (got && since_.at(key).count(*got) == 1) return {};
      return "its own node's put is not seen";
    }
    const auto settled = settled_.find(key);
    if (!got) return settled == settled_.end() ? "" : "a pair that was fenced is not found";
    if (settled != settled_.end() && settled->second == *got) return {};
    const auto fresh = since_.find(key);
    if (fresh != since_.end() && fresh->second.count(*got) == 1) return {};
    return "the value " + *got + " is nobody's";
  }
  const std::map<std::string, std::string>& settled() const { return settled_; }

 private:
  std::map<std::string, std::string> settled_;
  std::map<std::string, std::set<std::string>> since_;  // put since the last fence
  std::vector<std::map<std::string, std::string>> own_;
};

void play(PolicyKind kind, std::uint64_t seed) {
  Random random(seed);
  const std::size_t nodes = 1 + random.below(12);
  const std::vector<std::size_t> parents = random_tree(random, nodes);
  const std::uint64_t limit = random.chance(1, 2) ? 1 + random.below(400) : 0;
  INFO(name_of(kind) << ", seed " << seed << ", " << nodes << " nodes, limit " << limit);
  Tree tree(kind, parents, limit);
  Model model(nodes + 1);
  const std::uint64_t keys = 1 + random.below(40);
  const bool own_keys = random.chance(1, 2);  // as in MPI libraries
  for (int step = 0; step < 200; ++step) {
    const std::size_t node = 1 + random.below(nodes);
    const std::string key =
        cat("key-", own_keys ? cat(node, "-") : std::string(), random.below(keys));
    const std::uint64_t what = random.below(20);
    if (what < 8) {
      const std::string value = cat("v", step, std::string(random.below(60), 'x'));
      tree.put(node, key, value);
      model.put(node, key, value);
    } else if (what < 19) {
      const std::string other = cat(
          "key-", own_keys ? cat(1 + random.below(nodes), "-") : std::string(), random.below(keys));
      const auto got = tree.get(node, other);
      REQUIRE(model.judge(node, other, got) == "");
    } else {
      tree.fence();
      model.fence([&](const std::string& k) { return tree.get(1, k); });
      for (const auto& [k, value] : model.settled()) {
        for (std::size_t n = 1; n <= nodes; ++n)
          REQUIRE(tree.get(n, k) == value);
      }
    }
  }
}

std::size_t pairs_in(std::string_view aggregate) {
  std::size_t pairs = 0;
  for_each_pair(aggregate, [&](auto, auto) { ++pairs; });
  return pairs;
}

std::string value_of(std::size_t rank, std::size_t pair) {
  return cat("value-", rank, "-", pair, std::string(20, 'v'));
}

}  // namespace

TEST_CASE("every policy answers as one table would, on any tree, with any limit") {
  for (const PolicyKind kind : kAll) {
    for (std::uint64_t seed = 1; seed <= 400; ++seed)
      play(kind, seed);
  }
}

TEST_CASE("messages at the root and at every agent are those of Table 3.1") {
  constexpr std::size_t kRanks = 3;
  constexpr std::size_t kPairs = 2;
  constexpr std::size_t kStages = 2;
  for (const PolicyKind kind : kAll) {
    for (const std::size_t k : {1, 2, 3, 8, 40}) {
      constexpr std::size_t kNodes = 40;
      Tree tree(kind, kary(kNodes, k));
      std::vector<std::size_t> subtree(kNodes + 1, 1);  // agents
      std::vector<std::size_t> children(kNodes + 1, 0);
      for (std::size_t i = kNodes; i > 0; --i) {
        subtree[tree.parents()[i]] += subtree[i];
        ++children[tree.parents()[i]];
      }
      for (std::size_t stage = 0; stage < kStages; ++stage) {
        for (std::size_t rank = 0; rank < kNodes * kRanks; ++rank) {
          for (std::size_t i = 0; i < kPairs; ++i) {
            tree.put(1 + rank / kRanks, cat("card-", rank, "-", i, "-", stage), value_of(rank, i));
          }
        }
        tree.fence();
      }
      for (std::size_t node = 0; node <= kNodes; ++node) {
        INFO(name_of(kind) << ", degree " << k << ", node " << node);
        const std::size_t below = (subtree[node] - 1) * kRanks * kPairs * kStages;
        const std::size_t fences = children[node] * kStages;
        // Under hcs the root receives every pair by itself, O(p*n). Under the others a child sends
        // one message a fence.
        CHECK(tree.traffic(node).received == fences + (kind == PolicyKind::hcs ? below : 0));
        CHECK(tree.traffic(node).sent_down == fences);
        const std::size_t own = node == 0 ? 0 : kRanks * kPairs * kStages;
        const std::size_t all = kNodes * kRanks * kPairs * kStages;
        const std::uint64_t held = tree.at(node).usage().pairs;
        switch (kind) {
          case PolicyKind::hcs:
          case PolicyKind::hcma:
            CHECK(held == below + own);  // O(p*n) at the root only
            break;
          case PolicyKind::hcmab:
            CHECK(held == (node == 0 ? 0 : all));  // O(p*n); the root is never asked
            break;
          case PolicyKind::hcmab_lru:
            CHECK(held == (node == 0 ? all : all / kStages));  // O(p): one stage's worth
            break;
          // Over all nodes O(p*n), with none on the root. Another test counts them.
          case PolicyKind::dht:
            break;
        }
      }
    }
  }
}

TEST_CASE("a key asked for goes up once for every agent that does not hold it") {
  for (const PolicyKind kind : {PolicyKind::hcs, PolicyKind::hcma}) {
    Tree tree(kind, kary(14, 2));
    for (std::size_t node = 1; node <= 14; ++node)
      tree.put(node, cat("card-", node), "value");
    tree.fence();
    const std::uint64_t before = tree.traffic(0).received;
    for (int again = 0; again < 3; ++again) {
      for (std::size_t node = 1; node <= 14; ++node) {
        for (std::size_t other = 1; other <= 14; ++other)
          REQUIRE(tree.get(node, cat("card-", other)) == "value");
      }
    }
    // Each half of the tree holds its own seven keys, and asks the root once for each of the other
    // half's.
    CHECK(tree.traffic(0).received - before == 14);
  }
}

TEST_CASE("hcmab-lru: memory is flat over 64 stages, the others' grows with them") {
  constexpr std::size_t kNodes = 20;
  for (const PolicyKind kind : kAll) {
    if (kind == PolicyKind::dht) continue;  // it grows by its share: see below
    Tree tree(kind, kary(kNodes, 4));
    std::vector<std::uint64_t> largest;
    for (int stage = 0; stage < 64; ++stage) {
      for (std::size_t node = 1; node <= kNodes; ++node)
        tree.put(node, cat("card-", 100 + stage, "-", 100 + node), std::string(50, 'v'));
      tree.fence();
      std::uint64_t most = 0;
      for (std::size_t node = 1; node <= kNodes; ++node) {
        most = std::max(most, tree.at(node).usage().bytes);
        REQUIRE(tree.get(node, cat("card-100-", 101)) == std::string(50, 'v'));  // long evicted
      }
      largest.push_back(most);
    }
    INFO(name_of(kind));
    if (kind == PolicyKind::hcmab_lru) {
      CHECK(largest.back() == largest.front());
    } else {
      CHECK(largest.back() >= 63 * largest.front());
    }
  }
}

TEST_CASE("dht: every pair is held once, by the node of its owner, beside bounded copies") {
  constexpr std::size_t kNodes = 40;
  constexpr std::size_t kStages = 16;
  constexpr std::size_t kPairs = 5;
  constexpr std::uint64_t kLimit = 300;
  for (const std::size_t k : {1, 3, 40}) {
    Tree tree(PolicyKind::dht, kary(kNodes, k), kLimit);
    std::vector<std::uint64_t> owned(kNodes + 1, 0);
    const auto key_of = [](std::size_t stage, std::size_t node, std::size_t i) {
      return cat("card-", 100 + stage, "-", 100 + node, "-", i);
    };
    for (std::size_t stage = 0; stage < kStages; ++stage) {
      for (std::size_t node = 1; node <= kNodes; ++node) {
        for (std::size_t i = 0; i < kPairs; ++i) {
          const std::string key = key_of(stage, node, i);
          tree.put(node, key, std::string(50, 'v'));
          owned[owner_of(key, kNodes) + 1] += key.size() + 50;
        }
      }
      tree.fence();
      for (std::size_t node = 0; node <= kNodes; ++node)
        REQUIRE(tree.at(node).usage().bytes == owned[node]);
      for (std::size_t node = 1; node <= kNodes; ++node) {
        for (std::size_t other = 1; other <= kNodes; ++other)
          REQUIRE(tree.get(node, key_of(stage / 2, other, 0)) == std::string(50, 'v'));
      }
      for (std::size_t node = 0; node <= kNodes; ++node) {
        REQUIRE(tree.at(node).usage().bytes >= owned[node]);
        REQUIRE(tree.at(node).usage().bytes <= owned[node] + kLimit);
      }
    }
    // A node owns O(p/n) pairs: 80 pairs of 64 bytes on average, and no node owns twice as many.
    CHECK(owned[0] == 0);
    CHECK(*std::max_element(owned.begin(), owned.end()) < 2 * kStages * kPairs * 64);
  }
}

TEST_CASE("dht: owners are spread evenly whatever keys look like, and never change") {
  CHECK(owner_of("", 1000) == 203);
  CHECK(owner_of("card-000001-00-00", 1000) == 92);
  CHECK(owner_of(std::string("\0\xff", 2), 1000) == 523);
  for (const Rank ranks : {2u, 7u, 64u}) {
    std::vector<std::uint32_t> count(ranks, 0);
    for (Rank i = 0; i < 1000 * ranks; ++i)
      ++count[owner_of(cat("P", i, "-businesscard"), ranks)];
    CHECK(*std::min_element(count.begin(), count.end()) > 850);
    CHECK(*std::max_element(count.begin(), count.end()) < 1150);
  }
}

TEST_CASE("dht: a key asked for crosses a link once, and again when its copy has been dropped") {
  Tree tree(PolicyKind::dht, kary(14, 2));
  for (std::size_t node = 1; node <= 14; ++node)
    tree.put(node, cat("card-", node), "value");
  tree.fence();
  const auto crossed = [&] {
    std::uint64_t sum = 0;
    for (std::size_t node = 0; node <= 14; ++node)
      sum += tree.traffic(node).received + tree.traffic(node).asked_below;
    return sum;
  };
  const auto ask_all = [&] {
    for (std::size_t node = 1; node <= 14; ++node) {
      for (std::size_t other = 1; other <= 14; ++other)
        REQUIRE(tree.get(node, cat("card-", other)) == "value");
    }
  };
  std::uint64_t before = crossed();
  ask_all();
  // Each of the 14 links is crossed once for every key, because both sides want all keys.
  CHECK(crossed() - before == 14 * 14);
  before = crossed();
  ask_all();
  CHECK(crossed() == before);
  tree.fence();
  before = crossed();
  ask_all();
  CHECK(crossed() - before == 14 * 14);
}

TEST_CASE("dht: an agent that passes a pair on drops its copy and keeps nothing of it") {
  constexpr Rank kRanks = 2;
  std::string foreign = "a";
  while (owner_of(foreign, kRanks) == 0)
    foreign += "a";
  const auto policy = make_policy(PolicyKind::dht, {false, 0, RankSet::single(0), kRanks});
  policy->answer_passes(foreign, "old");
  CHECK(policy->get(foreign, false).value == "old");
  policy->pair_passes(foreign, "new", 0);
  CHECK(policy->get(foreign, false).found == Found::elsewhere);
  CHECK(policy->usage().pairs == 0);
  // A pair that is on its way from this node is visible to this node's ranks only, and no answer
  // replaces it.
  policy->put(foreign, "own");
  policy->answer_passes(foreign, "old");
  CHECK(policy->get(foreign, false).value == "own");
  CHECK(policy->get(foreign, true).found == Found::elsewhere);
  CHECK(pairs_in(policy->take_stage()) == 1);
  CHECK(policy->get(foreign, true).found == Found::elsewhere);
  policy->group_fence_done(policy->taken());
  CHECK(policy->get(foreign, false).found == Found::elsewhere);
  CHECK(pairs_in(policy->take_stage()) == 0);
}

TEST_CASE("dht: pairs that a node's ranks put for themselves count as unfenced, once") {
  const auto policy = make_policy(PolicyKind::dht, {false, 0, RankSet::single(0), 1});
  policy->put("key", "value");
  policy->put("key", "other");
  CHECK(policy->table().pending_bytes() == 8 + Store::kPairOverhead);
  policy->pair_passes("another", "value", 0);  // by a fence
  CHECK(policy->table().pending_bytes() == 8 + Store::kPairOverhead);
  policy->group_fence_done(policy->taken());
  CHECK(policy->table().pending_bytes() == 8 + Store::kPairOverhead);
  policy->fence_done(policy->taken());
  CHECK(policy->table().pending_bytes() == 0);
}

TEST_CASE("a limit holds for all pairs that can be asked for elsewhere") {
  for (const PolicyKind kind : {PolicyKind::hcs, PolicyKind::hcma, PolicyKind::hcmab_lru}) {
    Tree tree(kind, kary(20, 3), 500);
    for (int stage = 0; stage < 10; ++stage) {
      for (std::size_t node = 1; node <= 20; ++node)
        tree.put(node, cat("card-", stage, "-", node), std::string(80, 'v'));
      tree.fence();
      for (std::size_t node = 1; node <= 20; ++node) {
        INFO(name_of(kind) << ", node " << node);
        REQUIRE(tree.at(node).usage().bytes <= 500);
      }
    }
    for (std::size_t node = 1; node <= 20; ++node) {
      for (std::size_t other = 1; other <= 20; ++other)
        REQUIRE(tree.get(node, cat("card-0-", other)) == std::string(80, 'v'));
      REQUIRE(tree.get(node, "card-99") == std::nullopt);
    }
  }
}

TEST_CASE("an agent other than the root that returns aggregates evicts nothing from then on") {
  for (const PolicyKind kind : {PolicyKind::hcs, PolicyKind::hcma, PolicyKind::hcmab_lru}) {
    const auto policy = make_policy(kind, {false, 10});
    policy->evict_no_more();
    std::string pairs;
    for (int i = 0; i < 20; ++i) {
      append_pair(pairs, cat("key", i), "0123456789");
      policy->put_from_child(cat("key", i), "0123456789");
    }
    policy->aggregate_passes(pairs);
    policy->commit(pairs);
    policy->fence_done(policy->taken());
    for (int i = 0; i < 20; ++i) {
      INFO(name_of(kind));
      CHECK(policy->get(cat("key", i), true).found == Found::here);
    }
  }
}

TEST_CASE("pieces are cut between pairs") {
  std::string pairs;
  for (int i = 0; i < 10; ++i)
    append_pair(pairs, cat("key", i), std::string(i == 5 ? 300 : 20, 'v'));
  std::string joined;
  std::size_t count = 0;
  for_each_piece(pairs, 100, [&](std::string_view piece) {
    std::size_t inside = 0;
    REQUIRE(for_each_pair(piece, [&](std::string_view, std::string_view) { ++inside; }));
    CHECK((piece.size() <= 100 || inside == 1));
    joined += piece;
    ++count;
  });
  CHECK(joined == pairs);
  CHECK(count == 5);  // pairs: three, two, large, three, one
  for_each_piece("", 100, [](std::string_view) { FAIL("nothing to cut"); });
  for_each_piece("\x05", 100, [](std::string_view) { FAIL("malformed"); });
}

}  // namespace tree_test
