// Tests the HCMAB row of Table 3.1 (thesis chapter 3) on policies without a tree. The test carries
// the messages between them that an agent would.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/policy.h"
#include "common/core/text.h"

namespace hcmab_test {

using namespace scela;
using namespace scela::cache;

namespace {

std::unique_ptr<Policy> hcmab(bool is_root = false) {
  return make_policy(PolicyKind::hcmab, {is_root, 0});
}

// Returns the value, or nothing if the answer is "absent". Any other answer fails the test.
std::optional<std::string> get(Policy& policy, std::string_view key) {
  const Lookup found = policy.get(key, false);
  REQUIRE(found.found != Found::elsewhere);  // every answer is local
  if (found.found == Found::absent) return std::nullopt;
  return std::string(found.value);
}

// Runs one fence over a root without ranks and some nodes. Returns the number of messages with
// pairs that went up.
int fence(Policy& root, const std::vector<Policy*>& nodes) {
  int aggregates = 0;
  std::string all = root.take_stage();
  for (Policy* node : nodes) {
    const std::string aggregate = node->take_stage();
    if (aggregate.empty()) continue;
    ++aggregates;
    root.aggregate_passes(aggregate);
    all += aggregate;
  }
  if (root.release_carries_pairs()) {
    root.commit(all);
    for (Policy* node : nodes)
      node->commit(all);
  }
  for (Policy* node : nodes)
    node->fence_done(node->taken());
  return aggregates;
}

}  // namespace

TEST_CASE("hcmab: a put is visible on its own node at once and elsewhere after the fence") {
  const auto root = hcmab(true);
  const auto left = hcmab();
  const auto right = hcmab();
  CHECK_FALSE(left->put("card-0", "here"));  // nothing travels now
  CHECK(get(*left, "card-0") == "here");
  CHECK(get(*right, "card-0") == std::nullopt);
  CHECK(get(*root, "card-0") == std::nullopt);

  CHECK(fence(*root, {left.get(), right.get()}) == 1);
  for (Policy* node : {root.get(), left.get(), right.get()})
    CHECK(get(*node, "card-0") == "here");
}

TEST_CASE("hcmab: a key that was never put is absent, before and after a fence") {
  const auto node = hcmab();
  CHECK(get(*node, "unknown") == std::nullopt);
  node->put("known", "x");
  node->commit(node->take_stage());
  CHECK(get(*node, "unknown") == std::nullopt);
  CHECK(get(*node, "know") == std::nullopt);
  CHECK(get(*node, "") == std::nullopt);
}

TEST_CASE("hcmab: a key put again has its latest value and travels once per fence") {
  const auto root = hcmab(true);
  const auto left = hcmab();
  const auto right = hcmab();
  left->put("key", "first");
  left->put("key", "the second, which is longer");
  left->put("key", "third");
  CHECK(get(*left, "key") == "third");
  CHECK(left->usage().pairs == 1);
  const std::string aggregate = left->take_stage();
  std::string expected;
  append_pair(expected, "key", "third");
  CHECK(aggregate == expected);
  right->commit(aggregate);
  CHECK(get(*right, "key") == "third");

  right->put("key", "");  // an empty value is a value
  fence(*root, {left.get(), right.get()});
  for (Policy* node : {root.get(), left.get(), right.get()})
    CHECK(get(*node, "key") == "");
}

TEST_CASE("hcmab: values that two nodes put under one key end as one value everywhere") {
  const auto root = hcmab(true);
  const auto left = hcmab();
  const auto right = hcmab();
  left->put("key", "left");
  right->put("key", "right");
  fence(*root, {left.get(), right.get()});
  const auto value = get(*root, "key");
  CHECK(value.has_value());
  CHECK(get(*left, "key") == value);
  CHECK(get(*right, "key") == value);
}

TEST_CASE("hcmab: a put during a fence is not undone by that fence's release") {
  const auto node = hcmab();
  node->put("key", "old");
  const std::string first = node->take_stage();
  node->put("key", "new");  // by a rank outside this fence
  node->commit(first);
  CHECK(get(*node, "key") == "new");
  const std::string second = node->take_stage();
  CHECK(second.find("new") != std::string::npos);
  node->commit(second);
  CHECK(get(*node, "key") == "new");
}

TEST_CASE(
    "hcmab: a fence that is done is not carried again, and the next carries only what is new") {
  const auto node = hcmab();
  CHECK(node->take_stage().empty());
  node->put("a", "1");
  CHECK_FALSE(node->take_stage().empty());
  CHECK_FALSE(node->take_stage().empty());  // none was reported as arrived
  node->fence_done(node->taken());
  CHECK(node->take_stage().empty());
  CHECK(get(*node, "a") == "1");  // still here
  node->put("b", "2");
  std::string expected;
  append_pair(expected, "b", "2");
  CHECK(node->take_stage() == expected);
}

TEST_CASE("hcmab: a release cut between pairs commits like the whole") {
  std::string all;
  std::vector<std::size_t> cuts = {0};
  for (int i = 0; i < 40; ++i) {
    append_pair(all, cat("key-", i), std::string(static_cast<std::size_t>(i * 7), 'v'));
    cuts.push_back(all.size());
  }
  const auto node = hcmab();
  for (std::size_t i = 0; i + 1 < cuts.size();) {
    const std::size_t next = std::min(cuts.size() - 1, i + 1 + i % 3);
    node->commit(std::string_view(all).substr(cuts[i], cuts[next] - cuts[i]));
    i = next;
  }
  for (int i = 0; i < 40; ++i) {
    CHECK(get(*node, cat("key-", i)) == std::string(static_cast<std::size_t>(i * 7), 'v'));
  }
  CHECK(node->usage().pairs == 40);
}

TEST_CASE("hcmab: messages and memory are those of Table 3.1") {
  constexpr int kNodes = 6;
  constexpr int kRanksPerNode = 4;
  constexpr int kPairsPerRank = 3;
  const auto root = hcmab(true);
  std::vector<std::unique_ptr<Policy>> owned;
  std::vector<Policy*> nodes;
  for (int i = 0; i < kNodes; ++i)
    nodes.push_back(owned.emplace_back(hcmab()).get());

  int single_pairs = 0;
  std::uint64_t bytes = 0;
  for (int rank = 0; rank < kNodes * kRanksPerNode; ++rank) {
    for (int i = 0; i < kPairsPerRank; ++i) {
      const std::string key = cat("card-", rank, "-", i);
      single_pairs +=
          nodes[static_cast<std::size_t>(rank / kRanksPerNode)]->put(key, "0123456789") ? 1 : 0;
      bytes += key.size() + 10;
    }
  }
  CHECK(single_pairs == 0);              // no put leaves its node
  CHECK(fence(*root, nodes) == kNodes);  // each node sends one aggregate
  CHECK(root->release_carries_pairs());  // all pairs go down
  const std::uint64_t pairs = kNodes * kRanksPerNode * kPairsPerRank;
  nodes.push_back(root.get());
  for (Policy* node : nodes) {  // O(p*n) on every node
    CHECK(node->usage().pairs == pairs);
    CHECK(node->usage().bytes == bytes);
  }
  CHECK(fence(*root, nodes) == 0);  // a barrier without puts carries nothing
}

TEST_CASE("hcmab: pairs that only pass by leave no trace") {
  const auto node = hcmab();
  std::string aggregate;
  append_pair(aggregate, "theirs", "x");
  CHECK_FALSE(node->put_from_child("single", "x"));
  node->aggregate_passes(aggregate);
  node->answer_passes("answer", "x");
  CHECK(node->usage().pairs == 0);
  for (const char* key : {"single", "theirs", "answer"})
    CHECK(get(*node, key) == std::nullopt);
}

TEST_CASE("hcmab: a malformed release keeps the pairs before the fault") {
  const auto node = hcmab();
  std::string pairs;
  append_pair(pairs, "whole", "x");
  append_pair(pairs, "cut", "yyyyyyyy");
  pairs.resize(pairs.size() - 2);
  node->commit(pairs);
  CHECK(get(*node, "whole") == "x");
  CHECK(get(*node, "cut") == std::nullopt);
}

}  // namespace hcmab_test
