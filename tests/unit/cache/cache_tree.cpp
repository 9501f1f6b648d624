#include "tests/unit/cache/cache_tree.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace scela::cache::testing {

Tree::Tree(PolicyKind kind, std::vector<std::size_t> parents, std::uint64_t limit)
    : parents_(std::move(parents)) {
  parents_.insert(parents_.begin(), 0);
  for (std::size_t i = 0; i < parents_.size(); ++i)
    policies_.push_back(make_policy(
        kind, {i == 0, limit, i == 0 ? RankSet() : RankSet::single(static_cast<Rank>(i - 1)),
               static_cast<Rank>(parents_.size() - 1)}));
  traffic_.resize(parents_.size());
}

void Tree::put(std::size_t node, std::string_view key, std::string_view value) {
  bool forward = policies_[node]->put(key, value);
  for (std::size_t at = node; at != 0 && forward;) {
    at = parents_[at];
    ++traffic_[at].received;
    traffic_[at].pair_bytes_up += key.size() + value.size();
    forward = policies_[at]->put_from_child(key, value);
  }
}

// Returns the neighbour that leads to the owner of the key, or this node. Without owners it returns
// the parent.
std::size_t Tree::way_to(std::size_t node, std::string_view key) const {
  const auto owner = policies_[node]->owner(key);
  if (!owner) return parents_[node];
  std::size_t at = *owner + 1;
  while (at != node) {
    if (at == 0) return parents_[node];
    if (parents_[at] == node) return at;
    at = parents_[at];
  }
  return node;
}

// Brings the pairs that are owned here or below to their owners. Returns the rest, which goes
// further up.
std::string Tree::spread(std::size_t node, std::string_view pairs) {
  if (!policies_[node]->owner("")) return std::string(pairs);
  std::string up;
  for_each_stamped(pairs, [&](std::string_view key, std::string_view value, Stamp stamp) {
    for (std::size_t at = node;;) {
      policies_[at]->pair_passes(key, value, stamp);
      const std::size_t next = way_to(at, key);
      if (next == at) break;
      if (next == parents_[at]) {
        REQUIRE(at == node);
        append_pair(up, key, value, stamp);
        break;
      }
      at = next;
    }
  });
  return up;
}

std::string Tree::gather(std::size_t node, Fence& fence) {
  Store& table = policies_[node]->table();
  std::string all;
  if (fence.members[node]) {
    all = spread(node, policies_[node]->take_stage());
    if (!fence.whole || table.clock() > 0) table.tick();
    fence.clock = std::max(fence.clock, table.clock());
  }
  for (std::size_t i = node + 1; i < size(); ++i) {
    const std::size_t child = fence.descending ? size() + node - i : i;
    if (parents_[child] != node || !fence.on_way[child]) continue;
    const std::string aggregate = gather(child, fence);
    ++traffic_[node].received;
    for_each_pair(aggregate, [&](std::string_view key, std::string_view value) {
      traffic_[node].pair_bytes_up += key.size() + value.size();
    });
    if (!aggregate.empty()) policies_[node]->aggregate_passes(aggregate);
    const std::string rest = spread(node, aggregate);
    all = fence.descending ? rest + all : all + rest;
  }
  return all;
}

void Tree::fence() {
  Fence all{std::vector<bool>(size(), true), std::vector<bool>(size(), true), true};
  fence(all);
}

void Tree::group_fence(const std::vector<std::size_t>& members, bool descending) {
  Fence group{std::vector<bool>(size()), std::vector<bool>(size()), false, descending};
  for (std::size_t node : members) {
    group.members[node] = true;
    for (; node != 0; node = parents_[node])
      group.on_way[node] = true;
  }
  group.on_way[0] = true;
  fence(group);
}

void Tree::fence(Fence& fence) {
  std::string release = gather(0, fence);
  if (!policies_[0]->release_carries_pairs()) release.clear();
  release += policies_[0]->take_release();
  for (std::size_t node = 0; node < size(); ++node) {
    if (!fence.on_way[node]) continue;
    if (node != 0) ++traffic_[parents_[node]].sent_down;
    Policy& policy = *policies_[node];
    const bool wanted = policy.wants_release() || (node != 0 && fence.members[node]);
    if (!release.empty() && wanted) policy.commit(release);
    policy.table().saw(fence.clock);
    const std::uint64_t taken = fence.members[node] ? policy.taken() : 0;
    if (fence.whole) {
      policy.fence_done(taken);
    } else {
      policy.group_fence_done(taken);
    }
  }
}

std::optional<std::string> Tree::get(std::size_t node, std::string_view key) {
  std::vector<std::size_t> way{node};
  Lookup lookup = policies_[node]->get(key, false);
  while (lookup.found == Found::elsewhere) {
    const std::size_t at = way.back();
    const std::size_t next = way_to(at, key);
    REQUIRE(next != at);
    ++(next == parents_[at] ? traffic_[next].received : traffic_[at].asked_below);
    way.push_back(next);
    lookup = policies_[next]->get(key, true);
  }
  std::optional<std::string> value;
  if (lookup.found == Found::here) value = std::string(lookup.value);
  for (std::size_t i = way.size() - 1; i > 0; --i) {
    const std::size_t to = way[i - 1];
    if (parents_[to] == way[i]) ++traffic_[way[i]].sent_down;
    if (value) policies_[to]->answer_passes(key, *value);
  }
  return value;
}

}  // namespace scela::cache::testing
