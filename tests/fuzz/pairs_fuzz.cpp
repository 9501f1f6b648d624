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
  const bool whole = for_each_pair(aggregate, [&](std::string_view key, std::string_view value) {
    pairs.emplace_back(key, value);
    expected.insert_or_assign(std::string(key), std::string(value));
    append_pair(written, key, value);
  });
  // Pairs whose lengths are not written in the shortest way come back shorter.
  if (written.size() > size || (whole && written.empty() != aggregate.empty())) std::abort();
  Pairs again;
  if (!for_each_pair(written, [&](auto key, auto value) { again.emplace_back(key, value); }) ||
      again != pairs) {
    std::abort();
  }

  auto policy = make_policy(PolicyKind::hcmab, false);
  (*policy)->commit(aggregate);
  if ((*policy)->usage().pairs != expected.size()) std::abort();
  for (const auto& [key, value] : expected) {
    const Lookup found = (*policy)->get(key);
    if (found.found != Found::here || found.value != value) std::abort();
  }
  return 0;
}
