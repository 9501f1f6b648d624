// Aggregates of key-value pairs: what a policy commits from any bytes is what it answers with.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/policy.h"

using namespace scela::cache;

using Pairs = std::vector<std::pair<std::string, std::string>>;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view aggregate(reinterpret_cast<const char*>(data), size);
  Pairs pairs;
  std::map<std::string, std::string> expected;
  std::string written;
  std::map<std::string, Stamp> stamps;
  const bool whole =
      for_each_stamped(aggregate, [&](std::string_view key, std::string_view value, Stamp stamp) {
        pairs.emplace_back(key, value);
        append_pair(written, key, value, stamp);
        const auto [newest, fresh] = stamps.emplace(key, stamp);
        if (!fresh && stamp < newest->second) return;
        newest->second = stamp;
        expected.insert_or_assign(std::string(key), std::string(value));
      });
  // Lengths that were not written in the shortest form are shorter after the round trip.
  if (written.size() > size || (whole && written.empty() != aggregate.empty())) std::abort();
  Pairs again;
  if (!for_each_pair(written, [&](auto key, auto value) { again.emplace_back(key, value); }) ||
      again != pairs) {
    std::abort();
  }

  std::string pieces;
  for_each_piece(aggregate, 64, [&](std::string_view piece) {
    if (!for_each_pair(piece, [](auto, auto) {})) std::abort();
    pieces += piece;
  });
  if (whole ? pieces != aggregate : aggregate.substr(0, pieces.size()) != pieces) std::abort();

  for (int i = 0; i < kPolicyKinds; ++i) {
    const bool upward = i <= static_cast<int>(PolicyKind::hcma);  // a release only renews copies
    const auto policy =
        make_policy(static_cast<PolicyKind>(i), {true, 0, scela::RankSet::single(0), 1});
    if (upward) policy->aggregate_passes(aggregate);
    if (static_cast<PolicyKind>(i) == PolicyKind::dht) {
      for_each_stamped(aggregate, [&](auto key, auto value, Stamp stamp) {
        policy->pair_passes(key, value, stamp);
      });
    }
    policy->commit(aggregate);
    policy->fence_done(policy->taken());
    if (static_cast<PolicyKind>(i) == PolicyKind::hcs) continue;  // pairs come one by one
    if (policy->usage().pairs != expected.size()) std::abort();
    for (const auto& [key, value] : expected) {
      const Lookup found = policy->get(key, false);
      if (found.found != Found::here || found.value != value) std::abort();
    }
  }
  return 0;
}
