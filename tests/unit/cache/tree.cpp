#include "tests/unit/cache/tree.h"

#include <algorithm>

namespace scela::cache::testing {

Tree::Tree(PolicyKind kind, std::vector<std::size_t> parents, std::uint64_t limit)
    : parents_(std::move(parents)) {
  parents_.insert(parents_.begin(), 0);
  for (std::size_t i = 0; i < parents_.size(); ++i)
    policies_.push_back(make_policy(kind, {i == 0, limit}));
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

std::string Tree::gather(std::size_t node) {
  std::string all = policies_[node]->take_stage();
  for (std::size_t child = node + 1; child < size(); ++child) {
    if (parents_[child] != node) continue;
    const std::string aggregate = gather(child);
    ++traffic_[node].received;
    for_each_pair(aggregate, [&](std::string_view key, std::string_view value) {
      traffic_[node].pair_bytes_up += key.size() + value.size();
    });
    if (!aggregate.empty()) policies_[node]->aggregate_passes(aggregate);
    all += aggregate;
  }
  return all;
}

void Tree::fence() {
  std::string release = gather(0);
  if (!policies_[0]->release_carries_pairs()) release.clear();
  release += policies_[0]->take_release();
  for (std::size_t node = 0; node < size(); ++node) {
    if (node != 0) ++traffic_[parents_[node]].sent_down;
    if (!release.empty() && (node != 0 || policies_[node]->wants_release())) {
      policies_[node]->commit(release);
    }
    policies_[node]->fence_done(policies_[node]->taken());
  }
}

std::optional<std::string> Tree::get(std::size_t node, std::string_view key) {
  std::size_t at = node;
  Lookup lookup = policies_[at]->get(key, false);
  while (lookup.found == Found::above) {
    at = parents_[at];
    ++traffic_[at].received;
    lookup = policies_[at]->get(key, true);
  }
  std::optional<std::string> value;
  if (lookup.found == Found::here) value = std::string(lookup.value);
  std::vector<std::size_t> way;
  for (std::size_t below = node; below != at; below = parents_[below])
    way.push_back(below);
  for (auto below = way.rbegin(); below != way.rend(); ++below) {
    ++traffic_[parents_[*below]].sent_down;
    if (value) policies_[*below]->answer_passes(key, *value);
  }
  return value;
}

}  // namespace scela::cache::testing
